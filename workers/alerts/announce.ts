import type { DueRecheck } from '../../queues/rechecks.ts';
import type { RegionCache } from '../../queues/region-cache.ts';
import type { RecordedChanges } from '../incidents/record-changes.ts';
import type { Runtime } from '../runtime.ts';

/**
 * Logs committed transitions and adds the jobs of their deliveries. A queue that is away costs only time: the rows are
 * there, and reconcile adds their jobs again.
 */
export async function announce(
  { log, metrics, queues }: Pick<Runtime, 'log' | 'metrics' | 'queues'>,
  recorded: RecordedChanges,
): Promise<void> {
  for (const { tenantId, monitorId, sequence, change, incidentId } of recorded.transitions) {
    metrics.transitioned(change.to);
    log.info(
      {
        tenant_id: tenantId,
        monitor_id: monitorId,
        sequence,
        from: change.from,
        to: change.to,
        cause: change.cause,
        incident_id: incidentId,
      },
      'monitor.transitioned',
    );
  }
  try {
    // A job waits for the last of its deliveries, and a summary is due later than the rest.
    for (const due of Map.groupBy(recorded.deliveries, ({ dueAtMs }) => dueAtMs).values())
      await queues.enqueueAttempts(due);
  } catch (error) {
    log.warn({ err: error, deliveries: recorded.deliveries.length }, 'delivery.not_queued');
  }
}

/**
 * Adds the jobs of committed rechecks. What a queue that is away is not notified of, reconcile notifies again, or the
 * next tick comes first.
 */
export async function announceRechecks(
  { log, queues, findRegions }: Pick<Runtime, 'log' | 'queues'> & { findRegions: RegionCache },
  rechecks: readonly DueRecheck[],
): Promise<void> {
  if (rechecks.length === 0) return;
  try {
    await queues.enqueueRechecks(rechecks, await findRegions(rechecks.map(({ agentNo }) => agentNo)));
  } catch (error) {
    log.warn({ err: error, rechecks: rechecks.length }, 'recheck.not_queued');
  }
}
