import type { ScheduleChange } from '../core/schedule.ts';
import type { JobQueues } from './job-queues.ts';

/**
 * Makes the function that tells the queues of a committed schedule change. It resolves as soon as nothing is left to tell, and rejects
 * when the queue is away: the change is in the database all the same, and reconcile mends the queue.
 */
export function createScheduleNotifier(queues: JobQueues, listRegions: () => Promise<Map<number, string>>): (change: ScheduleChange) => Promise<void> {
  let regions = new Map<number, string>();
  return async (change) => {
    const agentNos = [...[...change.occupied, ...change.emptied].map(({ agentNo }) => agentNo), ...change.looks];
    if (agentNos.length === 0) return;
    // Regions never change their names; a number that is not known yet is an agent that came since.
    if (agentNos.some((agentNo) => !regions.has(agentNo))) regions = await listRegions();
    await queues.applyScheduleChange(change, regions);
  };
}
