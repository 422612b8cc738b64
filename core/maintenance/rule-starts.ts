import { DAY_MS, HOUR_MS } from '../time.ts';
import type { Frequency, RecurrenceRule, RuleWeekday } from './rrule.ts';

/**
 * A day with the numbers that parts of a rule match; `number` counts days from 1970-01-01, days of the week from Monday
 * = 0.
 */
type Day = {
  number: number;
  year: number;
  month: number;
  monthDay: number;
  daysOfMonth: number;
  yearDay: number;
  daysOfYear: number;
  weekday: number;
};

/** The unit that repeats with each `interval`: the days of a period, with its times of day in milliseconds. */
type Period = { firstDay: number; days: number; times: readonly number[] };

/** The listed span of a rule that begins at `startMs`. */
type LocalSpan = { startMs: number; fromMs: number; toMs: number; alsoBefore: boolean };

/**
 * Lists the local times at which a rule takes place, in order from `fromMs` to before `toMs`, none before the start.
 * All are Unix milliseconds of the same date and time in UTC; parts missing from the rule come from the start, which
 * counts only if it matches the rule itself. `until` of a moment is left to the caller. `alsoBefore`: as if the rule
 * had always existed, and without its end by COUNT.
 *
 * A period costs a comparison for each of its days: ten years of any rule take some milliseconds.
 */
export function* listRuleStarts(
  rule: RecurrenceRule,
  { startMs, fromMs, toMs, alsoBefore }: LocalSpan,
): Generator<number, void> {
  const count = alsoBefore ? null : rule.count;
  const earliestMs = alsoBefore ? fromMs : Math.max(startMs, fromMs);
  const full = complete(rule, startMs);
  const untilMs = rule.until === null || rule.until.isMoment ? Infinity : rule.until.ms;
  const first = periodNumber(rule, startMs);
  // Rules with COUNT are counted from the start; all others begin at the requested time.
  const skipped = count === null ? Math.floor((periodNumber(rule, earliestMs) - first) / rule.interval) : 0;
  const days = dayReader();
  let found = 0;
  for (let no = first + skipped * rule.interval; ; no += rule.interval) {
    const period = periodOf(full, no);
    if (period.firstDay * DAY_MS >= Math.min(toMs, untilMs + 1)) return;
    if (period.times.length === 0) continue;
    if (rule.frequency === 'HOURLY' && !isDay(full, days(period.firstDay))) {
      // None of this day's remaining hours matches.
      no += Math.floor((period.firstDay * 24 + 23 - no) / rule.interval) * rule.interval;
      continue;
    }
    for (const localMs of startsOf(full, period, days)) {
      if (localMs < startMs && !alsoBefore) continue;
      if (localMs >= toMs || localMs > untilMs || found === count) return;
      found += 1;
      if (localMs >= fromMs) yield localMs;
    }
  }
}

/** Returns the rule with the parts that come from its start. */
function complete(rule: RecurrenceRule, startMs: number): RecurrenceRule {
  const start = new Date(startMs);
  const { frequency, weekdays, months, weeks, yearDays, monthDays } = rule;
  const hasDays = weekdays !== null || monthDays !== null || yearDays !== null;
  const times = {
    hours: rule.hours ?? (frequency === 'HOURLY' ? null : [start.getUTCHours()]),
    minutes: rule.minutes ?? [start.getUTCMinutes()],
    seconds: rule.seconds ?? [start.getUTCSeconds()],
  };
  if (hasDays || frequency === 'DAILY' || frequency === 'HOURLY') return { ...rule, ...times };
  if (frequency === 'WEEKLY' || weeks !== null)
    return { ...rule, ...times, weekdays: [{ weekday: weekdayOf(Math.floor(startMs / DAY_MS)), nth: null }] };
  return {
    ...rule,
    ...times,
    months: months ?? (frequency === 'YEARLY' ? [start.getUTCMonth() + 1] : null),
    monthDays: [start.getUTCDate()],
  };
}

/** Returns the number of a period, counted from 1970. Years of a rule with week numbers consist of whole weeks. */
function periodNumber({ frequency, weekStart, weeks }: RecurrenceRule, localMs: number): number {
  const date = new Date(localMs);
  const day = Math.floor(localMs / DAY_MS);
  if (weeks !== null) return weekOf(dayOf(day), weekStart).year;
  const numbers: Record<Frequency, number> = {
    YEARLY: date.getUTCFullYear(),
    MONTHLY: date.getUTCFullYear() * 12 + date.getUTCMonth(),
    WEEKLY: Math.floor((day + weekdayOf(0) - weekStart) / 7),
    DAILY: day,
    HOURLY: Math.floor(localMs / HOUR_MS),
  };
  return numbers[frequency];
}

function periodOf(rule: RecurrenceRule, no: number): Period {
  const { frequency, weekStart, weeks, hours, minutes, seconds } = rule;
  const times = (ofHours: readonly number[]) => timesOf(ofHours, minutes ?? [], seconds ?? []);
  if (frequency === 'HOURLY') {
    const hour = ((no % 24) + 24) % 24;
    return { firstDay: Math.floor(no / 24), days: 1, times: hours?.includes(hour) === false ? [] : times([hour]) };
  }
  if (frequency === 'DAILY') return { firstDay: no, days: 1, times: times(hours ?? []) };
  if (frequency === 'WEEKLY')
    return { firstDay: no * 7 - weekdayOf(0) + weekStart, days: 7, times: times(hours ?? []) };
  const months = frequency === 'YEARLY' ? 12 : 1;
  const firstOf = (each: number) => (weeks === null ? firstDayOf(0, each * months) : firstWeekOf(each, weekStart));
  return { firstDay: firstOf(no), days: firstOf(no + 1) - firstOf(no), times: times(hours ?? []) };
}

function timesOf(hours: readonly number[], minutes: readonly number[], seconds: readonly number[]): number[] {
  return hours.flatMap((hour) =>
    minutes.flatMap((minute) => seconds.map((second) => ((hour * 60 + minute) * 60 + second) * 1000)),
  );
}

/** Lists all starts of a period, in order. */
function* startsOf(rule: RecurrenceRule, period: Period, dayAt: (number: number) => Day): Generator<number, void> {
  const { firstDay, days, times } = period;
  if (times.length === 0) return;
  const matching = Array.from({ length: days }, (_, index) => firstDay + index).filter((no) => isDay(rule, dayAt(no)));
  const all = matching.length * times.length;
  const chosen = rule.positions?.map((position) => (position > 0 ? position - 1 : all + position));
  for (const index of chosen === undefined ? Array(all).keys() : [...new Set(chosen)].toSorted((a, b) => a - b)) {
    const day = matching[Math.floor(index / times.length)];
    const time = times[index % times.length];
    if (day !== undefined && time !== undefined) yield day * DAY_MS + time;
  }
}

/** Reports whether all parts of a rule that limit days match this one. */
function isDay({ months, weeks, yearDays, monthDays, weekdays, ...rule }: RecurrenceRule, day: Day): boolean {
  if (months?.includes(day.month) === false) return false;
  if (monthDays !== null && !isListed(monthDays, day.monthDay, day.daysOfMonth)) return false;
  if (yearDays !== null && !isListed(yearDays, day.yearDay, day.daysOfYear)) return false;
  const isOfYear = rule.frequency === 'YEARLY' && months === null;
  if (weekdays?.some((weekday) => isWeekday(weekday, day, isOfYear)) === false) return false;
  if (weeks === null) return true;
  const { week, weeksOfYear } = weekOf(day, rule.weekStart);
  return isListed(weeks, week, weeksOfYear);
}

function isListed(list: readonly number[], number: number, all: number): boolean {
  return list.includes(number) || list.includes(number - all - 1);
}

function isWeekday({ weekday, nth }: RuleWeekday, day: Day, isOfYear: boolean): boolean {
  if (weekday !== day.weekday) return false;
  if (nth === null) return true;
  const [number, all] = isOfYear ? [day.yearDay, day.daysOfYear] : [day.monthDay, day.daysOfMonth];
  return Math.ceil((nth > 0 ? number : all + 1 - number) / 7) === Math.abs(nth);
}

/** Returns the week of a day, the year it belongs to, and that year's number of weeks. */
function weekOf(day: Day, weekStart: number): { week: number; year: number; weeksOfYear: number } {
  const isReached = (year: number) => firstWeekOf(year, weekStart) <= day.number;
  const year = [day.year + 1, day.year].find(isReached) ?? day.year - 1;
  const [first, next] = [firstWeekOf(year, weekStart), firstWeekOf(year + 1, weekStart)];
  return { week: Math.floor((day.number - first) / 7) + 1, year, weeksOfYear: (next - first) / 7 };
}

/** Returns the first day of the first week of a year, which has at least four days in it. */
function firstWeekOf(year: number, weekStart: number): number {
  const fourth = firstDayOf(year, 0) + 3;
  return fourth - ((weekdayOf(fourth) - weekStart + 7) % 7);
}

/** Returns a function that reads days and caches the last one: 24 hours share a day. */
function dayReader(): (number: number) => Day {
  let last: Day | null = null;
  return (number) => (last = last?.number === number ? last : dayOf(number));
}

function dayOf(number: number): Day {
  const date = new Date(number * DAY_MS);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const [firstOfYear, firstOfMonth] = [firstDayOf(year, 0), firstDayOf(year, month)];
  return {
    number,
    year,
    month: month + 1,
    monthDay: date.getUTCDate(),
    daysOfMonth: firstDayOf(year, month + 1) - firstOfMonth,
    yearDay: number - firstOfYear + 1,
    daysOfYear: firstDayOf(year + 1, 0) - firstOfYear,
    weekday: weekdayOf(number),
  };
}

/** 1970-01-01 was a Thursday. */
function weekdayOf(day: number): number {
  return (((day + 3) % 7) + 7) % 7;
}

/** Returns the first day of a month; month numbers may exceed the year. */
function firstDayOf(year: number, month: number): number {
  return Date.UTC(year + Math.floor(month / 12), ((month % 12) + 12) % 12, 1) / DAY_MS;
}
