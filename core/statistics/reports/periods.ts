import { toInstant, toLocalTime } from '../../time-zones.ts';
import { DAY_SECONDS, toUnixSeconds } from '../../time.ts';

/** Length of a report's period: an ISO week from Monday 00:00, or a calendar month. */
export type ReportPeriod = 'week' | 'month';

/**
 * A period with its first second and the one after its last, in Unix seconds. Its days are those of `timezone`, by
 * default UTC.
 */
export type ReportWindow = { period: ReportPeriod; startSeconds: number; endSeconds: number; timezone?: string };

/** Maximum number of ended periods of each kind that are caught up on. */
const MAX_PERIODS_BACK = { week: 53, month: 13 } as const satisfies Record<ReportPeriod, number>;

/** Unix time began on a Thursday; this is the Monday after. */
const FIRST_MONDAY_SECONDS = 4 * DAY_SECONDS;

/** Returns the period of a kind that contains a moment (Unix seconds). */
export function periodAround(period: ReportPeriod, atSeconds: number): ReportWindow {
  if (period === 'month') return monthOf(new Date(atSeconds * 1000));
  const weeks = Math.floor((atSeconds - FIRST_MONDAY_SECONDS) / (7 * DAY_SECONDS));
  const startSeconds = FIRST_MONDAY_SECONDS + weeks * 7 * DAY_SECONDS;
  return { period, startSeconds, endSeconds: startSeconds + 7 * DAY_SECONDS };
}

/** Returns the last period of a kind, in a zone, that ended at or before a moment (Unix seconds). */
export function periodBefore(period: ReportPeriod, atSeconds: number, timezone: string): ReportWindow {
  const localSeconds = toLocalTime(atSeconds * 1000, timezone) / 1000;
  const { startSeconds: end } = periodAround(period, localSeconds);
  const { startSeconds: start } = periodAround(period, end - 1);
  return { period, startSeconds: toUnix(start, timezone), endSeconds: toUnix(end, timezone), timezone };
}

function toUnix(localSeconds: number, timezone: string | undefined): number {
  return timezone === undefined ? localSeconds : toInstant(localSeconds * 1000, timezone) / 1000;
}

function toLocal(unixSeconds: number, timezone: string | undefined): number {
  return timezone === undefined ? unixSeconds : toLocalTime(unixSeconds * 1000, timezone) / 1000;
}

/**
 * Returns the periods that have ended by now, at most `MAX_PERIODS_BACK` of each kind, in the order of their ends, a
 * week before a month.
 */
export function endedPeriods(nowMs: number): ReportWindow[] {
  const nowSeconds = toUnixSeconds(nowMs);
  return [...endedOf('week', nowSeconds), ...endedOf('month', nowSeconds)].toSorted(
    (a, b) => a.endSeconds - b.endSeconds || b.startSeconds - a.startSeconds,
  );
}

/** Returns the first seconds of a period's days, and its end. */
export function dayEdges({ startSeconds, endSeconds, timezone }: ReportWindow): number[] {
  const days = Math.round((endSeconds - startSeconds) / DAY_SECONDS);
  // A zone may skip the midnight: then the first day begins at 01:00, and the others do not.
  const firstLocal = Math.floor(toLocal(startSeconds, timezone) / DAY_SECONDS) * DAY_SECONDS;
  return Array.from({ length: days + 1 }, (_, day) => toUnix(firstLocal + day * DAY_SECONDS, timezone));
}

/** Returns the date of a moment (Unix seconds) in a zone, UTC by default: `2026-03-16`. */
export function dateOf(atSeconds: number, timezone?: string): string {
  return new Date(toLocal(atSeconds, timezone) * 1000).toISOString().slice(0, 10);
}

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

/** Formats a period for people: `March 2026`, `16 to 22 March 2026`, `29 December 2025 to 4 January 2026`. */
export function formatPeriod({ period, startSeconds, endSeconds, timezone }: ReportWindow): string {
  const first = partsOf(toLocal(startSeconds, timezone));
  if (period === 'month') return `${first.month} ${first.year}`;
  const last = partsOf(toLocal(endSeconds - 1, timezone));
  const end = `${last.day} ${last.month} ${last.year}`;
  if (first.year !== last.year) return `${first.day} ${first.month} ${first.year} to ${end}`;
  return first.month === last.month ? `${first.day} to ${end}` : `${first.day} ${first.month} to ${end}`;
}

function partsOf(atSeconds: number): { day: number; month: string; year: number } {
  const date = new Date(atSeconds * 1000);
  return { day: date.getUTCDate(), month: MONTHS[date.getUTCMonth()] ?? '', year: date.getUTCFullYear() };
}

function endedOf(period: ReportPeriod, nowSeconds: number): ReportWindow[] {
  const ended: ReportWindow[] = [];
  // The current period has not ended, even in its last second.
  let endSeconds = periodAround(period, nowSeconds).startSeconds;
  while (ended.length < MAX_PERIODS_BACK[period]) {
    const window = periodAround(period, endSeconds - 1);
    ended.push(window);
    endSeconds = window.startSeconds;
  }
  return ended;
}

function monthOf(date: Date): ReportWindow {
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return {
    period: 'month',
    startSeconds: Date.UTC(year, month, 1) / 1000,
    endSeconds: Date.UTC(year, month + 1, 1) / 1000,
  };
}
