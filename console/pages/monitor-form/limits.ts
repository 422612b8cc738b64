import { MOST_HOURS_LENGTH } from '../../../core/statistics/service-hours.ts';
import { DAY_SECONDS } from '../../../core/time.ts';

/** The smallest and the largest number that a field takes. */
export type Limits = { min: number; max: number };

const MONTH_SECONDS = 30 * DAY_SECONDS;

/** What the API takes of each number, by its field there; a test holds it against the description. */
export const LIMITS = {
  interval_seconds: { min: 1, max: DAY_SECONDS },
  timeout_ms: { min: 1, max: 10_000 },
  grace_seconds: { min: 0, max: MONTH_SECONDS },
  reopen_seconds: { min: 0, max: DAY_SECONDS },
  warn_days: { min: 0, max: 2_147_483_647 },
  'check_spec.ping.count': { min: 1, max: 10 },
  'check_spec.ping.lossDegradedPct': { min: 0, max: 100 },
  'check_spec.ping.rttDegradedMs': { min: 1, max: 10_000 },
  'check_spec.heartbeat.maxDurationSeconds': { min: 1, max: MONTH_SECONDS },
  'check_spec.heartbeat.schedule.early_seconds': { min: 0, max: DAY_SECONDS },
} as const satisfies Record<string, Limits>;

/** The longest texts that the API takes, in characters, by their field there. */
export const MOST_CHARACTERS = {
  target: 2048,
  expected_status: 128,
  body_match: 1024,
  hours: MOST_HOURS_LENGTH,
} as const;

/** The units of durations, the largest first; `value` is their length in seconds. */
export const UNITS = [
  { value: '86400', label: 'days', one: 'day' },
  { value: '3600', label: 'hours', one: 'hour' },
  { value: '60', label: 'minutes', one: 'minute' },
  { value: '1', label: 'seconds', one: 'second' },
] as const;

type Unit = (typeof UNITS)[number];

const SECONDS: Unit = UNITS[3];

/** The largest unit that divides the seconds without a rest. */
export function unitOf(seconds: number): Unit {
  return UNITS.find(({ value }) => seconds % Number(value) === 0) ?? SECONDS;
}

/** Says what is wrong with a text for its length. */
export function judgeLength(text: string, most: number): string | undefined {
  return text.length > most ? `At most ${most} characters` : undefined;
}

/** Says what is wrong with a whole number; an empty one is the default. */
export function judgeNumber(text: string, { min, max }: Limits): string | undefined {
  if (text.trim() === '') return undefined;
  const number = Number(text);
  if (!Number.isFinite(number)) return 'Enter a number';
  if (number < min) return `At least ${min}`;
  if (number > max) return `At most ${max}`;
  return Number.isInteger(number) ? undefined : 'Enter a whole number';
}

/** Says what is wrong with whole seconds, in the unit in which they were typed; empty ones are the default. */
export function judgeDuration(text: string, { min, max }: Limits): string | undefined {
  if (text.trim() === '') return undefined;
  const seconds = Number(text);
  if (!Number.isFinite(seconds)) return 'Enter a number';
  if (seconds < min) return `At least ${formatIn(min, SECONDS)}`;
  if (seconds > max) return `At most ${formatLimit(max, seconds)}`;
  return Number.isInteger(seconds) ? undefined : 'Enter whole seconds';
}

/** Formats the interval that a plan allows: `30 seconds to 24 hours`. */
export function formatIntervals(minInterval: number): string {
  return `${formatIn(minInterval, SECONDS)} to ${formatLimit(LIMITS.interval_seconds.max, 3600)}`;
}

/** Formats a duration in the largest unit that divides it: `5 minutes`. */
export function formatWhole(seconds: number): string {
  return formatIn(seconds, unitOf(seconds));
}

/** Formats a limit in the unit that people use, and in the unit that was typed: `24 hours (1440 minutes)`. */
function formatLimit(limit: number, typed: number): string {
  const spoken = UNITS.find(({ value }) => limit % Number(value) === 0 && limit > Number(value)) ?? SECONDS;
  const own = unitOf(typed);
  return own === spoken ? formatIn(limit, spoken) : `${formatIn(limit, spoken)} (${formatIn(limit, own)})`;
}

function formatIn(seconds: number, { value, label, one }: Unit): string {
  const amount = seconds / Number(value);
  return `${amount} ${amount === 1 ? one : label}`;
}
