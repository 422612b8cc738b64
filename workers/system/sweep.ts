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

/** Age of an edit within which its monitor is decided again, in milliseconds. */
const EDITED_MS = 60_000;

/**
 * Age of the last scan at which a sweep scans all monitors, in milliseconds: every fifth sweep. It is shorter than
 * `EDITED_MS`, so that a monitor edited meanwhile is in the next scan.
 */
const SCAN_EVERY_MS = 45_000;

/**
 * How far ahead a scan finds monitors that may become stale, in milliseconds: until the next one is done. A monitor
 * that is checked in time is not found: its results count for a minute longer than its interval.
 */
const AHEAD_MS = 50_000;

/**
 * Age of unevaluated results, in milliseconds, from which a silence is the service's own and not that of the sources.
 */
const BEHIND_MS = 5000;

/** Monitors read with one statement: some 20 ms of PostgreSQL. */
const PAGE = 5000;

/** Monitors decided in one transaction. */
const CHUNK = 200;

/**
 * The memory of a process from one sweep to the next. It contains the time of the last scan of all monitors (Unix
 * milliseconds), and the monitors that may become stale within `AHEAD_MS` of it.
 */
type SweepMemory = { scannedAtMs: number; suspects: readonly number[] };

/**
 * Decides again the monitors that silence, its end, an offline agent or an edit may have changed (D-41, D-42). A
 * monitor becomes unknown only if the service has been watching for as long as the silence lasts, and no result is
 * waiting that could end it: after a standstill of the service every source is silent. If a silent location had more
 * checks than it could run, the monitor becomes unknown without an alert, as a service gap. Without a memory it scans
 * all monitors.
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
  // While the queue is away, its waiting results are unknown.
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

/** Returns the empty memory of a process that has not swept yet. */
export function newSweepMemory(): SweepMemory {
  return { scannedAtMs: Number.NEGATIVE_INFINITY, suspects: [] };
}

async function listStale({ database }: Runtime, nowMs: number, memory: SweepMemory): Promise<number[]> {
  const run = runOn(database.pool);
  const asOf = { nowMs, editedSinceSeconds: Math.floor((nowMs - EDITED_MS) / 1000) };
  const isCurrent = nowMs >= memory.scannedAtMs && nowMs < memory.scannedAtMs + SCAN_EVERY_MS;
  if (!isCurrent) {
    memory.suspects = await scan(run, { ...asOf, nowMs: nowMs + AHEAD_MS });
    memory.scannedAtMs = nowMs;
  }
  const changed = await restingAfter(() => listChangedMonitors(run, asOf.editedSinceSeconds));
  // A changed monitor is a suspect until the next scan: a source may count again by an old result.
  memory.suspects = [...new Set([...memory.suspects, ...changed])].toSorted((a, b) => a - b);
  const stale: number[] = [];
  for (let start = 0; start < memory.suspects.length; start += PAGE) {
    const page = memory.suspects.slice(start, start + PAGE);
    stale.push(...(await restingAfter(() => findStaleAmong(run, asOf, page))));
  }
  return stale;
}

/** Returns the stale ones of all monitors. */
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
 * Pauses after a statement for as long as it took. No caller waits for a sweep, and with very many monitors it would
 * occupy a processor for seconds.
 */
async function restingAfter<Result>(read: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now();
  const result = await read();
  await sleep(performance.now() - startedAt);
  return result;
}

/** Facts that decide whether a silence counts. */
type Watching = { watchingSinceMs: number; isBehind: boolean };

/** Undefined if the queue could not be read. */
async function findOldestResults({ queues, log }: Runtime): Promise<number | null | undefined> {
  try {
    return await queues.oldestResultsAtMs();
  } catch (error) {
    log.warn({ err: error }, 'sweep.queue_not_read');
    return undefined;
  }
}

/**
 * Reports and counts the gaps that this poll found, and returns since when the service has been watching without one.
 */
async function watchOurselves(runtime: Runtime, evidence: Parameters<typeof watchService>[1]): Promise<number> {
  const { watchingSinceMs, ...gaps } = await watchService(runtime.database, evidence);
  reportGaps(runtime, gaps);
  return watchingSinceMs;
}

/** Begins and ends the gap of the service's overload, by the monitors that are not checked. */
async function watchOwnOverload(runtime: Runtime): Promise<void> {
  const { begun, ended } = await inTransaction(runtime.database, (run) => watchOverload(run, runtime.now()));
  reportGaps(runtime, {
    begun: begun === null ? [] : [{ kind: 'overload', startMs: begun }],
    ended: ended === null ? [] : [ended],
  });
}

/** Logs and counts gaps of the service that began or ended. */
function reportGaps(
  { metrics, log }: Runtime,
  { begun, ended }: { begun: readonly Omit<ServiceGap, 'endMs'>[]; ended: readonly ServiceGap[] },
): void {
  for (const { kind, startMs } of begun) {
    metrics.serviceGapBegan(kind);
    log.error({ kind, started_at: startMs }, 'service.gap_began');
  }
  for (const { kind, startMs, endMs } of ended) {
    // No process observed the beginning of the clock's gaps.
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
  // A shorter interval, or another location, must not raise an alarm about the past.
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
 * Returns the names of the monitor's locations without recent results because they had more checks than they could run.
 */
function listOverloaded(monitor: EvaluatedMonitor, nowMs: number): string[] {
  const freshSinceMs = nowMs - freshnessMs(monitor.intervalSeconds);
  return monitor.sources
    .filter(
      (source) => source.behindAtMs !== null && source.behindAtMs >= freshSinceMs && !isRecent(source, monitor, nowMs),
    )
    .map(({ name }) => name);
}

/** Reports whether a decided monitor has too few votes left to decide it, and is not unknown yet. */
function isOutOfVotes(monitor: EvaluatedMonitor, nowMs: number): boolean {
  const votes = monitor.sources.map((source) => ({
    vote: voteOf(source.state),
    fresh: isFresh(source, monitor, nowMs),
  }));
  return isDecided(monitor.state) && decide(votes, monitor.quorum).decision === 'unknown';
}

type TurnedSource = { monitorNo: number; agentNo: number; isNotCounted: boolean };

/** Returns the sources that count in this decision and did not in the previous one, or the other way round. */
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
