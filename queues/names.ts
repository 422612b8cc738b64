/** Every queue's name. Checks have a queue per shared agent, so that a region's work can live on a Redis of its own. */
export const QUEUES = { evaluate: 'evaluate', deliver: 'deliver', maintain: 'maintain' } as const;

/** The queue of the shared agent in `region`; the service's own checks (domain, dns, vendor) have `service` for a region. */
export function checkQueueName(region: string): string {
  return `check-${region}`;
}
