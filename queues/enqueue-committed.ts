import type { ScheduleChange } from '../core/checks/slots.ts';
import type { DueAttempt, JobQueues } from './job-queues.ts';

/** Of a logger, what is needed here. */
type Log = { warn: (fields: object, text: string) => void };

/** A committed delivery, due at `dueAtMs`, or at once where that does not say when (Unix milliseconds). */
type CommittedDelivery = { id: string; channelId: string; createdAtMs: number; dueAtMs?: number };

/** How an absent queue is logged: the name of the line, and which rows have no job yet. */
export type AbsenceLine = { log: Log; line: string; fields: object };

/**
 * Adds the jobs of committed rows, and only logs where the queue is away: reconcile adds the jobs again. Never rejects.
 */
export async function enqueueCommitted(add: () => Promise<void>, { log, line, fields }: AbsenceLine): Promise<void> {
  try {
    await add();
  } catch (error) {
    log.warn({ err: error, ...fields }, line);
  }
}

/** Adds the jobs of committed deliveries' attempts, one for all that are due at the same moment. Never rejects. */
export async function enqueueDeliveries(
  queues: Pick<JobQueues, 'enqueueAttempts'>,
  log: Log,
  attempts: readonly DueAttempt[],
): Promise<void> {
  const add = async () => {
    // A job waits for the last of its deliveries, and a summary is due later than the rest.
    for (const due of Map.groupBy(attempts, ({ dueAtMs }) => dueAtMs).values()) await queues.enqueueAttempts(due);
  };
  await enqueueCommitted(add, { log, line: 'delivery.not_queued', fields: { deliveries: attempts.length } });
}

/** The first attempt of a committed delivery. */
export function firstAttempt({ id, channelId, createdAtMs, dueAtMs }: CommittedDelivery): DueAttempt {
  return { deliveryId: id, channelId, attempt: 1, dueAtMs: dueAtMs ?? createdAtMs };
}

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
    const { occupied, emptied, rechecks, dependents = [] } = change;
    const agentNos = [...[...occupied, ...emptied, ...dependents].map(({ agentNo }) => agentNo), ...rechecks];
    if (agentNos.length === 0) return;
    await queues.applyScheduleChange(change, await findRegions(agentNos));
  };
}
