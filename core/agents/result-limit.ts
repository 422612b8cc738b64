import { DAY_MS, HOUR_MS } from '../time.ts';
import type { Report } from './requests.ts';

/** A result may be this far ahead of our clock, or of its monitor's creation, in milliseconds: clocks differ. */
const MAX_AHEAD_MS = 60_000;

/** Older results are of no use, in milliseconds. */
const MAX_AGE_MS = DAY_MS;

/** Parts reports by when their probes began: from the future, too old, or neither. */
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
 * True where a probe began before there was its monitor (Unix milliseconds). A creation that seems to be ahead counts
 * as made now: our clock was set back since.
 */
export function isBeforeCreation({ startedAtMs }: Report, createdAtMs: number, nowMs: number): boolean {
  return startedAtMs < Math.min(createdAtMs, nowMs) - MAX_AHEAD_MS;
}
/**
 * Results are counted by windows of due time as long as the interval, within these bounds, in milliseconds. An edit of
 * the interval is so forgotten soon.
 */
const SHORTEST_MS = 60_000;
const LONGEST_MS = HOUR_MS;

/**
 * Only what was due this recently can come from a requested check or an edit, in milliseconds: an agent learns of these
 * at its check-in.
 */
const RECENT_MS = 600_000;

/** A check can be requested six times a minute; a few more follow edits and restarts of the agent. */
const REQUESTED_A_MINUTE = 6;
const OTHERS = 4;

/** As many rechecks as ticks are taken whatever the threshold: agents of other makers have reasons of their own. */
const LEAST_A_TICK = 2;

/** How often a monitor is checked, with its rechecks. */
export type CheckPace = { intervalSeconds: number; downAfterFailures: number };

/** A stretch of due time, in Unix milliseconds, the end excluded. */
export type DueWindow = { fromMs: number; toMs: number };

/** The window that a due time lies in: the same for every result of it. */
export function dueWindowOf(dueAtMs: number, { intervalSeconds }: CheckPace): DueWindow {
  const lengthMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, intervalSeconds * 1000));
  const fromMs = Math.floor(dueAtMs / lengthMs) * lengthMs;
  return { fromMs, toMs: fromMs + lengthMs };
}

/**
 * Limits the results of one source in a window to as many as make the source bad at each tick that can lie in it. That
 * is a tick and its rechecks (D-47), and in recent windows what can be requested besides.
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
