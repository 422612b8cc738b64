import { setTimeout as delay } from 'node:timers/promises';
import type { Report } from '../../../core/agents/requests.ts';
import { dueWindowOf, mostResultsIn, type DueWindow } from '../../../core/agents/result-limit.ts';
import { listStoredDueTimes, type ReportedMonitor } from '../../../models/agents/protocol.ts';
import type { Database } from '../../../models/database.ts';
import type { ResultPayload } from '../../../queues/payloads.ts';
import { ApiError } from '../../api-error.ts';

/** Results are stored within this of being taken, in milliseconds; until then this process remembers them. */
const REMEMBERED_MS = 60_000;

/** Due times remembered for so long at the most: some 10 MB. Beyond it the older half is forgotten early. */
const MAX_REMEMBERED = 100_000;

/** A report of a monitor that its agent is a source of. */
export type AssignedReport = { report: Report; monitor: ReportedMonitor };

/** One accepted result: what was reported, of which monitor, and what becomes of it. */
export type AcceptedReport = { report: Report; monitor: ReportedMonitor; result: ResultPayload };

/** Reports that are taken, each result once; of these `fresh` are to be submitted, as nobody has done it before. */
export type TakenReports = { taken: readonly AssignedReport[]; fresh: ReadonlySet<AssignedReport> };

/**
 * Takes those of an agent's reports that are not more than its monitors' intervals allow, and returns how many they
 * are, repeated ones too. Rejects where they could not be submitted.
 */
type ResultIntake = (
  { agentNo, nowMs }: { agentNo: number; nowMs: number },
  reports: readonly AssignedReport[],
  submit: (reports: TakenReports) => Promise<void>,
) => Promise<number>;

/**
 * Makes the limit of results for each monitor, source and window of due time (core/agents/result-limit.ts). What is
 * stored counts, and what this process took lately; processes that take results of one source at the same moment do not
 * know of each other's until they are stored. A result that is known is taken and goes no further (D-663): it waits for
 * whoever is submitting it, and is forgotten if that fails.
 */
export function createResultIntake(database: Pick<Database, 'pool'>): ResultIntake {
  const memory = createMemory();
  return async ({ agentNo, nowMs }, reports, submit) => {
    const windows = new Map(
      reports.map((one) => [keyOf(agentNo, one), { monitorNo: one.monitor.no, ...windowOf(one) }]),
    );
    const stored =
      windows.size === 0 ? new Map<string, number[]>() : await listStoredDueTimes(database, agentNo, windows);
    // Nothing is awaited until the fresh ones are remembered: of two requests at once the second sees them.
    const known = new Map(
      [...windows.keys()].map((key) => [
        key,
        new Map([...memory.recall(key), ...(stored.get(key) ?? []).map((dueAtMs) => [dueAtMs, null] as const)]),
      ]),
    );
    const taken = new Map<string, AssignedReport>();
    const fresh = new Set<AssignedReport>();
    const underWay = new Set<Submission>();
    let count = 0;
    for (const one of reports) {
      const { startedAtMs } = one.report;
      const key = keyOf(agentNo, one);
      const others = known.get(key) ?? new Map<number, Submission>();
      const submission = others.get(startedAtMs);
      if (submission === undefined) {
        if (others.size >= mostResultsIn(windowOf(one), one.monitor, nowMs)) continue;
        others.set(startedAtMs, null);
        fresh.add(one);
      } else underWay.add(submission);
      count += 1;
      const result = `${key} ${startedAtMs}`;
      if (!taken.has(result)) taken.set(result, one);
    }
    const submission = submit({ taken: [...taken.values()], fresh });
    const remembered = [...fresh].map((one) => ({ key: keyOf(agentNo, one), dueAtMs: one.report.startedAtMs }));
    for (const one of remembered) memory.remember(one, submission, nowMs);
    submission.catch(() => remembered.forEach((one) => memory.forget(one, submission)));
    await Promise.all([submission, ...underWay]);
    return count;
  };
}

/** How the submission of a result ends; null = it is stored, or is another one of the same request. */
type Submission = Promise<void> | null;

function windowOf({ report, monitor }: AssignedReport): DueWindow {
  return dueWindowOf(report.startedAtMs, monitor);
}

function keyOf(agentNo: number, one: AssignedReport): string {
  const { fromMs, toMs } = windowOf(one);
  return `${agentNo} ${one.monitor.no} ${fromMs} ${toMs}`;
}

/** A result by the window that it lies in, and its due time. */
type Remembered = { key: string; dueAtMs: number };

/** Remembers due times and their submissions by key in two halves, of which the older one is dropped whole. */
function createMemory() {
  let young = new Map<string, Map<number, Submission>>();
  let old = new Map<string, Map<number, Submission>>();
  let size = 0;
  let sinceMs = 0;
  return {
    recall: (key: string): [number, Submission][] => [...(old.get(key) ?? []), ...(young.get(key) ?? [])],
    remember({ key, dueAtMs }: Remembered, submission: Submission, nowMs: number): void {
      if (size >= MAX_REMEMBERED / 2 || Math.abs(nowMs - sinceMs) >= REMEMBERED_MS) {
        [old, young, size, sinceMs] = [young, new Map(), 0, nowMs];
      }
      const times = young.get(key) ?? new Map<number, Submission>();
      young.set(key, times.set(dueAtMs, submission));
      size += 1;
    },
    forget({ key, dueAtMs }: Remembered, submission: Submission): void {
      for (const half of [old, young]) {
        const times = half.get(key);
        if (times?.get(dueAtMs) === submission) times.delete(dueAtMs);
      }
    },
  };
}

/**
 * The first results of a batch wait this long for those of other agents, in milliseconds. On PostgreSQL a job costs as
 * much as twenty results.
 */
const GATHER_MS = 50;

/** The most results of a job, unless one agent sent more. */
const MAX_A_BATCH = 1000;

/** Results in memory while the queue is slow; beyond it agents are asked to come back. */
const MAX_WAITING = 20_000;

/** Those of one account, so that its agents are asked to come back before the agents of others are. */
const MAX_WAITING_OF_ACCOUNT = MAX_WAITING / 4;

type Waiting = { tenantId: string; results: ResultPayload[]; resolve: () => void; reject: (error: unknown) => void };

/**
 * Makes the way of agents' results into the queue: one job after the other, each of many agents, of each account in
 * turn. The returned function resolves once its results are in the queue; it rejects where the queue refused them, or
 * cannot keep up (503).
 */
export function createResultBatches(
  submit: (results: ResultPayload[]) => Promise<void>,
): (tenantId: string, results: ResultPayload[]) => Promise<void> {
  let waiting: Waiting[] = [];
  let isWorking = false;

  const work = async () => {
    isWorking = true;
    await delay(GATHER_MS);
    while (waiting.length > 0) {
      waiting = inTurn(waiting);
      await submitOne(takeBatch(waiting), submit);
    }
    isWorking = false;
  };

  return (tenantId, results) => {
    const own = waiting.filter((one) => one.tenantId === tenantId);
    if (countResults(own) >= MAX_WAITING_OF_ACCOUNT || countResults(waiting) >= MAX_WAITING)
      return Promise.reject(
        new ApiError(503, 'too many results are waiting for the queue: send these again later', { 'Retry-After': '5' }),
      );
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.push({ tenantId, results, resolve, reject });
    if (!isWorking) void work();
    return promise;
  };
}

/** Orders what waits so that the first of each account comes before the second of any. */
function inTurn(waiting: readonly Waiting[]): Waiting[] {
  const before = new Map<string, number>();
  const ranked = waiting.map((one) => {
    const rank = before.get(one.tenantId) ?? 0;
    before.set(one.tenantId, rank + 1);
    return { one, rank };
  });
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ one }) => one);
}

function takeBatch(waiting: Waiting[]): Waiting[] {
  let size = 0;
  const beyond = waiting.findIndex(({ results }, index) => {
    size += results.length;
    return index > 0 && size > MAX_A_BATCH;
  });
  return waiting.splice(0, beyond === -1 ? waiting.length : beyond);
}

function countResults(waiting: readonly Waiting[]): number {
  return waiting.reduce((sum, { results }) => sum + results.length, 0);
}

/** Never rejects: each agent gets its own outcome. */
async function submitOne(
  batch: readonly Waiting[],
  submit: (results: ResultPayload[]) => Promise<void>,
): Promise<void> {
  try {
    await submit(batch.flatMap(({ results }) => results));
    for (const { resolve } of batch) resolve();
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
