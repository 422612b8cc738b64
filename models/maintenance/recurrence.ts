import { LONGEST_RULE, MAX_STARTS_A_DAY, readRule, type RecurrenceRule } from '../../core/maintenance/rrule.ts';
import { listRuleStarts } from '../../core/maintenance/rule-starts.ts';
import { momentReader, readTimeZone, toLocalTime } from '../../core/time-zones.ts';
import { DAY_MS, MINUTE_MS } from '../../core/time.ts';
import { cronDays, readCron } from '../cron.ts';

/**
 * Schedule of a window: once, or by a cron expression or an RRULE (RFC 5545) in the local time of its zone.
 * `localStart` is the start in local time, if it was given so: a clock change may have skipped it.
 */
export type Schedule = {
  startsAtMs: number;
  timezone: string;
  cron: string | null;
  rrule: string | null;
  localStart?: string | null;
};

/** A start: `localStart` is the planned local time, `2026-11-30T02:00:00`, which identifies the occurrence. */
type PlannedStart = { localStart: string; startsAtMs: number };

/** A problem of a schedule: the field, and a message with a remedy. */
type Flaw = { field: 'cron' | 'rrule' | 'timezone'; message: string };

/** Maximum age of a start that a rule still uses, in milliseconds: requests take a while. */
export const JUST_NOW_MS = MINUTE_MS;

/** Time within which a rule must take place. */
const SEARCHED_MS = 3653 * DAY_MS;

/** Local time and UTC differ by at most a day, and clock changes skip or repeat no more than one. */
const MARGIN_MS = 2 * DAY_MS;

/** Checks whether a window can take place as planned; returns null, or the field that prevents it and the reason. */
export function checkRecurrence(schedule: Schedule, nowMs: number): Flaw | null {
  const { timezone, cron, rrule } = schedule;
  const zone = readTimeZone(timezone);
  if (zone === null || zone === 'browser')
    return {
      field: 'timezone',
      message: `timezone must be a zone of the IANA time zone database, such as Europe/Berlin, got "${timezone}"`,
    };
  if (cron === null && rrule === null) return null;
  if (cron !== null && rrule !== null)
    return { field: 'rrule', message: 'rrule and cron must not be given together: leave one of them out' };
  const message = cron !== null ? flawOfCron(cron) : flawOfRule(rrule ?? '');
  const field = cron !== null ? 'cron' : 'rrule';
  if (message !== null) return { field, message };
  const fromMs = Math.max(nowMs - JUST_NOW_MS, schedule.startsAtMs);
  const [next] = listStarts(schedule, { fromMs, toMs: fromMs + SEARCHED_MS, most: 1 });
  if (next !== undefined) return null;
  return { field, message: `${field} has no occurrences in the next ten years: check its dates and where it ends` };
}

/** Returns the problem of a rule's text; null if there is none. */
function flawOfRule(text: string): string | null {
  const read = readRule(text);
  return read.ok ? null : read.message;
}

/** Returns the problem of a cron expression; null if there is none. */
function flawOfCron(text: string): string | null {
  if (text.length > LONGEST_RULE) return `cron must be at most ${LONGEST_RULE} characters long`;
  const read = readCron(text);
  if (!read.ok) return read.message;
  const { length } = read.times;
  return length > MAX_STARTS_A_DAY ? `cron must have at most ${MAX_STARTS_A_DAY} starts on a day, got ${length}` : null;
}

/**
 * Lists the starts in `[fromMs, toMs)` in order without duplicates, at most `most`, and none before the schedule's
 * start. Cron expressions and rules are evaluated on local time as if it were UTC, then each local time is converted
 * (D-490): one that is skipped becomes the end of the gap, and of two possible times the first is used. `alsoBefore`
 * includes times before the start. The schedule must be accepted by `checkRecurrence`.
 */
export function listStarts(
  schedule: Schedule,
  { fromMs, toMs, most, alsoBefore = false }: { fromMs: number; toMs: number; most: number; alsoBefore?: boolean },
): PlannedStart[] {
  const { startsAtMs, timezone, localStart = null } = schedule;
  const startMs =
    localStart === null ? toLocalTime(startsAtMs, timezone) : Date.parse(`${localStart.padEnd(19, ':00')}Z`);
  const momentOf = momentReader(timezone);
  const starts: PlannedStart[] = [];
  let lastMs = alsoBefore ? -Infinity : startsAtMs - 1;
  const rule = schedule.rrule === null ? null : ruleOf(schedule.rrule);
  const untilMs = rule?.until?.isMoment === true ? rule.until.ms : Infinity;
  const earliestMs = alsoBefore ? -Infinity : startMs;
  const localSpan = {
    startMs,
    fromMs: Math.max(earliestMs, fromMs - MARGIN_MS),
    toMs: toMs + MARGIN_MS,
    alsoBefore,
  };
  for (const localMs of localStarts(schedule.cron, rule, localSpan)) {
    // The start itself keeps its planned time, even if it is the second of two.
    const unixMs = localMs === startMs ? startsAtMs : momentOf(localMs);
    if (unixMs >= toMs || unixMs > untilMs || starts.length >= most) break;
    if (unixMs <= lastMs) continue;
    lastMs = unixMs;
    if (unixMs >= fromMs) starts.push({ localStart: new Date(localMs).toISOString().slice(0, 19), startsAtMs: unixMs });
  }
  return starts;
}

function ruleOf(text: string): RecurrenceRule {
  const read = readRule(text);
  if (!read.ok) throw new Error(`A rule was stored that cannot be read: ${read.message}`);
  return read.rule;
}

/** Lists the local times of a schedule in order, as Unix milliseconds of the same date and time in UTC. */
function localStarts(
  cron: string | null,
  rule: RecurrenceRule | null,
  span: { startMs: number; fromMs: number; toMs: number; alsoBefore: boolean },
): Iterable<number> {
  if (cron !== null) return cronStarts(cron, span);
  return rule === null ? [span.startMs] : listRuleStarts(rule, span);
}

function* cronStarts(text: string, { fromMs, toMs }: { fromMs: number; toMs: number }): Generator<number, void> {
  const read = readCron(text);
  if (!read.ok) throw new Error(`A cron expression was stored that cannot be read: ${read.message}`);
  for (const day of cronDays(read.fields, { fromMs: fromMs - DAY_MS, toMs }))
    for (const time of read.times) if (day + time >= fromMs) yield day + time;
}
