import { setTimeout as sleep } from 'node:timers/promises';
import type { Change } from '../../core/change.ts';
import { isFresh, isRecent } from '../../core/decided-monitor.ts';
import { reconsider } from '../../core/monitor-state.ts';
import { freshnessMs, undecidedMs } from '../../core/quorum.ts';
import { listDoubtfulMonitors, lockMonitors, noteUnheard, type EvaluatedMonitor } from '../../models/evaluation.ts';
import { watchService } from '../../models/service-gaps.ts';
import { inPoolTransaction, runOn } from '../../models/sql.ts';
import { announce } from '../announce.ts';
import { recordChanges, type RecordedChanges } from '../record-changes.ts';
import type { Runtime } from '../runtime.ts';

/** Monitors edited within the last so many milliseconds are decided anew. */
const EDITED_MS = 60_000;

/** With results that have waited this long for evaluation, in milliseconds, silence is ours and not that of their sources. */
const BEHIND_MS = 5000;

/** Monitors looked at with one statement: some 20 ms of PostgreSQL. */
const PAGE = 5000;

/** Monitors decided in one transaction. */
const CHUNK = 200;

/**
 * Decides again the monitors that silence, its end, an offline agent or an edit may have changed (D-41, D-42). Unknown is said only where we
 * have been watching for as long as the silence lasts, nothing waits that may end it, and none of those that are silent had more to check than
 * time: after a stand-still of ours every source is silent, with too much to do some are, and that is our fault.
 */
export async function sweep(runtime: Runtime): Promise<{ doubtful: number; transitions: number }> {
  const { database } = runtime;
  const startMs = runtime.now();
  const oldestResultsAtMs = await findOldestResults(runtime);
  const watchingSinceMs = await watchOurselves(runtime, { nowMs: startMs, oldestResultsAtMs });
  // While the queue is away it is not known what waits in it.
  const isBehind = oldestResultsAtMs === undefined || (oldestResultsAtMs !== null && startMs - oldestResultsAtMs > BEHIND_MS);
  const doubtful = await listDoubtful(runtime, startMs);
  let transitions = 0;
  for (let start = 0; start < doubtful.length; start += CHUNK) {
    const { turned, ...recorded } = await decideChunk(runtime, doubtful.slice(start, start + CHUNK), { watchingSinceMs, isBehind });
    await announce(runtime, recorded);
    await noteUnheard(runOn(database.pool), turned);
    transitions += recorded.transitions.length;
  }
  return { doubtful: doubtful.length, transitions };
}

/** Rests after each statement for as long as it took: nobody waits for a sweep, and of very many monitors it would have a processor to itself for seconds. */
async function listDoubtful({ database }: Runtime, nowMs: number): Promise<number[]> {
  const all: number[] = [];
  const when = { nowMs, editedSinceSeconds: Math.floor((nowMs - EDITED_MS) / 1000), limit: PAGE };
  for (let afterNo: number | null = 0; afterNo !== null; ) {
    const startedAt = performance.now();
    const { doubtful, lastNo } = await listDoubtfulMonitors(runOn(database.pool), { ...when, afterNo });
    all.push(...doubtful);
    afterNo = lastNo;
    if (lastNo !== null) await sleep(performance.now() - startedAt);
  }
  return all;
}

/** What a silence is worth that a sweep finds. */
type Watching = { watchingSinceMs: number; isBehind: boolean };

/** Undefined where the queue could not be asked. */
async function findOldestResults({ queues, log }: Runtime): Promise<number | null | undefined> {
  try {
    return await queues.oldestResultsAtMs();
  } catch (error) {
    log.warn({ err: error }, 'sweep.queue_not_seen');
    return undefined;
  }
}

/** Tells and counts the gaps that this look found, and returns since when we have been watching without one. */
async function watchOurselves({ database, metrics, log }: Runtime, seen: Parameters<typeof watchService>[1]): Promise<number> {
  const { watchingSinceMs, begun, ended } = await watchService(database, seen);
  for (const { kind, startMs } of begun) {
    metrics.serviceGapBegan(kind);
    log.error({ kind, started_at: startMs }, 'service.gap_began');
  }
  for (const { kind, startMs, endMs } of ended) {
    // Of the clock's gaps nobody was there to see the beginning.
    if (kind === 'clock') metrics.serviceGapBegan(kind);
    metrics.serviceGapEnded(kind, endMs - startMs);
    log.warn({ kind, started_at: startMs, ended_at: endMs, duration_ms: endMs - startMs }, 'service.gap_ended');
  }
  return watchingSinceMs;
}

function decideChunk(runtime: Runtime, monitorNos: readonly number[], watching: Watching): Promise<RecordedChanges & { turned: TurnedSource[] }> {
  return inPoolTransaction(runtime.database, async (run) => {
    const nowMs = runtime.now();
    const monitors = await lockMonitors(run, monitorNos, nowMs);
    const changed = monitors.map((monitor) => ({ monitor, changes: changesOf(monitor, { nowMs, ...watching }) }));
    return { turned: monitors.flatMap((monitor) => findTurned(monitor, nowMs)), ...(await recordChanges(run, changed, runtime)) };
  });
}

function changesOf(monitor: EvaluatedMonitor, when: Watching & { nowMs: number }): Change[] {
  const patienceMs = Math.max(freshnessMs(monitor.intervalSeconds), undecidedMs(monitor.intervalSeconds));
  const change = reconsider(monitor, { nowMs: when.nowMs, silenceCounts: !when.isBehind && when.nowMs - when.watchingSinceMs >= patienceMs && !isLeftWaiting(monitor, when.nowMs) });
  return change === null ? [] : [change];
}

/** Whether one of the monitor's places has said nothing lately because it had more to check than time. */
function isLeftWaiting(monitor: EvaluatedMonitor, nowMs: number): boolean {
  const freshSinceMs = nowMs - freshnessMs(monitor.intervalSeconds);
  return monitor.sources.some((source) => source.behindAtMs !== null && source.behindAtMs >= freshSinceMs && !isRecent(source, monitor, nowMs));
}

type TurnedSource = { monitorNo: number; agentNo: number; isUnheard: boolean };

/** The sources that count in this decision and did not in the one before, or the other way round. */
function findTurned(monitor: EvaluatedMonitor, nowMs: number): TurnedSource[] {
  return monitor.sources
    .map((source) => ({ monitorNo: monitor.no, agentNo: source.agentNo, wasUnheard: source.wasUnheard, isUnheard: !isFresh(source, monitor, nowMs) }))
    .filter(({ wasUnheard, isUnheard }) => wasUnheard !== isUnheard);
}
