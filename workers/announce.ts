import type { RecordedChanges } from './record-changes.ts';
import type { Runtime } from './runtime.ts';

/**
 * Logs committed transitions and adds the jobs of their deliveries. A queue that is away costs only time: the rows are there, and
 * reconcile adds their jobs again.
 */
export async function announce(
  { log, metrics, queues }: Pick<Runtime, 'log' | 'metrics' | 'queues'>,
  recorded: RecordedChanges,
): Promise<void> {
  for (const { tenantId, monitorId, sequence, change, incidentId } of recorded.transitions) {
    metrics.transitioned(change.to);
    log.info(
      { tenant_id: tenantId, monitor_id: monitorId, sequence, from: change.from, to: change.to, cause: change.cause, incident_id: incidentId },
      'monitor.transitioned',
    );
  }
  try {
    await queues.enqueueAttempts(recorded.deliveries);
  } catch (error) {
    log.warn({ err: error, deliveries: recorded.deliveries.length }, 'delivery.not_queued');
  }
}
