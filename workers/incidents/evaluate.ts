import { MAX_CAUSE, MAX_REASON } from '../../core/checks/verdict.ts';
import { cleanText } from '../../core/foreign-text.ts';
import { mayEndState } from '../../core/incidents/monitor-state.ts';
import { GAUGES, latestStartMs, stepSource } from '../../core/incidents/source-state.ts';
import { DAY_MS } from '../../core/time.ts';
import {
  listMissedResults,
  resultIdentity,
  storeResults,
  type MeasuredResult,
} from '../../models/checks/check-results.ts';
import {
  RecentResultsLost,
  isSteady,
  readRecentFrom,
  restoreRecentResults,
} from '../../models/checks/recent-results.ts';
import { scheduleRechecks, type PlannedRecheck } from '../../models/checks/schedule.ts';
import type { Database } from '../../models/database.ts';
import {
  findNewestResults,
  groupBySources,
  lockMonitors,
  lockSources,
  sourceKey,
  readSources,
  storeSourceStates,
  updateNotCounted,
  type EvaluatedMonitor,
  type EvaluatedSource,
} from '../../models/incidents/evaluation.ts';
import { insertEvidence } from '../../models/incidents/incidents.ts';
import { recheckParents } from '../../models/monitors/dependencies.ts';
import { inTransaction, sqlStateOf, type Run } from '../../models/sql.ts';
import { insertLateHours } from '../../models/statistics/rollups.ts';
import { NO_PARTITION, createPartitions } from '../../models/system/partitions.ts';
import { recordChanges, type RecordedChanges, type RecordingParts } from './record-changes.ts';
import { changedSources, hasFirstFailure, lateEvidence, stepMonitor, type SteppedMonitor } from './stepped-monitor.ts';

type EvaluatorParts = RecordingParts & { database: Database; now: () => number };

/**
 * Outcome of a batch: stored results (without repeats and those of deleted monitors), written transitions, deliveries
 * and rechecks to enqueue.
 */
export type EvaluationOutcome = RecordedChanges & { stored: number };

/**
 * Error after parts of a batch were committed and a later one failed with `cause`: the outcome of the committed parts
 * must still be announced.
 */
export class PartlyEvaluated extends Error {
  readonly outcome: EvaluationOutcome;

  constructor(outcome: EvaluationOutcome, cause: unknown) {
    super('A part of the results could not be evaluated', { cause });
    this.outcome = outcome;
  }
}

/**
 * How far back a stored result can make a late one too old to apply, in milliseconds: the longest interval and a day.
 */
const LATE_RESULT_HORIZON_MS = 2 * DAY_MS;

/**
 * Creates the evaluator, which turns results into stored rows and decisions, in one transaction for a batch. A batch
 * whose monitors have very many sources has a transaction for each part, and throws `PartlyEvaluated` if a later part
 * fails after earlier ones are committed. On the steady path, where no result changes its source's state, that is two
 * reads and one insert, whatever the number of results, and no monitor or source is locked. Only changing sources lead
 * to their monitors being locked and decided.
 */
export function createEvaluator(
  parts: EvaluatorParts,
): (results: readonly MeasuredResult[]) => Promise<EvaluationOutcome> {
  const attempt = (results: readonly MeasuredResult[]) =>
    inTransaction(parts.database, (run) => evaluateBatch(run, results, parts));
  const evaluate = async (results: readonly MeasuredResult[]): Promise<EvaluationOutcome> => {
    const outcome = await attempt(results).catch(async (error: unknown) => {
      await mend(error, parts);
      return await attempt(results);
    });
    if (!Array.isArray(outcome)) return outcome;
    const outcomes: EvaluationOutcome[] = [];
    try {
      for (const part of outcome) outcomes.push(await evaluate(part));
    } catch (error) {
      if (error instanceof PartlyEvaluated) outcomes.push(error.outcome);
      throw outcomes.length === 0 ? error : new PartlyEvaluated(joinOutcomes(outcomes), error);
    }
    return joinOutcomes(outcomes);
  };
  return async (measured) => (measured.length === 0 ? nothingChanged(0) : await evaluate(measured.map(clean)));
}

/** Repairs the cause of a failed transaction; throws if it cannot. */
async function mend(error: unknown, { database, now }: EvaluatorParts): Promise<void> {
  // The chore that creates partitions in advance was away for days: no result may be lost because of that.
  if (sqlStateOf(error) === NO_PARTITION) await createPartitions(database, now());
  else if (error instanceof RecentResultsLost) await restoreRecentResults(database);
  else throw error;
}

/**
 * A batch on its way through the steps. It has its results in time order, and the sources that some result may change,
 * by `sourceKey`, with the due time of each one's previously newest result.
 */
type Batch = {
  results: readonly MeasuredResult[];
  changeable: ReadonlyMap<string, EvaluatedSource>;
  newest: ReadonlyMap<string, number>;
};

/** Evaluates a batch, or returns the parts of one that is too large for one transaction; then nothing was written. */
async function evaluateBatch(
  run: Run,
  measured: readonly MeasuredResult[],
  parts: EvaluatorParts,
): Promise<EvaluationOutcome | MeasuredResult[][]> {
  const recentFromMs = await readRecentFrom(run);
  const { results, sources } = await readResultSources(run, measured);
  if (results.length === 0) return nothingChanged(0);
  const mayChange = findChangeable(results, sources);
  const split = await splitBatch(run, results, mayChange);
  if (split.length > 1) return split;
  const changeable = await lockChangeable(run, mayChange);
  const newest = await findNewestBefore(run, changeable, parts.now());
  const stored = await storeResults(
    run,
    results,
    (result) =>
      result.dueAtMs >= recentFromMs && isSteady(result) && sources.get(sourceKey(result))?.packsResults === true,
  );
  await insertLateHours(run, results, parts.now());
  const batch = await addMissed(run, keepApplicable({ results, changeable, newest }, stored));
  if (batch.results.length === 0) return nothingChanged(stored.size);
  const nowMs = parts.now();
  const monitors = await lockResultMonitors(run, batch, nowMs);
  const stepped = stepMonitors(monitors, batch, nowMs);
  await recordSources(run, stepped, nowMs);
  const rechecks = await recordRechecks(run, stepped);
  const ofParents = await recheckParents(
    run,
    stepped.filter(needsParents).map(({ monitor }) => monitor.no),
    nowMs,
  );
  const recorded = await recordChanges(run, stepped, { ...parts, nowMs });
  await insertEvidence(run, stepped.flatMap(lateEvidence));
  return { ...recorded, stored: stored.size, rechecks: [...rechecks, ...ofParents, ...recorded.rechecks] };
}

function nothingChanged(stored: number): EvaluationOutcome {
  return { stored, rechecks: [], transitions: [], deliveries: [] };
}

function joinOutcomes(outcomes: readonly EvaluationOutcome[]): EvaluationOutcome {
  return {
    stored: outcomes.reduce((stored, outcome) => stored + outcome.stored, 0),
    rechecks: outcomes.flatMap(({ rechecks }) => rechecks),
    transitions: outcomes.flatMap(({ transitions }) => transitions),
    deliveries: outcomes.flatMap(({ deliveries }) => deliveries),
  };
}

/**
 * Cleans texts, because one result's invalid text must not make PostgreSQL refuse the whole batch. A job of an older
 * version lacks the evidence.
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
 * Reads the sources of the results; those of deleted or paused monitors are left out. They are not locked, because most
 * results change nothing: if another batch changes a source meanwhile, `addMissed` applies the skipped results.
 */
async function readResultSources(
  run: Run,
  measured: readonly MeasuredResult[],
): Promise<{ results: MeasuredResult[]; sources: ReadonlyMap<string, EvaluatedSource> }> {
  const keys = [...new Map(measured.map((result) => [sourceKey(result), result])).values()];
  const sources = new Map((await readSources(run, keys)).map((source) => [sourceKey(source), source]));
  const results = measured.filter((result) => sources.has(sourceKey(result)));
  return { results: results.toSorted((a, b) => a.dueAtMs - b.dueAtMs), sources };
}

/**
 * Returns the sources that some result may change. A repeated steady result can only end a state that is undecided, or
 * worse; any other change shows in the source's own streaks.
 */
function findChangeable(
  results: readonly MeasuredResult[],
  sources: ReadonlyMap<string, EvaluatedSource>,
): Map<string, EvaluatedSource> {
  const changeable = new Map<string, EvaluatedSource>();
  for (const result of results) {
    const key = sourceKey(result);
    const source = sources.get(key);
    if (source === undefined || changeable.has(key)) continue;
    if (mayEndState(source.monitorState, result) || stepSource(source.state, result, source) !== source.state)
      changeable.set(key, source);
  }
  return changeable;
}

/**
 * Splits results by the sources of the monitors that may change, whose states are read together (D-711). Results of
 * other monitors are in the first part.
 */
async function splitBatch(
  run: Run,
  results: readonly MeasuredResult[],
  changeable: ReadonlyMap<string, EvaluatedSource>,
): Promise<MeasuredResult[][]> {
  if (changeable.size === 0) return [[...results]];
  const monitorNos = new Set([...changeable.values()].map(({ monitorNo }) => monitorNo));
  const groups = await groupBySources(run, [...monitorNos]);
  const partOf = new Map(groups.flatMap((group, index) => group.map((monitorNo) => [monitorNo, index] as const)));
  return [...Map.groupBy(results, ({ monitorNo }) => partOf.get(monitorNo) ?? 0).values()];
}

/** Locks the sources that may change, and returns their current state. */
async function lockChangeable(
  run: Run,
  changeable: ReadonlyMap<string, EvaluatedSource>,
): Promise<ReadonlyMap<string, EvaluatedSource>> {
  if (changeable.size === 0) return changeable;
  return new Map((await lockSources(run, [...changeable.values()])).map((source) => [sourceKey(source), source]));
}

async function findNewestBefore(
  run: Run,
  changeable: ReadonlyMap<string, EvaluatedSource>,
  nowMs: number,
): Promise<Map<string, number>> {
  if (changeable.size === 0) return new Map();
  return await findNewestResults(run, [...changeable.values()], { sinceMs: nowMs - LATE_RESULT_HORIZON_MS, nowMs });
}

/** Returns the batch without results that change nothing: of other sources, outdated, stored before, or late (D-40). */
function keepApplicable({ results, changeable, newest }: Batch, stored: ReadonlySet<string>): Batch {
  const applicable = results.filter((result) => {
    const source = changeable.get(sourceKey(result));
    return (
      source !== undefined &&
      isCurrent(result, source) &&
      stored.has(resultIdentity(result)) &&
      result.dueAtMs > (newest.get(sourceKey(result)) ?? 0)
    );
  });
  return { results: applicable, changeable, newest };
}

/**
 * Adds results that were stored but not applied. They seemed to change nothing when their source was read, while
 * another batch started a streak that they break. Only results newer than the source's state are added, and none if the
 * checks were edited since, because that ended the streaks.
 */
async function addMissed(run: Run, batch: Batch): Promise<Batch> {
  const behind = [...batch.changeable].flatMap(([key, { monitorNo, agentNo, state, checksVersion }]) => {
    const newestMs = batch.newest.get(key) ?? 0;
    return state?.checksVersion === checksVersion &&
      GAUGES.some((gauge) => state[gauge].streak.length > 0) &&
      newestMs > state.newestAtMs
      ? [{ key, monitorNo, agentNo, checksVersion, afterMs: state.newestAtMs, untilMs: newestMs }]
      : [];
  });
  if (behind.length === 0 || batch.results.length === 0) return batch;
  const missed = await listMissedResults(run, behind);
  return {
    ...batch,
    results: [...batch.results, ...missed].toSorted((a, b) => a.dueAtMs - b.dueAtMs),
    newest: new Map([...batch.newest, ...behind.map(({ key, afterMs }) => [key, afterMs] as const)]),
  };
}

/**
 * Returns false for a check that was running when the checks were edited, or the monitor paused and resumed. Its result
 * is stored, but not applied.
 */
function isCurrent(result: MeasuredResult, source: EvaluatedSource): boolean {
  if (result.checksVersion !== source.checksVersion) return false;
  return source.monitorState !== 'pending' || latestStartMs(result.dueAtMs) >= source.monitorStateSinceMs;
}

/** Reports whether to check the parents too: a first failure may be that of a monitor that this one depends on. */
function needsParents(stepped: SteppedMonitor): boolean {
  return stepped.monitor.hasParents && hasFirstFailure(stepped);
}

async function lockResultMonitors(run: Run, { results }: Batch, nowMs: number): Promise<EvaluatedMonitor[]> {
  return await lockMonitors(run, [...new Set(results.map(({ monitorNo }) => monitorNo))], nowMs);
}

function stepMonitors(
  monitors: readonly EvaluatedMonitor[],
  { results, newest }: Batch,
  nowMs: number,
): SteppedMonitor[] {
  const byMonitor = Map.groupBy(results, ({ monitorNo }) => monitorNo);
  return monitors.map((monitor) => stepMonitor(monitor, { results: byMonitor.get(monitor.no) ?? [], newest, nowMs }));
}

async function recordSources(run: Run, stepped: readonly SteppedMonitor[], nowMs: number): Promise<void> {
  const changed = stepped.flatMap((monitor) => changedSources(monitor, nowMs));
  await storeSourceStates(run, changed);
  // A source that turned while it did not count changes nothing once it counts: the sweep then decides anew.
  await updateNotCounted(
    run,
    changed.filter(({ isNotCounted }) => isNotCounted),
  );
}

async function recordRechecks(run: Run, stepped: readonly SteppedMonitor[]): Promise<PlannedRecheck[]> {
  const rechecks = stepped.flatMap((monitor) => monitor.rechecks);
  await scheduleRechecks(run, rechecks);
  return rechecks;
}
