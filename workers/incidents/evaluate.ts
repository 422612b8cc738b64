import { recheckAfterMs, recheckAtMs } from '../../core/checks/recheck.ts';
import { cleanText } from '../../core/clean-text.ts';
import type { Change } from '../../core/incidents/change.ts';
import { isDecided, isFresh, type DecidedMonitor } from '../../core/incidents/decided-monitor.ts';
import { applyResult } from '../../core/incidents/monitor-state.ts';
import { latestStartMs, stepSource } from '../../core/incidents/source-state.ts';
import { talksToTarget } from '../../core/monitors/monitor.ts';
import { resultIdentity, storeResults, type MeasuredResult } from '../../models/checks/check-results.ts';
import { scheduleRechecks, type PlannedRecheck } from '../../models/checks/schedule.ts';
import type { Database } from '../../models/database.ts';
import {
  findNewestResults,
  lockMonitors,
  lockSources,
  updateNotCounted,
  storeSourceStates,
  type EvaluatedMonitor,
  type LockedSource,
} from '../../models/incidents/evaluation.ts';
import { insertEvidence } from '../../models/incidents/evidence.ts';
import { inPoolTransaction, sqlStateOf, type Run } from '../../models/sql.ts';
import { insertLateHours } from '../../models/statistics/late-hours.ts';
import { createPartitions, NO_PARTITION } from '../../models/system/partitions.ts';
import { collectFirstFailureEvidence, lateEvidence, withEvidence, type SteppedMonitor } from './first-failures.ts';
import { recordChanges, type RecordedChanges, type RecordingTools } from './record-changes.ts';

export type EvaluatorDependencies = RecordingTools & { database: Database; now: () => number };

/**
 * What came of a batch: results stored (repeats and those of gone monitors left out), transitions written, deliveries
 * and rechecks to be enqueued.
 */
export type EvaluationOutcome = RecordedChanges & { stored: number; rechecks: PlannedRecheck[] };

/**
 * How far back a stored result can still make a late one too old to apply, in milliseconds: the longest interval and a
 * day.
 */
const LATE_RESULT_HORIZON_MS = 2 * 86_400_000;

/** Longer reasons and causes are cut, in characters. */
const MAX_REASON = 500;
const MAX_CAUSE = 64;

/**
 * Makes the evaluator: results in, stored rows and decisions out, in one transaction for a batch. On the steady path,
 * where no result changes what its source says, that is one locking read and one insert whatever the number of results;
 * only sources that change lead to their monitors being locked and decided.
 */
export function createEvaluator(
  dependencies: EvaluatorDependencies,
): (results: readonly MeasuredResult[]) => Promise<EvaluationOutcome> {
  const evaluate = (results: readonly MeasuredResult[]) =>
    inPoolTransaction(dependencies.database, (run) => evaluateBatch(run, results, dependencies));
  return async (measured) => {
    const results = measured.map(clean);
    try {
      return await evaluate(results);
    } catch (error) {
      // The chore that makes partitions ahead was away for days: nothing may be lost for that.
      if (sqlStateOf(error) !== NO_PARTITION) throw error;
      await createPartitions(dependencies.database, dependencies.now());
      return await evaluate(results);
    }
  };
}

async function evaluateBatch(
  run: Run,
  results: readonly MeasuredResult[],
  dependencies: EvaluatorDependencies,
): Promise<EvaluationOutcome> {
  const sources = await lockSources(run, uniqueSources(results));
  const known = new Map(sources.map((source) => [sourceKey(source), source]));
  const ordered = results.filter((result) => known.has(sourceKey(result))).toSorted((a, b) => a.dueAtMs - b.dueAtMs);
  if (ordered.length === 0) return { stored: 0, rechecks: [], transitions: [], deliveries: [] };
  const suspects = findSuspects(ordered, known);
  const newest = await newestBefore(run, suspects, dependencies.now());
  const fresh = await storeResults(run, ordered);
  await insertLateHours(run, ordered, dependencies.now());
  const applicable = ordered.filter((result) => {
    const source = suspects.get(sourceKey(result));
    return (
      source !== undefined &&
      isOfNow(result, source) &&
      fresh.has(resultIdentity(result)) &&
      result.dueAtMs > (newest.get(sourceKey(result)) ?? 0)
    );
  });
  if (applicable.length === 0) return { stored: fresh.size, rechecks: [], transitions: [], deliveries: [] };
  return { stored: fresh.size, ...(await decideMonitors(run, { results: applicable, newest }, dependencies)) };
}

/**
 * One result's odd text must not make PostgreSQL refuse the whole batch. A job that an older version put into the queue
 * knows nothing of the evidence.
 */
function clean({ phases = null, answer = null, ...measured }: MeasuredResult): MeasuredResult {
  const result = { ...measured, phases, answer };
  if (result.reason === null && result.cause === null) return result;
  return {
    ...result,
    cause: result.cause && cleanText(result.cause, MAX_CAUSE),
    reason: result.reason && cleanText(result.reason, MAX_REASON),
  };
}

/**
 * False for what was under way when the checks were edited, or when the monitor was paused and resumed: stored, not
 * applied.
 */
function isOfNow(result: MeasuredResult, source: LockedSource): boolean {
  if (result.checksVersion !== source.checksVersion) return false;
  return source.monitorState !== 'pending' || latestStartMs(result.dueAtMs) >= source.monitorStateSinceMs;
}

/**
 * Results that may change something, in time order, and the newest one of each of their sources that was there before.
 */
type Applicable = { results: readonly MeasuredResult[]; newest: ReadonlyMap<string, number> };

/** Locks the monitors of the results, applies these in time order and records what changed. */
async function decideMonitors(
  run: Run,
  { results, newest }: Applicable,
  dependencies: EvaluatorDependencies,
): Promise<Omit<EvaluationOutcome, 'stored'>> {
  const nowMs = dependencies.now();
  const byMonitor = Map.groupBy(results, (result) => result.monitorNo);
  const locked = await lockMonitors(
    run,
    [...byMonitor.keys()].toSorted((a, b) => a - b),
    nowMs,
  );
  const sourcesInBatch = new Set(results.map(sourceKey));
  const decided = locked
    .map((monitor) => ({
      monitor: asBefore(monitor, { sourcesInBatch, newest }),
      results: byMonitor.get(monitor.no) ?? [],
    }))
    .map((one) => ({ ...one, ...applyInOrder(one.monitor, one.results, nowMs) }));
  const changed = decided.flatMap((one) => changedSources({ ...one, nowMs }));
  await storeSourceStates(run, changed);
  // What turned while it did not count changes nothing once it does: the sweep then decides anew.
  await updateNotCounted(
    run,
    changed.filter(({ isNotCounted }) => isNotCounted),
  );
  const rechecks = decided.flatMap((one) => one.rechecks);
  await scheduleRechecks(run, rechecks);
  const recorded = await recordChanges(run, decided, dependencies);
  await insertEvidence(run, decided.flatMap(lateEvidence));
  return { rechecks, ...recorded };
}

/**
 * A monitor as it was before the batch, whose results are stored already: an old result of a long backlog must not
 * count as recent because of the newest one of it.
 */
function asBefore(
  monitor: EvaluatedMonitor,
  { sourcesInBatch, newest }: { sourcesInBatch: ReadonlySet<string>; newest: Applicable['newest'] },
): EvaluatedMonitor {
  const sources = monitor.sources.map((source) => {
    const key = sourceKey({ monitorNo: monitor.no, agentNo: source.agentNo });
    return sourcesInBatch.has(key) ? { ...source, newestAtMs: newest.get(key) ?? null } : source;
  });
  return { ...monitor, sources };
}

type Applied = { after: DecidedMonitor; changes: Change[]; rechecks: PlannedRecheck[] };

function applyInOrder(monitor: EvaluatedMonitor, results: readonly MeasuredResult[], nowMs: number): Applied {
  const changes: Change[] = [];
  // Of several results of a source the last one says whether it is worth a recheck.
  const rechecks = new Map<number, PlannedRecheck | null>();
  let after: DecidedMonitor = monitor;
  for (const result of results) {
    rechecks.set(result.agentNo, planRecheck({ monitor, before: after }, result, nowMs));
    const applied = applyResult(after, result, nowMs);
    if (applied.change !== null)
      changes.push({ ...applied.change, failures: withEvidence(applied.change.failures, results) });
    after = applied.monitor;
  }
  return { after, changes, rechecks: [...rechecks.values()].filter((recheck) => recheck !== null) };
}

/**
 * Null where the result needs no recheck (D-47), or its source is a customer's agent, which is notified when it hands
 * in its results.
 */
function planRecheck(
  { monitor, before }: { monitor: EvaluatedMonitor; before: DecidedMonitor },
  result: MeasuredResult,
  nowMs: number,
): PlannedRecheck | null {
  const { monitorNo, agentNo, dueAtMs } = result;
  const { type, intervalSeconds } = monitor;
  const slot = monitor.sources.find((source) => source.agentNo === agentNo)?.slot ?? null;
  if (slot === null || !talksToTarget(type)) return null;
  const state = before.sources.find((source) => source.agentNo === agentNo)?.state ?? null;
  const afterMs = recheckAfterMs({ state, rule: monitor }, result);
  const atMs = afterMs === null ? null : recheckAtMs({ dueAtMs, afterMs, nowMs }, { intervalSeconds, slot, monitorNo });
  return atMs === null ? null : { monitorNo, agentNo, atMs };
}

function changedSources({ monitor, after, results, nowMs }: SteppedMonitor & { nowMs: number }) {
  return after.sources
    .filter((source, index) => source.state !== monitor.sources[index]?.state)
    .map((source) => ({
      monitorNo: monitor.no,
      agentNo: source.agentNo,
      state: source.state,
      firstFailureEvidence: collectFirstFailureEvidence(
        source.state,
        results.filter(({ agentNo }) => agentNo === source.agentNo),
      ),
      isNotCounted: !isFresh(source, after, nowMs),
    }));
}

/**
 * The sources of which some result may change something. A repeated steady result can only end an undecided state;
 * everything else shows in the source's own streaks.
 */
function findSuspects(
  ordered: readonly MeasuredResult[],
  known: ReadonlyMap<string, LockedSource>,
): Map<string, LockedSource> {
  const suspects = new Map<string, LockedSource>();
  for (const result of ordered) {
    const key = sourceKey(result);
    const source = known.get(key);
    if (source === undefined || suspects.has(key)) continue;
    if (!isDecided(source.monitorState) || stepSource(source.state, result, source) !== source.state)
      suspects.set(key, source);
  }
  return suspects;
}

async function newestBefore(
  run: Run,
  suspects: ReadonlyMap<string, LockedSource>,
  nowMs: number,
): Promise<Map<string, number>> {
  if (suspects.size === 0) return new Map();
  return await findNewestResults(run, [...suspects.values()], nowMs - LATE_RESULT_HORIZON_MS);
}

function uniqueSources(results: readonly MeasuredResult[]): { monitorNo: number; agentNo: number }[] {
  return [...new Map(results.map((result) => [sourceKey(result), result])).values()];
}

function sourceKey(source: { monitorNo: number; agentNo: number }): string {
  return `${source.monitorNo}/${source.agentNo}`;
}
