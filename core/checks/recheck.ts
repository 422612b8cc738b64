import { stepSource, type SourceState, type StreakRule, type VotedResult } from '../incidents/source-state.ts';
import { talksToTarget, type MonitorType } from '../monitors/monitor.ts';
import { msUntilTick, type TickMoment } from './slots.ts';

/** A source whose bad result may be worth a recheck; `state` is the one before that result is applied. */
export type RecheckedSource = { state: SourceState | null; rule: StreakRule };

/** Rechecks come half an interval after the bad result's due time, within these bounds, in milliseconds (D-47). */
const SHORTEST_MS = 1000;
const LONGEST_MS = 20_000;

/** Two checks closer together than this see the same moment, in milliseconds. */
const APART_MS = 500;

/**
 * Rechecks that wait at least this long begin with a whole second, in milliseconds: when much fails at once, many of
 * them are one job.
 */
const GATHERED_FROM_MS = 5000;

/**
 * How long after the due time of a bad result its source shall check again (D-47), in milliseconds; null where it shall
 * not. It shall not after a result that is good, no vote, old, a repeat or of older checks, that leaves the source as
 * bad as it was or makes it bad, nor where the interval is too short. A down result counts for the source being down, a
 * degraded one for its being degraded.
 */
export function recheckAfterMs({ state, rule }: RecheckedSource, result: VotedResult): number | null {
  if (result.verdict !== 'down' && result.verdict !== 'degraded') return null;
  const next = stepSource(state, result, rule);
  if (next === state) return null;
  const gauge = result.verdict === 'down' ? next.failing : next.impaired;
  if (gauge.tripped === true) return null;
  return recheckWaitMs(rule.intervalSeconds);
}

/** Half an interval within the bounds, in milliseconds; null where the interval is as short as that. */
function recheckWaitMs(intervalSeconds: number): number | null {
  const intervalMs = intervalSeconds * 1000;
  const afterMs = Math.max(SHORTEST_MS, Math.min(intervalMs / 2, LONGEST_MS));
  return afterMs < intervalMs ? afterMs : null;
}

/** What decides how soon a failure is detected. */
export type DetectionSettings = {
  type: MonitorType;
  intervalSeconds: number;
  timeoutMs: number;
  downAfterFailures: number;
};

/**
 * Seconds from a bad check that took the whole timeout to the next one. Where each check talks to the target it comes
 * sooner than the interval says.
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
 * Seconds until what fails is called down, at worst: it fails right after a check, and every check waits for the whole
 * timeout. Locations check each in its own moment of the interval, so that a quorum takes no longer than its slowest
 * one.
 */
export function worstDetectionSeconds(settings: DetectionSettings): number {
  const { intervalSeconds, timeoutMs, downAfterFailures } = settings;
  return intervalSeconds + (downAfterFailures - 1) * secondsToNextCheck(settings) + timeoutMs / 1000;
}

/**
 * The moment of a recheck in the schedule of an agent of ours, Unix milliseconds. Not before the wait is over nor right
 * now; null where the source's next tick comes first, or hardly later.
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
 * After how many milliseconds from the start of its newest probe a source shall check again (D-47); null where it need
 * not. The results are those that come in together, in any order: the older ones count before the newest, as if they
 * had come by themselves.
 */
export function hintRecheck({ state, rule }: RecheckedSource, results: readonly VotedResult[]): number | null {
  const ordered = results.toSorted((a, b) => a.dueAtMs - b.dueAtMs);
  const newest = ordered.pop();
  if (newest === undefined) return null;
  const before = ordered.reduce((stepped, result) => stepSource(stepped, result, rule), state);
  return recheckAfterMs({ state: before, rule }, newest);
}
