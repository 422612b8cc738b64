import type { ScheduleChange } from '../core/checks/slots.ts';
import type { DueAttempt, JobQueues } from './job-queues.ts';

/** The part of a logger that is used here. */
type Log = { warn: (fields: object, text: string) => void };

/** A committed delivery, due at `dueAtMs` (Unix milliseconds), or at once if that is absent. */
type CommittedDelivery = { id: string; channelId: string; createdAtMs: number; dueAtMs?: number };

/** Log entry for an unavailable queue: the name of the line, and the rows that have no job yet. */
export type AbsenceLine = { log: Log; line: string; fields: object };

/**
 * Adds the jobs of committed rows, and only logs if the queue is away: reconcile adds the jobs again. Never rejects.
 */
export async function enqueueCommitted(add: () => Promise<void>, { log, line, fields }: AbsenceLine): Promise<void> {
  try {
    await add();
  } catch (error) {
    log.warn({ err: error, ...fields }, line);
  }
}

/** Adds jobs for the attempts of committed deliveries, grouped by due time. Never rejects. */
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

/** Returns the first attempt of a committed delivery. */
export function firstAttempt({ id, channelId, createdAtMs, dueAtMs }: CommittedDelivery): DueAttempt {
  return { deliveryId: id, channelId, attempt: 1, dueAtMs: dueAtMs ?? createdAtMs };
}

/** Returns the regions of at least these agents, by their numbers; an agent without a queue has none. */
export type RegionCache = (agentNos: readonly number[]) => Promise<ReadonlyMap<number, string>>;

/**
 * Creates a cache of the agents' regions. Regions never change their names, so it reads again only for an unknown
 * number: a newly created agent.
 */
export function createRegionCache(listRegions: () => Promise<ReadonlyMap<number, string>>): RegionCache {
  let regions: ReadonlyMap<number, string> = new Map();
  return async (agentNos) => {
    if (agentNos.some((agentNo) => !regions.has(agentNo))) regions = await listRegions();
    return regions;
  };
}

/**
 * Creates the function that notifies the queues of a committed schedule change. It resolves at once if the change
 * affects no queue, and rejects if the queue is away: the change is committed, and reconcile repairs the queue.
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
