import { setTimeout as sleep } from 'node:timers/promises';
import type { Change } from '../../core/incidents/change.ts';
import { reconsider } from '../../core/incidents/monitor-state.ts';
import { decide, freshnessMs, isDecided, isFresh, isRecent, undecidedMs } from '../../core/incidents/quorum.ts';
import { voteOf } from '../../core/incidents/source-state.ts';
import { restoreRecentResults } from '../../models/checks/recent-results.ts';
import {
  findStaleAmong,
  listChangedMonitors,
  listSilentAfterOverload,
  listStaleMonitors,
  lockMonitors,
  updateNotCounted,
  type EvaluatedMonitor,
  type StaleAsOf,
  type StalePageQuery,
} from '../../models/incidents/evaluation.ts';
import { inTransaction, runOn, type Run } from '../../models/sql.ts';
import { watchOverload, watchService, type ServiceGap } from '../../models/statistics/service-gaps.ts';
import { announce, recordChanges, type RecordedChanges } from '../incidents/record-changes.ts';
import type { Runtime } from '../runtime.ts';

/** Monitors edited within this time are decided anew, in milliseconds. */
const EDITED_MS = 60_000;

/**
 * A sweep scans all monitors where the last scan is this old, in milliseconds: every fifth sweep. Shorter than
 * `EDITED_MS`, so that a monitor that is edited meanwhile is in the next scan.
 */
const SCAN_EVERY_MS = 45_000;

/**
 * How far ahead a scan finds what may be stale, in milliseconds: until the next one is done. A monitor that is checked
 * in time is not found: its results count for a minute longer than its interval.
 */
const AHEAD_MS = 50_000;

/**
 * With results that have waited this long for evaluation, in milliseconds, silence is ours and not that of their
 * sources.
 */
const BEHIND_MS = 5000;

/** Monitors read with one statement: some 20 ms of PostgreSQL. */
const PAGE = 5000;

/** Monitors decided in one transaction. */
const CHUNK = 200;

/**
 * The memory of a process from one sweep to the next. It has when all monitors were scanned (Unix milliseconds), and
 * which may be stale within `AHEAD_MS` of that.
 */
export type SweepMemory = { scannedAtMs: number; suspects: readonly number[] };

/**
 * Decides again the monitors that silence, its end, an offline agent or an edit may have changed (D-41, D-42). Unknown
 * is said only where we have been watching for as long as the silence lasts, and nothing waits that may end it: after a
 * stand-still of ours every source is silent. Where a silent location had more checks than it could run, unknown is
 * said without an alert, as a service gap of ours. Without a memory it scans all monitors.
 */
export async function sweep(
  runtime: Runtime,
  memory: SweepMemory = newSweepMemory(),
): Promise<{ stale: number; transitions: number }> {
  const { database } = runtime;
  await restoreRecentResults(database);
  const startMs = runtime.now();
  const oldestResultsAtMs = await findOldestResults(runtime);
  const watchingSinceMs = await watchOurselves(runtime, { nowMs: startMs, oldestResultsAtMs });
  // While the queue is away it is not known what waits in it.
  const isBehind =
    oldestResultsAtMs === undefined || (oldestResultsAtMs !== null && startMs - oldestResultsAtMs > BEHIND_MS);
  const stale = [
    ...new Set([
      ...(await listStale(runtime, startMs, memory)),
      ...(await listSilentAfterOverload(runOn(database.pool), startMs)),
    ]),
  ];
  let transitions = 0;
  for (let start = 0; start < stale.length; start += CHUNK) {
    const { turned, ...recorded } = await decideChunk(runtime, stale.slice(start, start + CHUNK), {
      watchingSinceMs,
      isBehind,
    });
    await announce(runtime, recorded);
    await updateNotCounted(runOn(database.pool), turned);
    transitions += recorded.transitions.length;
  }
  await watchOwnOverload(runtime);
  return { stale: stale.length, transitions };
}

/** The memory of a process that has not swept yet, which is empty. */
export function newSweepMemory(): SweepMemory {
  return { scannedAtMs: Number.NEGATIVE_INFINITY, suspects: [] };
}

async function listStale({ database }: Runtime, nowMs: number, memory: SweepMemory): Promise<number[]> {
  const run = runOn(database.pool);
  const asOf = { nowMs, editedSinceSeconds: Math.floor((nowMs - EDITED_MS) / 1000) };
  const isCurrent = nowMs >= memory.scannedAtMs && nowMs < memory.scannedAtMs + SCAN_EVERY_MS;
  if (!isCurrent) {
    const suspects = await scan(run, { ...asOf, nowMs: nowMs + AHEAD_MS });
    Object.assign(memory, { scannedAtMs: nowMs, suspects });
  }
  const changed = await restingAfter(() => listChangedMonitors(run, asOf.editedSinceSeconds));
  // A changed monitor is a suspect until the next scan: a source may count again by a result that is old already.
  memory.suspects = [...new Set([...memory.suspects, ...changed])].toSorted((a, b) => a - b);
  const stale: number[] = [];
  for (let start = 0; start < memory.suspects.length; start += PAGE) {
    const page = memory.suspects.slice(start, start + PAGE);
    stale.push(...(await restingAfter(() => findStaleAmong(run, asOf, page))));
  }
  return stale;
}

/** Lists the stale ones of all monitors. */
async function scan(run: Run, asOf: StaleAsOf): Promise<number[]> {
  const found: number[] = [];
  for (let afterNo: number | null = 0; afterNo !== null;) {
    const page: StalePageQuery = { ...asOf, afterNo, limit: PAGE };
    const { stale, lastNo } = await restingAfter(() => listStaleMonitors(run, page));
    found.push(...stale);
    afterNo = lastNo;
  }
  return found;
}

/**
 * Rests after a statement for as long as it took. No caller waits for a sweep, and of very many monitors it would have
 * a processor to itself for seconds.
 */
async function restingAfter<Result>(read: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now();
  const result = await read();
  await sleep(performance.now() - startedAt);
  return result;
}

/** The facts that say what a silence is worth to a sweep. */
type Watching = { watchingSinceMs: number; isBehind: boolean };

/** Undefined where the queue could not be read. */
async function findOldestResults({ queues, log }: Runtime): Promise<number | null | undefined> {
  try {
    return await queues.oldestResultsAtMs();
  } catch (error) {
    log.warn({ err: error }, 'sweep.queue_not_read');
    return undefined;
  }
}

/** Reports and counts the gaps that this poll found, and returns since when we have been watching without one. */
async function watchOurselves(runtime: Runtime, evidence: Parameters<typeof watchService>[1]): Promise<number> {
  const { watchingSinceMs, ...gaps } = await watchService(runtime.database, evidence);
  reportGaps(runtime, gaps);
  return watchingSinceMs;
}

/** Begins and ends the gap of our overload, as the monitors that are not checked say. */
async function watchOwnOverload(runtime: Runtime): Promise<void> {
  const { begun, ended } = await inTransaction(runtime.database, (run) => watchOverload(run, runtime.now()));
  reportGaps(runtime, {
    begun: begun === null ? [] : [{ kind: 'overload', startMs: begun }],
    ended: ended === null ? [] : [ended],
  });
}

/** Logs and counts the gaps of the service that began and that ended. */
function reportGaps(
  { metrics, log }: Runtime,
  { begun, ended }: { begun: readonly Omit<ServiceGap, 'endMs'>[]; ended: readonly ServiceGap[] },
): void {
  for (const { kind, startMs } of begun) {
    metrics.serviceGapBegan(kind);
    log.error({ kind, started_at: startMs }, 'service.gap_began');
  }
  for (const { kind, startMs, endMs } of ended) {
    // Of the clock's gaps no process saw the beginning.
    if (kind === 'clock') metrics.serviceGapBegan(kind);
    metrics.serviceGapEnded(kind, endMs - startMs);
    log.warn({ kind, started_at: startMs, ended_at: endMs, duration_ms: endMs - startMs }, 'service.gap_ended');
  }
}

function decideChunk(
  runtime: Runtime,
  monitorNos: readonly number[],
  watching: Watching,
): Promise<RecordedChanges & { turned: TurnedSource[] }> {
  return inTransaction(runtime.database, async (run) => {
    const nowMs = runtime.now();
    const monitors = await lockMonitors(run, monitorNos, nowMs);
    const changed = monitors.map((monitor) => ({ monitor, changes: changesOf(monitor, { nowMs, ...watching }) }));
    // A monitor that was not decided yet is decided again by the next sweep.
    const settled = changed
      .filter(({ monitor, changes }) => changes.length > 0 || !isOutOfVotes(monitor, nowMs))
      .map(({ monitor }) => monitor);
    return {
      turned: settled.flatMap((monitor) => findTurned(monitor, nowMs)),
      ...(await recordChanges(run, changed, { ...runtime, nowMs })),
    };
  });
}

function changesOf(monitor: EvaluatedMonitor, when: Watching & { nowMs: number }): Change[] {
  const patienceMs = Math.max(freshnessMs(monitor.intervalSeconds), undecidedMs(monitor.intervalSeconds));
  // A shorter interval, or another location, raises no alarm about the past.
  const sinceMs = Math.max(when.watchingSinceMs, monitor.updatedAtMs);
  const mayBeSilence = !when.isBehind && when.nowMs - sinceMs >= patienceMs;
  const overloaded = listOverloaded(monitor, when.nowMs);
  const change = reconsider(monitor, {
    nowMs: when.nowMs,
    silenceCounts: mayBeSilence && overloaded.length === 0,
    overloaded: mayBeSilence ? overloaded : [],
  });
  return change === null ? [] : [change];
}

/**
 * The names of the monitor's locations that reported nothing lately because they had more checks than they could run.
 */
function listOverloaded(monitor: EvaluatedMonitor, nowMs: number): string[] {
  const freshSinceMs = nowMs - freshnessMs(monitor.intervalSeconds);
  return monitor.sources
    .filter(
      (source) => source.behindAtMs !== null && source.behindAtMs >= freshSinceMs && !isRecent(source, monitor, nowMs),
    )
    .map(({ name }) => name);
}

/** Whether a decided monitor has too few votes left to decide it, and is not unknown yet. */
function isOutOfVotes(monitor: EvaluatedMonitor, nowMs: number): boolean {
  const votes = monitor.sources.map((source) => ({
    vote: voteOf(source.state),
    fresh: isFresh(source, monitor, nowMs),
  }));
  return isDecided(monitor.state) && decide(votes, monitor.quorum).decision === 'unknown';
}

type TurnedSource = { monitorNo: number; agentNo: number; isNotCounted: boolean };

/** The sources that count in this decision and did not in the one before, or the other way round. */
function findTurned(monitor: EvaluatedMonitor, nowMs: number): TurnedSource[] {
  return monitor.sources
    .map((source) => ({
      monitorNo: monitor.no,
      agentNo: source.agentNo,
      wasNotCounted: source.wasNotCounted,
      isNotCounted: !isFresh(source, monitor, nowMs),
    }))
    .filter(({ wasNotCounted, isNotCounted }) => wasNotCounted !== isNotCounted);
}
