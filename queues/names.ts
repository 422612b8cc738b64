/** Every queue's name. Checks have a queue per shared agent, so that a region's work can live on a Redis of its own. */
export const QUEUES = { evaluate: 'evaluate', deliver: 'deliver', maintain: 'maintain', lookup: 'look-up' } as const;

/**
 * The region that stands for the service itself, which checks domain, dns and vendor monitors; no shared agent may be
 * called so.
 */
export const SERVICE_REGION = 'service';

/** The queue of the shared agent in `region`. */
export function checkQueueName(region: string): string {
  return `check-${region}`;
}
