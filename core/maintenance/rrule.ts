/** Frequencies of a rule; maintenance more often than hourly makes no sense. */
const FREQUENCIES = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY'] as const;
export type Frequency = (typeof FREQUENCIES)[number];

/** Days of the week from Monday on, as in RRULE; their index is that of `RecurrenceRule`. */
const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];

/** A day of the week; `nth` counts those of a month or a year, negative from the end; null = each. */
export type RuleWeekday = { weekday: number; nth: number | null };

/**
 * A parsed rule of RFC 5545 (RRULE). Lists are null if the rule has no such part; days of the week count from Monday =
 * 0. `until` is inclusive, in Unix milliseconds, of a local time or of a moment.
 */
export type RecurrenceRule = {
  frequency: Frequency;
  interval: number;
  count: number | null;
  until: { ms: number; isMoment: boolean } | null;
  weekStart: number;
  weekdays: readonly RuleWeekday[] | null;
  months: readonly number[] | null;
  weeks: readonly number[] | null;
  yearDays: readonly number[] | null;
  monthDays: readonly number[] | null;
  hours: readonly number[] | null;
  minutes: readonly number[] | null;
  seconds: readonly number[] | null;
  positions: readonly number[] | null;
};

/** Maximum length of a rule or a cron expression, in characters. */
export const LONGEST_RULE = 500;

/** Maximum number of starts of a window per day: one per hour. */
export const MAX_STARTS_A_DAY = 24;

const MAX_INTERVAL = 10_000;
const MAX_COUNT = 10_000;

/** Parts that are lists of numbers, with their minimum and maximum; `isSigned`: also counted from the end. */
const LISTS = {
  BYMONTH: { least: 1, most: 12, isSigned: false },
  BYWEEKNO: { least: 1, most: 53, isSigned: true },
  BYYEARDAY: { least: 1, most: 366, isSigned: true },
  BYMONTHDAY: { least: 1, most: 31, isSigned: true },
  BYHOUR: { least: 0, most: 23, isSigned: false },
  BYMINUTE: { least: 0, most: 59, isSigned: false },
  BYSECOND: { least: 0, most: 59, isSigned: false },
  BYSETPOS: { least: 1, most: 366, isSigned: true },
} as const;
type ListName = keyof typeof LISTS;

/** Parts that RFC 5545 defines only for some frequencies. */
const ONLY_WITH: Readonly<Record<string, readonly Frequency[]>> = {
  BYWEEKNO: ['YEARLY'],
  BYYEARDAY: ['YEARLY', 'HOURLY'],
  BYMONTHDAY: ['YEARLY', 'MONTHLY', 'DAILY', 'HOURLY'],
};

const KNOWN_PARTS = ['FREQ', 'INTERVAL', 'COUNT', 'UNTIL', 'WKST', 'BYDAY', ...Object.keys(LISTS)];

/** An invalid rule; the message explains the fault in a sentence. */
class RuleError extends Error {}

/** Parses the text of a rule, such as `FREQ=MONTHLY;BYDAY=2SU`; `message` explains the fault in a sentence. */
export function readRule(text: string): { ok: true; rule: RecurrenceRule } | { ok: false; message: string } {
  try {
    const rule = ruleOf(partsOf(text));
    refuseTooMany(rule);
    refuseNever(rule);
    return { ok: true, rule };
  } catch (error) {
    if (error instanceof RuleError) return { ok: false, message: error.message };
    throw error;
  }
}

function partsOf(text: string): Map<string, string> {
  if (text.length > LONGEST_RULE) throw new RuleError(`rrule must be at most ${LONGEST_RULE} characters long`);
  const upper = text.trim().toUpperCase();
  if (/DTSTART|TZID|EXDATE|RDATE|[\r\n]/.test(upper))
    throw new RuleError(
      'rrule must be one rule without DTSTART, TZID, RDATE and EXDATE: starts_at and timezone say when it begins, ' +
        'and single occurrences can be skipped',
    );
  const parts = new Map<string, string>();
  for (const part of upper.replace(/^RRULE:/, '').split(';')) {
    const [name = '', value, ...rest] = part.split('=');
    if (value === undefined || value === '' || rest.length > 0)
      throw new RuleError(`rrule must be parts such as FREQ=WEEKLY;BYDAY=SU, got "${part}"`);
    if (!KNOWN_PARTS.includes(name))
      throw new RuleError(`rrule must have no part ${name}; the parts are ${KNOWN_PARTS.join(', ')}`);
    if (parts.has(name)) throw new RuleError(`rrule must have ${name} once`);
    parts.set(name, value);
  }
  return parts;
}

function ruleOf(parts: ReadonlyMap<string, string>): RecurrenceRule {
  const frequency = FREQUENCIES.find((each) => each === parts.get('FREQ'));
  if (frequency === undefined) throw new RuleError(`rrule must have FREQ, one of ${FREQUENCIES.join(', ')}`);
  for (const [name, frequencies] of Object.entries(ONLY_WITH))
    if (parts.has(name) && !frequencies.includes(frequency))
      throw new RuleError(`rrule must have ${name} only with FREQ=${frequencies.join(' or ')}`);
  if (parts.has('COUNT') && parts.has('UNTIL')) throw new RuleError('rrule must have COUNT or UNTIL, not both');
  if (parts.has('BYSETPOS') && ![...parts.keys()].some((name) => name.startsWith('BY') && name !== 'BYSETPOS'))
    throw new RuleError('rrule must have BYSETPOS only with another part that begins with BY, such as BYDAY');
  return {
    frequency,
    interval: readNumber(parts, 'INTERVAL', MAX_INTERVAL) ?? 1,
    count: readNumber(parts, 'COUNT', MAX_COUNT),
    until: readUntil(parts.get('UNTIL')),
    weekStart: readWeekStart(parts.get('WKST')),
    weekdays: readWeekdays(parts, frequency),
    months: readList(parts, 'BYMONTH'),
    weeks: readList(parts, 'BYWEEKNO'),
    yearDays: readList(parts, 'BYYEARDAY'),
    monthDays: readList(parts, 'BYMONTHDAY'),
    hours: readList(parts, 'BYHOUR'),
    minutes: readList(parts, 'BYMINUTE'),
    seconds: readList(parts, 'BYSECOND'),
    positions: readList(parts, 'BYSETPOS'),
  };
}

function readNumber(parts: ReadonlyMap<string, string>, name: string, most: number): number | null {
  const value = parts.get(name);
  if (value === undefined) return null;
  const number = /^\d{1,9}$/.test(value) ? Number(value) : 0;
  if (number < 1 || number > most)
    throw new RuleError(`rrule must have ${name} as a number from 1 to ${most}, got "${value}"`);
  return number;
}

/** Returns the numbers of a list in order, each once. */
function readList(parts: ReadonlyMap<string, string>, name: ListName): number[] | null {
  const value = parts.get(name);
  if (value === undefined) return null;
  const { least, most, isSigned } = LISTS[name];
  const numbers = value.split(',').map((item) => {
    const number = (isSigned ? /^[+-]?\d{1,3}$/ : /^\d{1,3}$/).test(item) ? Number(item) : NaN;
    const size = Math.abs(number);
    if (!(size >= least && size <= most))
      throw new RuleError(
        `rrule must have ${name} as numbers from ${least} to ${most}` +
          `${isSigned ? ' or, from the end, negative' : ''}, got "${item}"`,
      );
    return number;
  });
  return [...new Set(numbers)].toSorted((a, b) => a - b);
}

function readWeekdays(parts: ReadonlyMap<string, string>, frequency: Frequency): RuleWeekday[] | null {
  const value = parts.get('BYDAY');
  if (value === undefined) return null;
  const mostNth = frequency === 'YEARLY' && !parts.has('BYMONTH') ? 53 : 5;
  const isCounted = frequency === 'MONTHLY' || (frequency === 'YEARLY' && !parts.has('BYWEEKNO'));
  return [...new Set(value.split(','))].map((item) => {
    const [, number = '', day = ''] = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(item) ?? [];
    const weekday = WEEKDAYS.indexOf(day);
    const nth = number === '' ? null : Number(number);
    if (weekday < 0 || (nth !== null && (nth === 0 || Math.abs(nth) > mostNth)))
      throw new RuleError(
        `rrule must have BYDAY as days such as MO, or 2MO and -1FR up to ${mostNth} of a month or year, got "${item}"`,
      );
    if (nth !== null && !isCounted)
      throw new RuleError(
        `rrule must have days with a number, such as ${item}, only with FREQ=MONTHLY, or with FREQ=YEARLY ` +
          'without BYWEEKNO',
      );
    return { weekday, nth };
  });
}

function readWeekStart(value = 'MO'): number {
  const weekday = WEEKDAYS.indexOf(value);
  if (weekday < 0) throw new RuleError(`rrule must have WKST as one of ${WEEKDAYS.join(', ')}, got "${value}"`);
  return weekday;
}

/** A date means that whole day. */
function readUntil(value: string | undefined): { ms: number; isMoment: boolean } | null {
  if (value === undefined) return null;
  const [, year, month, day, hour = '23', minute = '59', second = '59', zone] =
    /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?$/.exec(value) ?? [];
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  const ms = Date.parse(`${iso}Z`);
  if (!Number.isFinite(ms) || !new Date(ms).toISOString().startsWith(iso))
    throw new RuleError(
      'rrule must have UNTIL as a date that exists, such as 20271231, 20271231T220000 or 20271231T220000Z, ' +
        `got "${value}"`,
    );
  return { ms, isMoment: zone !== undefined };
}

/** Refuses positions beyond the starts of an hour; with longer periods the number of starts depends on their days. */
function refuseNever({ frequency, minutes, seconds, positions }: RecurrenceRule): void {
  const starts = (minutes?.length ?? 1) * (seconds?.length ?? 1);
  if (frequency === 'HOURLY' && positions?.every((position) => Math.abs(position) > starts) === true)
    throw new RuleError(`rrule must have BYSETPOS within the starts of an hour, which has ${starts}`);
}

function refuseTooMany(rule: RecurrenceRule): void {
  const { frequency, interval, hours, minutes, seconds } = rule;
  const unlistedHours = frequency === 'HOURLY' ? Math.ceil(24 / interval) : 1;
  const times = (hours?.length ?? unlistedHours) * (minutes?.length ?? 1) * (seconds?.length ?? 1);
  if (times > MAX_STARTS_A_DAY)
    throw new RuleError(`rrule must have at most ${MAX_STARTS_A_DAY} starts on a day, got ${times}`);
}
