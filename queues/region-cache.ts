import type { ScheduleChange } from '../core/checks/slots.ts';
import type { JobQueues } from './job-queues.ts';
/** Answers with the regions of at least these agents, by their numbers; an agent that no queue belongs to has none. */
export type RegionCache = (agentNos: readonly number[]) => Promise<ReadonlyMap<number, string>>;

/**
 * Makes a cache of the agents' regions. Regions never change their names, so that it reads again only for a number that
 * it does not have: an agent that was created since.
 */
export function createRegionCache(listRegions: () => Promise<ReadonlyMap<number, string>>): RegionCache {
  let regions: ReadonlyMap<number, string> = new Map();
  return async (agentNos) => {
    if (agentNos.some((agentNo) => !regions.has(agentNo))) regions = await listRegions();
    return regions;
  };
}

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
