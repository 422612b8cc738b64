import { DAY_MS, HOUR_MS } from '../time.ts';
import type { Report } from './requests.ts';

/** Tolerance for a result ahead of this clock, or before its monitor's creation, in milliseconds: clocks differ. */
const MAX_AHEAD_MS = 60_000;

/** Maximum age of a useful result, in milliseconds. */
const MAX_AGE_MS = DAY_MS;

/** Splits reports by the start of their probes: from the future, too old, or neither. */
export function sortByAge(
  reports: readonly Report[],
  nowMs: number,
): { timely: Report[]; future: number; tooOld: number } {
  const isFuture = ({ startedAtMs }: Report) => startedAtMs > nowMs + MAX_AHEAD_MS;
  const isTooOld = ({ startedAtMs }: Report) => startedAtMs < nowMs - MAX_AGE_MS;
  const timely = reports.filter((report) => !isFuture(report) && !isTooOld(report));
  return { timely, future: reports.filter(isFuture).length, tooOld: reports.filter(isTooOld).length };
}

/**
 * Reports whether a probe began before its monitor's creation (Unix milliseconds). A creation in the future counts as
 * now: the clock was set back since.
 */
export function isBeforeCreation({ startedAtMs }: Report, createdAtMs: number, nowMs: number): boolean {
  return startedAtMs < Math.min(createdAtMs, nowMs) - MAX_AHEAD_MS;
}

/**
 * Limits of the windows of due time in which results are counted, in milliseconds; otherwise as long as the interval.
 * An edit of the interval is thus forgotten soon.
 */
const SHORTEST_MS = 60_000;
const LONGEST_MS = HOUR_MS;

/**
 * Age up to which a due time can come from a requested check or an edit, in milliseconds. An agent gets these at its
 * check-in.
 */
const RECENT_MS = 600_000;

/** A check can be requested six times a minute; a few more follow edits and restarts of the agent. */
const REQUESTED_A_MINUTE = 6;
const OTHERS = 4;

/** At least one recheck per tick is accepted regardless of the threshold: third-party agents have their own rules. */
const LEAST_A_TICK = 2;

/** Check interval of a monitor, and the threshold that determines its rechecks. */
type CheckPace = { intervalSeconds: number; downAfterFailures: number };

/** A span of due time, in Unix milliseconds, excluding the end. */
export type DueWindow = { fromMs: number; toMs: number };

/** Returns the window of a due time: the same for every result in it. */
export function dueWindowOf(dueAtMs: number, { intervalSeconds }: CheckPace): DueWindow {
  const lengthMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, intervalSeconds * 1000));
  const fromMs = Math.floor(dueAtMs / lengthMs) * lengthMs;
  return { fromMs, toMs: fromMs + lengthMs };
}

/**
 * Limits the results of one source in a window to the number that makes the source bad at each possible tick. That is a
 * tick and its rechecks (D-47), and in recent windows further requested checks.
 */
export function mostResultsIn(
  { fromMs, toMs }: DueWindow,
  { intervalSeconds, downAfterFailures }: CheckPace,
  nowMs: number,
): number {
  const ticks = Math.ceil((toMs - fromMs) / (intervalSeconds * 1000)) + 1;
  const regular = ticks * Math.max(LEAST_A_TICK, downAfterFailures);
  return toMs < nowMs - RECENT_MS
    ? regular
    : regular + Math.ceil((REQUESTED_A_MINUTE * (toMs - fromMs)) / 60_000) + OTHERS;
}
