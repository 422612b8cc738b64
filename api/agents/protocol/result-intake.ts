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

/** Returns those of an agent's reports that are not more than its monitors' intervals allow, in their order. */
type ResultLimits = (agentNo: number, reports: readonly AssignedReport[], nowMs: number) => Promise<AssignedReport[]>;

/**
 * Makes the limit of results for each monitor, source and window of due time (core/agents/result-limit.ts). What is
 * stored counts, and what this process took lately; processes that take results of one source at the same moment do not
 * know of each other's until they are stored.
 */
export function createResultLimits(database: Database): ResultLimits {
  const memory = createMemory();
  return async (agentNo, reports, nowMs) => {
    const windows = new Map(
      reports.map((one) => [keyOf(agentNo, one), { monitorNo: one.monitor.no, ...windowOf(one) }]),
    );
    const stored =
      windows.size === 0 ? new Map<string, number[]>() : await listStoredDueTimes(database, agentNo, windows);
    // Nothing is awaited from here on: of two requests at once the second sees what the first one took.
    const known = new Map(
      [...windows.keys()].map((key) => [key, new Set([...(stored.get(key) ?? []), ...memory.recall(key)])]),
    );
    return reports.filter((one) => {
      const key = keyOf(agentNo, one);
      const { startedAtMs } = one.report;
      const taken = known.get(key) ?? new Set<number>();
      // A repeated result counts once.
      if (taken.has(startedAtMs)) return true;
      if (taken.size >= mostResultsIn(windowOf(one), one.monitor, nowMs)) return false;
      taken.add(startedAtMs);
      memory.remember(key, startedAtMs, nowMs);
      return true;
    });
  };
}

function windowOf({ report, monitor }: AssignedReport): DueWindow {
  return dueWindowOf(report.startedAtMs, monitor);
}

function keyOf(agentNo: number, one: AssignedReport): string {
  const { fromMs, toMs } = windowOf(one);
  return `${agentNo} ${one.monitor.no} ${fromMs} ${toMs}`;
}

/** Remembers due times by key in two halves, of which the older one is dropped whole. */
function createMemory() {
  let young = new Map<string, Set<number>>();
  let old = new Map<string, Set<number>>();
  let size = 0;
  let sinceMs = 0;
  return {
    recall: (key: string): number[] => [...(young.get(key) ?? []), ...(old.get(key) ?? [])],
    remember(key: string, dueAtMs: number, nowMs: number): void {
      if (size >= MAX_REMEMBERED / 2 || Math.abs(nowMs - sinceMs) >= REMEMBERED_MS) {
        [old, young, size, sinceMs] = [young, new Map(), 0, nowMs];
      }
      const times = young.get(key) ?? new Set();
      young.set(key, times.add(dueAtMs));
      size += 1;
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

type Waiting = { results: ResultPayload[]; resolve: () => void; reject: (error: unknown) => void };

/**
 * Makes the way of agents' results into the queue: those of many agents in one job, one job after the other. The
 * returned function resolves once its results are in the queue; it rejects where the queue refused them, or cannot keep
 * up (503).
 */
export function createResultBatches(
  submit: (results: ResultPayload[]) => Promise<void>,
): (results: ResultPayload[]) => Promise<void> {
  const waiting: Waiting[] = [];
  let isWorking = false;

  const work = async () => {
    isWorking = true;
    await delay(GATHER_MS);
    while (waiting.length > 0) await submitOne(takeBatch(waiting), submit);
    isWorking = false;
  };

  return (results) => {
    if (countResults(waiting) >= MAX_WAITING)
      return Promise.reject(
        new ApiError(503, 'too many results are waiting for the queue: send these again later', { 'Retry-After': '5' }),
      );
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.push({ results, resolve, reject });
    if (!isWorking) void work();
    return promise;
  };
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
