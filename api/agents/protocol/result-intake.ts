import { setTimeout as delay } from 'node:timers/promises';
import type { Report } from '../../../core/agents/requests.ts';
import { dueWindowOf, mostResultsIn, type DueWindow } from '../../../core/agents/result-limit.ts';
import { settleBatch, takeUpTo, type Waiting } from '../../../core/shared-calls.ts';
import { listStoredDueTimes, type ReportedMonitor } from '../../../models/agents/protocol.ts';
import type { Database } from '../../../models/database.ts';
import type { ResultPayload } from '../../../queues/payloads.ts';
import { ApiError } from '../../api-error.ts';

/** Time within which submitted results are stored, in milliseconds; until then this process remembers them. */
const REMEMBERED_MS = 60_000;

/** Maximum number of remembered due times: some 10 MB. Beyond it the older half is dropped early. */
const MAX_REMEMBERED = 100_000;

/** A report whose agent is a source of the monitor. */
export type AssignedReport = { report: Report; monitor: ReportedMonitor };

/** One accepted result: the report, its monitor, and the payload for the queue. */
export type AcceptedReport = { report: Report; monitor: ReportedMonitor; result: ResultPayload };

/** Reports that are taken, each result once; `fresh` are those to submit, which no request has submitted before. */
type TakenReports = { taken: readonly AssignedReport[]; fresh: ReadonlySet<AssignedReport> };

/**
 * Takes an agent's reports as far as its monitors' intervals allow, and returns their number, repeated ones included.
 * Rejects if they could not be submitted.
 */
type ResultIntake = (
  { agentNo, nowMs }: { agentNo: number; nowMs: number },
  reports: readonly AssignedReport[],
  submit: (reports: TakenReports) => Promise<void>,
) => Promise<number>;

/**
 * Makes the limit of results for each monitor, source and window of due time (core/agents/result-limit.ts). Counts
 * stored results and those that this process took lately; concurrent processes do not see each other's results of one
 * source until they are stored. A known result is taken but not submitted again (D-663): it waits for the pending
 * submission, and is forgotten if that fails.
 */
export function createResultIntake(database: Pick<Database, 'pool'>): ResultIntake {
  const memory = createMemory();
  return async ({ agentNo, nowMs }, reports, submit) => {
    const windows = new Map(
      reports.map((one) => [keyOf(agentNo, one), { monitorNo: one.monitor.no, ...windowOf(one) }]),
    );
    const stored =
      windows.size === 0 ? new Map<string, number[]>() : await listStoredDueTimes(database, agentNo, windows);
    // No await until the fresh reports are remembered, so that the second of two concurrent requests sees them.
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

/** Pending submission of a result; null = it is stored, or belongs to the same request. */
type Submission = Promise<void> | null;

function windowOf({ report, monitor }: AssignedReport): DueWindow {
  return dueWindowOf(report.startedAtMs, monitor);
}

function keyOf(agentNo: number, one: AssignedReport): string {
  const { fromMs, toMs } = windowOf(one);
  return `${agentNo} ${one.monitor.no} ${fromMs} ${toMs}`;
}

/** A result, by its window and due time. */
type Remembered = { key: string; dueAtMs: number };

/** Remembers due times and their submissions by key in two halves, and drops the older half as a whole. */
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
 * Time that the first results of a batch wait for those of other agents, in milliseconds. On PostgreSQL a job costs as
 * much as twenty results.
 */
const GATHER_MS = 50;

/** Maximum number of results in a job, unless one agent sent more. */
const MAX_A_BATCH = 1000;

/** Maximum number of results in memory while the queue is slow; beyond it agents are refused with 503. */
const MAX_WAITING = 20_000;

/** The same for one account, so that its agents are refused before those of other accounts. */
const MAX_WAITING_OF_ACCOUNT = MAX_WAITING / 4;

/** Results of one request of an account's agent. */
type AgentResults = { tenantId: string; results: ResultPayload[] };

type WaitingResults = Waiting<AgentResults, void>;

/**
 * Makes the path of agents' results into the queue: one job after the other, each from many agents, the accounts in
 * turn. The returned function resolves once its results are in the queue, and rejects if the queue refused them or
 * cannot keep up (503).
 */
export function createResultBatches(
  submit: (results: ResultPayload[]) => Promise<void>,
): (tenantId: string, results: ResultPayload[]) => Promise<void> {
  let waiting: WaitingResults[] = [];
  let isWorking = false;

  const run = async (items: AgentResults[]) => {
    await submit(items.flatMap(({ results }) => results));
    return [];
  };

  const work = async () => {
    isWorking = true;
    await delay(GATHER_MS);
    while (waiting.length > 0) {
      waiting = inTurn(waiting);
      await settleBatch(takeUpTo(waiting, MAX_A_BATCH, sizeOf), run);
    }
    isWorking = false;
  };

  return (tenantId, results) => {
    const own = waiting.filter(({ item }) => item.tenantId === tenantId);
    if (countResults(own) >= MAX_WAITING_OF_ACCOUNT || countResults(waiting) >= MAX_WAITING)
      return Promise.reject(
        new ApiError(503, 'too many results are waiting for the queue: send these again later', { 'Retry-After': '5' }),
      );
    const settled = Promise.withResolvers<void>();
    waiting.push({ item: { tenantId, results }, settled });
    if (!isWorking) void work();
    return settled.promise;
  };
}

/** Orders waiting results so that the first of each account comes before the second of any. */
function inTurn(waiting: readonly WaitingResults[]): WaitingResults[] {
  const before = new Map<string, number>();
  const ranked = waiting.map((one) => {
    const rank = before.get(one.item.tenantId) ?? 0;
    before.set(one.item.tenantId, rank + 1);
    return { one, rank };
  });
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ one }) => one);
}

function sizeOf({ item }: WaitingResults): number {
  return item.results.length;
}

function countResults(waiting: readonly WaitingResults[]): number {
  return waiting.reduce((sum, one) => sum + sizeOf(one), 0);
}
