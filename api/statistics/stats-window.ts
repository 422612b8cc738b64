import { HOURLY_DAYS } from '../../core/statistics/rollup-spans.ts';
import { DAY_MS, DAY_SECONDS, HOUR_MS, toUnixSeconds } from '../../core/time.ts';
import type { SeriesStepMs } from '../../models/statistics/statistics.ts';
import { badRequest } from '../api-error.ts';

/** Possible steps of a series, in milliseconds, from the shortest to the longest. */
export const STEP_MS = {
  minute: 60_000,
  five_minutes: 300_000,
  hour: HOUR_MS,
  day: DAY_MS,
} as const satisfies Record<string, SeriesStepMs>;
export type Resolution = keyof typeof STEP_MS;

/** A window in whole Unix seconds, the end excluded, and the size of its steps. */
type StatsWindow = { from: number; to: number; resolution: Resolution };

/**
 * A window with the time range in which checks are counted: only whole hours where single results are no longer kept.
 */
type CountedWindow = StatsWindow & { countedFrom: number; countedTo: number };

/** The window that a caller requested; an absent part has its default. */
export type RequestedWindow = { from?: number; to?: number; resolution?: Resolution | 'auto' };

const HOUR = 3600;
const MAX_DAYS = 400;
const MAX_POINTS = 1500;

/**
 * Maximum number of single results that a window is counted from, by its monitor's interval: steps shorter than an hour
 * need them.
 */
const MAX_RESULTS = 300_000;

/** Maximum length of a window for each step with `auto`, in seconds; longer windows use the longest step. */
const AUTO: readonly { resolution: Resolution; upTo: number }[] = [
  { resolution: 'minute', upTo: 3 * HOUR },
  { resolution: 'five_minutes', upTo: 2 * DAY_SECONDS },
  { resolution: 'hour', upTo: 31 * DAY_SECONDS },
];

/**
 * Reads a window of at most 400 days, or throws a 400 that names the problem. It ends now at the latest;
 * `defaultSeconds` is its length if no start is requested.
 */
export function readWindow(
  requested: Pick<RequestedWindow, 'from' | 'to'>,
  { nowMs, defaultSeconds }: { nowMs: number; defaultSeconds: number },
): { from: number; to: number } {
  const now = toUnixSeconds(nowMs);
  const to = Math.min(requested.to ?? now, now);
  const from = requested.from ?? Math.max(0, to - defaultSeconds);
  if (from >= to)
    throw badRequest(
      from >= now ? `from must be before now (${now}), got ${from}` : `from must be before to (${to}), got ${from}`,
    );
  if (to - from > MAX_DAYS * DAY_SECONDS)
    throw badRequest(`from must be at most ${MAX_DAYS} days before to (${to}), got ${from}`);
  return { from, to };
}

/**
 * Reads the requested window of statistics, or throws a 400 that names the problem. It ends now at the latest.
 * `resultDays` is the time that single results are kept, `results` the rate at which the monitor produces them.
 */
export function readStatsWindow(
  requested: RequestedWindow,
  { nowMs, resultDays, results }: { nowMs: number; resultDays: number; results: { since: number; perSecond: number } },
): CountedWindow {
  const now = toUnixSeconds(nowMs);
  const { from, to } = readWindow(requested, { nowMs, defaultSeconds: DAY_SECONDS });
  const keptFrom = now - resultDays * DAY_SECONDS;
  const hoursFrom = (Math.floor(now / DAY_SECONDS) - HOURLY_DAYS) * DAY_SECONDS;
  // Checks before that time are known by whole days alone, if the window contains any.
  const hasHours = from >= hoursFrom || !hasWholeDay({ from, to });
  const least = hasHours ? 'hour' : 'day';
  const isTooMany = (to - Math.max(from, results.since)) * results.perSecond > MAX_RESULTS;
  const resolution =
    requested.resolution === undefined || requested.resolution === 'auto'
      ? suitable({ from, to }, { keptFrom: isTooMany ? Infinity : keptFrom, hasHours })
      : requested.resolution;
  if (isTooMany && STEP_MS[resolution] < STEP_MS.hour)
    throw badRequest(
      `resolution must be ${coarserFor({ from, to }, least)} for this window, got ${resolution}: a monitor that is ` +
        `checked so often has more than ${MAX_RESULTS} results in it`,
    );
  if (from < keptFrom && STEP_MS[resolution] < STEP_MS.hour) {
    throw badRequest(
      `resolution must be ${hasHours ? 'hour or day' : 'day'} when from is before ${keptFrom}, got ${resolution}: ` +
        `raw results are kept for ${resultDays} days`,
    );
  }
  if (resolution === 'hour' && !hasHours)
    throw badRequest(
      `resolution must be day when from is before ${hoursFrom}, got hour: hourly figures are kept for ` +
        `${HOURLY_DAYS} days`,
    );
  const points = countSteps({ from, to }, resolution);
  if (points > MAX_POINTS)
    throw badRequest(
      `resolution must be ${coarserFor({ from, to })} for this window, got ${resolution}: that would be ` +
        `${points} points, and the limit is ${MAX_POINTS}`,
    );
  const countedFrom = from < keptFrom ? Math.ceil(from / HOUR) * HOUR : from;
  const countedTo = to < keptFrom ? Math.floor(to / HOUR) * HOUR : to;
  return { from, to, resolution, countedFrom, countedTo: Math.max(countedFrom, countedTo) };
}

/**
 * Lists the starts of a window's steps, and the end of the last one, in Unix seconds. All are multiples of the step
 * except the ends of the window.
 */
export function edgesOf({ from, to, resolution }: StatsWindow): number[] {
  const step = STEP_MS[resolution] / 1000;
  const first = Math.floor(from / step) * step;
  const inner = Array.from({ length: countSteps({ from, to }, resolution) }, (_, index) =>
    Math.max(from, first + index * step),
  );
  return [...inner, to];
}

function countSteps({ from, to }: { from: number; to: number }, resolution: Resolution): number {
  const step = STEP_MS[resolution] / 1000;
  return Math.ceil(to / step) - Math.floor(from / step);
}

function hasWholeDay({ from, to }: { from: number; to: number }): boolean {
  return Math.ceil(from / DAY_SECONDS) < Math.floor(to / DAY_SECONDS);
}

function suitable(
  { from, to }: { from: number; to: number },
  { keptFrom, hasHours }: { keptFrom: number; hasHours: boolean },
): Resolution {
  const fits = ({ resolution, upTo }: (typeof AUTO)[number]) =>
    to - from <= upTo && (STEP_MS[resolution] < STEP_MS.hour ? from >= keptFrom : hasHours);
  return AUTO.find(fits)?.resolution ?? 'day';
}

/** Finds the finest resolution, from a minimum on, with few enough points: days always have. */
function coarserFor(window: { from: number; to: number }, least: Resolution = 'minute'): string {
  const fitting = (Object.keys(STEP_MS) as Resolution[]).filter(
    (resolution) => STEP_MS[resolution] >= STEP_MS[least] && countSteps(window, resolution) <= MAX_POINTS,
  );
  return fitting.length > 1 ? `${fitting[0]} or coarser` : 'day';
}
