import { stepSource, type SourceState, type StreakRule, type VotedResult } from '../incidents/source-state.ts';
import { talksToTarget, type MonitorType } from '../monitors/monitor.ts';
import { msUntilTick, type TickMoment } from './slots.ts';
import { isBad } from './verdict.ts';

/** A source whose bad result may need a recheck; `state` is the one before that result is applied. */
export type RecheckedSource = { state: SourceState | null; rule: StreakRule };

/** Limits of a recheck's delay, half an interval from the bad result's due time, in milliseconds (D-47). */
const SHORTEST_MS = 1000;
const LONGEST_MS = 20_000;

/** Minimum distance of two checks that give independent evidence, in milliseconds. */
const APART_MS = 500;

/**
 * Rechecks that wait at least this long start on a whole second, in milliseconds: many failures at once then share a
 * job.
 */
const GATHERED_FROM_MS = 5000;

/**
 * Returns the time from a bad result's due time to its source's recheck (D-47), in milliseconds; null for none. There
 * is none after a result that is good, no vote, old, a repeat or of older checks, that leaves the source as bad as it
 * was or makes it bad, nor if the interval is too short. A down result counts for the source being down, a degraded one
 * for its being degraded.
 */
export function recheckAfterMs({ state, rule }: RecheckedSource, result: VotedResult): number | null {
  if (!isBad(result.verdict)) return null;
  const next = stepSource(state, result, rule);
  if (next === state) return null;
  const gauge = result.verdict === 'down' ? next.failing : next.impaired;
  if (gauge.tripped === true) return null;
  return recheckWaitMs(rule.intervalSeconds);
}

/** Returns half an interval within the limits, in milliseconds; null if the interval is no longer than that. */
function recheckWaitMs(intervalSeconds: number): number | null {
  const intervalMs = intervalSeconds * 1000;
  const afterMs = Math.max(SHORTEST_MS, Math.min(intervalMs / 2, LONGEST_MS));
  return afterMs < intervalMs ? afterMs : null;
}

/** Settings that determine how soon a failure is detected. */
type DetectionSettings = {
  type: MonitorType;
  intervalSeconds: number;
  timeoutMs: number;
  downAfterFailures: number;
};

/**
 * Returns the seconds from a bad check that took the whole timeout to the next one. If each check contacts the target,
 * that is sooner than the interval.
 */
export function secondsToNextCheck({
  type,
  intervalSeconds,
  timeoutMs,
}: Omit<DetectionSettings, 'downAfterFailures'>): number {
  const afterMs = talksToTarget(type) ? recheckWaitMs(intervalSeconds) : null;
  return afterMs === null ? intervalSeconds : Math.min(intervalSeconds, Math.max(afterMs, timeoutMs + APART_MS) / 1000);
}

/**
 * Returns the worst-case seconds until a failure is reported as down: it begins right after a check, and every check
 * takes the whole timeout. Locations check at different moments of the interval, so a quorum takes no longer than its
 * slowest one.
 */
export function worstDetectionSeconds(settings: DetectionSettings): number {
  const { intervalSeconds, timeoutMs, downAfterFailures } = settings;
  return intervalSeconds + (downAfterFailures - 1) * secondsToNextCheck(settings) + timeoutMs / 1000;
}

/**
 * Returns the moment of a recheck in the schedule of a shared agent, in Unix milliseconds. It is not before the wait is
 * over nor right now; null if the source's next tick comes first, or hardly later.
 */
export function recheckAtMs(
  { dueAtMs, afterMs, nowMs }: { dueAtMs: number; afterMs: number; nowMs: number },
  tick: TickMoment,
): number | null {
  const earliestMs = Math.max(dueAtMs + afterMs, nowMs + APART_MS);
  const atMs = afterMs >= GATHERED_FROM_MS ? Math.ceil(earliestMs / 1000) * 1000 : earliestMs;
  return atMs + APART_MS <= dueAtMs + msUntilTick(tick, dueAtMs) ? atMs : null;
}

/**
 * Returns the milliseconds from the start of a source's newest probe to its recheck (D-47); null if none is needed. The
 * results arrive together, in any order: the older ones are applied before the newest, as if each had arrived alone.
 */
export function hintRecheck({ state, rule }: RecheckedSource, results: readonly VotedResult[]): number | null {
  const ordered = results.toSorted((a, b) => a.dueAtMs - b.dueAtMs);
  const newest = ordered.pop();
  if (newest === undefined) return null;
  const before = ordered.reduce((stepped, result) => stepSource(stepped, result, rule), state);
  return recheckAfterMs({ state: before, rule }, newest);
}
