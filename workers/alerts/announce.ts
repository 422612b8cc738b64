import { enqueueCommitted, enqueueDeliveries, type RegionCache } from '../../queues/enqueue-committed.ts';
import type { DueRecheck } from '../../queues/schedules.ts';
import type { RecordedChanges } from '../incidents/record-changes.ts';
import type { Runtime } from '../runtime.ts';

/** What is announced of committed changes. */
export type Announced = Pick<RecordedChanges, 'transitions' | 'deliveries'>;

/** Logs committed transitions and adds the jobs of their deliveries. Never rejects. */
export async function announce(
  { log, metrics, queues }: Pick<Runtime, 'log' | 'metrics' | 'queues'>,
  recorded: Announced,
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
  await enqueueDeliveries(queues, log, recorded.deliveries);
}

/** Adds the jobs of committed rechecks; of what is lost, the monitor's next tick may come first. Never rejects. */
export async function announceRechecks(
  { log, queues, findRegions }: Pick<Runtime, 'log' | 'queues'> & { findRegions: RegionCache },
  rechecks: readonly DueRecheck[],
): Promise<void> {
  if (rechecks.length === 0) return;
  await enqueueCommitted(
    async () => queues.enqueueRechecks(rechecks, await findRegions(rechecks.map(({ agentNo }) => agentNo))),
    { log, line: 'recheck.not_queued', fields: { rechecks: rechecks.length } },
  );
}
