import { Cron } from 'croner';
import { forgetOldest } from '../../core/bounded-map.ts';
import { deadlineAfter } from '../../core/heartbeats/deadlines.ts';
import {
  MAX_EARLY_SECONDS,
  defaultEarlySeconds,
  type ReadSchedule,
  type RunSchedule,
  type ScheduleInput,
} from '../../core/heartbeats/schedule.ts';
import { readTimeZone } from '../../core/time-zones.ts';
import { DAY_MS } from '../../core/time.ts';
import { cronDays, readCron, yearsOf } from '../cron.ts';
import type { Run } from '../sql.ts';

/** Maximum length of a cron expression, in characters. */
const LONGEST_CRON = 200;

/** Time within which a schedule must have a run. */
const SEARCHED_MS = 3653 * DAY_MS;

/** Longest search for a run: two 29 February on the same day of the week are up to 40 years apart. */
const LONGEST_SEARCH_MS = 41 * 366 * DAY_MS;

/** Number of days with runs from which the times between runs are computed: more than a year of Mondays. */
const MEASURED_DAYS = 60;

/**
 * Reads a schedule (D-554, D-555): five cron fields, an IANA time zone (default UTC), and how early a ping may arrive.
 * Errors name the field by its last part; expressions without a run in ten years are refused.
 */
export function readSchedule(input: ScheduleInput, nowMs: number): ReadSchedule {
  const { cron, timezone = 'UTC' } = input;
  if (cron.length > LONGEST_CRON)
    return { ok: false, field: 'cron', message: `cron must be at most ${LONGEST_CRON} characters long` };
  const read = readCron(cron);
  if (!read.ok) return { ok: false, field: 'cron', message: read.message };
  const zone = readTimeZone(timezone);
  if (zone === null || zone === 'browser')
    return {
      ok: false,
      field: 'timezone',
      message: `timezone must be a zone of the IANA time zone database, such as Europe/Berlin, got "${timezone}"`,
    };
  const days = [...firstDays(read.fields, nowMs)];
  if (days.length === 0)
    return {
      ok: false,
      field: 'cron',
      message: 'cron has no runs in the next ten years: check its day of the month and its month',
    };
  const gaps = gapsOf(days, read.times);
  const shortestSeconds = Math.min(...gaps) / 1000;
  const earlySeconds = input.early_seconds ?? defaultEarlySeconds(shortestSeconds);
  const mostEarly = Math.min(MAX_EARLY_SECONDS, shortestSeconds - 1);
  if (earlySeconds > mostEarly)
    return {
      ok: false,
      field: 'early_seconds',
      message: `early_seconds must be at most ${mostEarly}, less than the time between two runs, got ${earlySeconds}`,
    };
  return {
    ok: true,
    schedule: { cron: cron.trim().replaceAll(/\s+/g, ' '), timezone: zone, early_seconds: earlySeconds },
    shortestSeconds,
    longestSeconds: Math.max(...gaps) / 1000,
  };
}

function* firstDays(fields: readonly string[], nowMs: number): Generator<number, void> {
  let found = 0;
  for (const day of cronDays(fields, { fromMs: nowMs - DAY_MS, toMs: nowMs + SEARCHED_MS })) {
    yield day;
    found += 1;
    if (found === MEASURED_DAYS) return;
  }
}

/**
 * Returns the times between runs by the local clock, in milliseconds. A schedule with a single run in ten years has
 * those ten years.
 */
function gapsOf(days: readonly number[], times: readonly number[]): number[] {
  const [first = 0] = times;
  const last = times.at(-1) ?? first;
  const within = times.slice(1).map((time, index) => time - (times[index] ?? first));
  const between = days.slice(1).map((day, index) => day + first - ((days[index] ?? day) + last));
  const gaps = [...within, ...between];
  return gaps.length === 0 ? [SEARCHED_MS] : gaps;
}

/** The last results of searches by expression and zone: `runMs` is the first run after any moment from `afterMs` on. */
const RUNS = new Map<string, { afterMs: number; runMs: number }>();

/** Maximum number of cached results. */
const MAX_RUNS = 20_000;

/** Searches by expression and zone: starting one takes five times as long as continuing it. */
const SEARCHES = new Map<string, { cron: Cron; afterMs: number }>();

/** Maximum number of cached searches: each takes 60 to 80 kB, most of it for the years. */
const MAX_SEARCHES = 500;

/**
 * Returns the runs of a schedule that `readSchedule` accepted. Clock changes are treated as by Vixie cron (D-554):
 * fixed times that are skipped run after the change, and run once if they occur twice. Fields with `*` or a step do not
 * run if skipped, and run twice if they occur twice. A zone that is no longer known has no runs.
 */
export function runScheduleOf(cron: string, timezone: string, earlySeconds: number): RunSchedule {
  return { cron, timezone, earlySeconds, runAfter: (unixMs) => findRun(cron, timezone, unixMs) };
}

function findRun(cron: string, timezone: string, unixMs: number): number | null {
  const key = `${timezone} ${cron}`;
  const known = RUNS.get(key);
  if (known !== undefined && unixMs >= known.afterMs && unixMs < known.runMs) return known.runMs;
  try {
    const kept = SEARCHES.get(key);
    // A cached search ends with its last year; one that begins later goes further.
    const search = kept !== undefined && unixMs >= kept.afterMs ? goOn(kept.cron, unixMs) : null;
    const { cron: runs, runMs } = search ?? beginSearch(cron, timezone, unixMs);
    SEARCHES.delete(key);
    SEARCHES.set(key, { cron: runs, afterMs: unixMs });
    forgetOldest(SEARCHES, MAX_SEARCHES);
    RUNS.delete(key);
    if (runMs !== null) RUNS.set(key, { afterMs: unixMs, runMs });
    forgetOldest(RUNS, MAX_RUNS);
    return runMs;
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return null;
    throw error;
  }
}

type Found = { cron: Cron; runMs: number | null };

function goOn(cron: Cron, unixMs: number): Found | null {
  const runMs = cron.nextRun(new Date(unixMs))?.getTime();
  return runMs === undefined ? null : { cron, runMs };
}

function beginSearch(text: string, timezone: string, fromMs: number): Found {
  const read = readCron(text);
  if (!read.ok) throw new RangeError(read.message);
  const cron = new Cron(`0 ${read.fields.join(' ')} ${yearsOf(fromMs, fromMs + LONGEST_SEARCH_MS)}`, {
    timezone,
    mode: '7-part',
    fixedTimeRule: 'no-wildcard',
    paused: true,
  });
  return { cron, runMs: cron.nextRun(new Date(fromMs))?.getTime() ?? null };
}

/** The columns of a schedule; all three are null without one. */
export type ScheduleColumns = { cron: string | null; timezone: string | null; earlySeconds: number | null };

/** Returns the schedule in a row of `heartbeats`; null if it has none. */
export function scheduleOf({ cron, timezone, earlySeconds }: ScheduleColumns): RunSchedule | null {
  return cron === null ? null : runScheduleOf(cron, timezone ?? 'UTC', earlySeconds ?? 0);
}

/** A heartbeat that waits for a run of its schedule. */
export type ScheduledRow = ScheduleColumns & {
  monitorNo: number;
  intervalSeconds: number;
  graceSeconds: number;
  dueAtMs: number;
};

/** The columns of `heartbeats` for a `ScheduledRow`. */
export const SCHEDULED_COLUMNS = `monitor_no AS "monitorNo", cron, time_zone AS "timezone",
  early_seconds AS "earlySeconds", interval_seconds AS "intervalSeconds", grace_seconds AS "graceSeconds",
  due_at AS "dueAtMs"`;

/**
 * Number of heartbeats whose runs are computed and moved at a time, so that neither the process nor pings wait for
 * long.
 */
export const SCHEDULED_CHUNK = 500;

/**
 * Moves deadlines of schedules, and returns their number. `toMs` chooses from the current deadline and the one that a
 * ping at `nowMs` would set, both in Unix milliseconds. Rows are locked by number; a deadline that has changed
 * meanwhile is kept.
 */
export async function moveDeadlines(
  run: Run,
  rows: readonly ScheduledRow[],
  { nowMs, toMs }: { nowMs: number; toMs: (isMs: number, wouldBeMs: number) => number },
): Promise<number> {
  const moved = rows
    .map((row) => {
      const settings = { ...row, schedule: scheduleOf(row), maxDurationSeconds: null, failEnabled: true };
      return { ...row, nextMs: toMs(row.dueAtMs, deadlineAfter(settings, nowMs)) };
    })
    .filter(({ dueAtMs, nextMs }) => nextMs !== dueAtMs);
  if (moved.length === 0) return 0;
  const [counted] = await run<{ moved: number }>(
    `WITH locked AS (
       SELECT h.monitor_no, k.next_at FROM heartbeats h
       JOIN unnest($1::int[], $2::bigint[], $3::bigint[]) AS k (monitor_no, due_at, next_at)
         ON k.monitor_no = h.monitor_no AND k.due_at = h.due_at
       ORDER BY h.monitor_no FOR NO KEY UPDATE OF h
     ), changed AS (
       UPDATE heartbeats h SET due_at = l.next_at FROM locked l WHERE h.monitor_no = l.monitor_no RETURNING 1
     )
     SELECT count(*) AS moved FROM changed`,
    [moved.map(({ monitorNo }) => monitorNo), moved.map(({ dueAtMs }) => dueAtMs), moved.map(({ nextMs }) => nextMs)],
  );
  return counted?.moved ?? 0;
}
