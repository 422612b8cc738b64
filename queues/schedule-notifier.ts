import type { ScheduleChange } from '../core/schedule.ts';
import type { JobQueues } from './job-queues.ts';
import { createRegionCache } from './region-cache.ts';

/**
 * Makes the function that notifies the queues of a committed schedule change. It resolves as soon as nothing is left to
 * tell, and rejects when the queue is away: the change is in the database all the same, and reconcile mends the queue.
 */
export function createScheduleNotifier(
  queues: JobQueues,
  listRegions: () => Promise<Map<number, string>>,
): (change: ScheduleChange) => Promise<void> {
  const findRegions = createRegionCache(listRegions);
  return async (change) => {
    const agentNos = [...[...change.occupied, ...change.emptied].map(({ agentNo }) => agentNo), ...change.rechecks];
    if (agentNos.length === 0) return;
    await queues.applyScheduleChange(change, await findRegions(agentNos));
  };
}
