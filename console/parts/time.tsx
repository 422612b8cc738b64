import { computed, effect, signal } from '@preact/signals';
import { currentTimeZone } from '../../core/time-zones.ts';
import { BROWSER_ZONE, DAY_SECONDS, MINUTE_MS } from '../../core/time.ts';
import { serviceSeconds } from '../client/answer.ts';
import { presentSession } from '../client/session-state.ts';

/** The service's current Unix second, updated every ten seconds; relative times of a minute and more follow it. */
export const clock = signal(serviceSeconds());
setInterval(() => {
  clock.value = serviceSeconds();
}, 10_000);
effect(() => {
  clock.value = serviceSeconds();
});

/** The current Unix second, for components that show seconds; only recent times follow it. */
const secondClock = signal(serviceSeconds());
setInterval(() => {
  secondClock.value = serviceSeconds();
}, 1000);

const UNITS: readonly [seconds: number, short: string, long: string][] = [
  [86_400, 'd', 'day'],
  [3600, 'h', 'hour'],
  [60, 'min', 'minute'],
  [1, 's', 'second'],
];

/** Formats a duration in its two largest units: `3 d 4 h`, `12 min`, `8 s`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const index = UNITS.findIndex(([size]) => whole >= size);
  const first = UNITS[index];
  if (first === undefined) return '0 s';
  const second = UNITS[index + 1];
  const rest = second === undefined || first[0] === 60 ? 0 : Math.floor((whole % first[0]) / second[0]);
  const lesser = rest > 0 && second !== undefined ? ` ${rest} ${second[1]}` : '';
  return `${Math.floor(whole / first[0])} ${first[1]}${lesser}`;
}

/** Formats an interval in words: `every minute`, `every 90 seconds`. */
export function formatEvery(seconds: number): string {
  const [size, , word] = UNITS.find(([unit]) => seconds >= unit && seconds % unit === 0) ?? [1, 's', 'second'];
  return seconds === size ? `every ${word}` : `every ${seconds / size} ${word}s`;
}

/** Formats a moment in the past: `just now`, `4 min ago`. A moment ahead of the page's clock is `just now`. */
export function formatAgo(at: number, now: number): string {
  const seconds = now - at;
  return seconds < 10 ? 'just now' : `${formatDuration(seconds)} ago`;
}

/** Formats a moment in the future: `in a few seconds`, `in 4 min`; once it has passed: `now`, `4 min ago`. */
function formatAhead(at: number, now: number): string {
  const seconds = at - now;
  if (seconds <= -10) return formatAgo(at, now);
  if (seconds <= 0) return 'now';
  return seconds < 10 ? 'in a few seconds' : `in ${formatDuration(seconds)}`;
}

/** Language of the page, regardless of the browser's: half-translated dates are worse than English ones. */
export const LANGUAGE = 'en-US';

const UTC = 'UTC';
const SYSTEM = new Intl.DateTimeFormat(undefined, { hour: 'numeric' }).resolvedOptions();

/** Zone in which times are shown, as the user chose it; UTC if this browser does not know it. */
export const timeZone = computed(() => {
  const chosen = presentSession()?.user.time_zone ?? BROWSER_ZONE;
  if (chosen === BROWSER_ZONE) return SYSTEM.timeZone;
  try {
    return currentTimeZone(new Intl.DateTimeFormat(LANGUAGE, { timeZone: chosen }).resolvedOptions().timeZone);
  } catch {
    return UTC;
  }
});

const hourCycle = computed(() => {
  const chosen = presentSession()?.user.clock ?? 'browser';
  if (chosen === 'browser') return SYSTEM.hourCycle === 'h12' || SYSTEM.hourCycle === 'h11' ? 'h12' : 'h23';
  return chosen === '12h' ? 'h12' : 'h23';
});

type Options = Intl.DateTimeFormatOptions;

const MONTH_DAY: Options = { month: 'short', day: 'numeric' };
const DATE: Options = { ...MONTH_DAY, year: 'numeric' };
const MINUTES: Options = { hour: 'numeric', minute: '2-digit' };
const SECONDS: Options = { ...MINUTES, second: '2-digit' };

/** One format for each kind of moment. */
const FORMATS = {
  full: { ...DATE, ...SECONDS, timeZoneName: 'short' },
  short: { ...MONTH_DAY, ...MINUTES },
  shortOfYear: { ...DATE, ...MINUTES },
  exact: { ...MONTH_DAY, ...SECONDS },
  exactOfYear: { ...DATE, ...SECONDS },
  seconds: SECONDS,
  minutes: MINUTES,
  step: { weekday: 'short', ...MONTH_DAY, ...MINUTES },
  day: DATE,
  weekday: { weekday: 'short', ...DATE },
  longDay: { weekday: 'long', month: 'long', day: 'numeric', year: 'numeric' },
  monthDay: MONTH_DAY,
  month: { month: 'short', year: 'numeric' },
  longMonth: { month: 'long', year: 'numeric' },
  year: { year: 'numeric' },
} as const satisfies Record<string, Options>;

/** The kinds of moments. */
type MomentFormat = keyof typeof FORMATS;

/** Formatters are expensive to make and few. */
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Returns the formatter of a kind of moment, in a zone and by the user's clock. */
export function formatterOf(format: MomentFormat, zone: string = timeZone.value): Intl.DateTimeFormat {
  const cycle = hourCycle.value;
  const key = `${format} ${zone} ${cycle}`;
  const known = formatters.get(key);
  if (known !== undefined) return known;
  const options: Options = FORMATS[format];
  // With 24 hours the hour always has two digits: 09:05, but 9:05 AM.
  const hours: Options =
    options.hour === undefined ? {} : { hour: cycle === 'h23' ? '2-digit' : 'numeric', hourCycle: cycle };
  const made = new Intl.DateTimeFormat(LANGUAGE, { ...options, ...hours, timeZone: zone });
  formatters.set(key, made);
  return made;
}

/** Formats Unix seconds in one of the formats. */
export function formatMoment(format: MomentFormat, at: number, zone?: string): string {
  return formatterOf(format, zone).format(at * 1000);
}

/** Formats Unix seconds in full, with the zone. */
export function formatDateTime(at: number, zone?: string): string {
  return formatMoment('full', at, zone);
}

/** Formats Unix seconds without seconds, for lists; the year is left out in the current one. */
export function formatShort(at: number, zone?: string): string {
  return formatMoment(isThisYear(at, zone) ? 'short' : 'shortOfYear', at, zone);
}

/** Formats the end of something in progress: the time alone if it is today. */
export function formatUntil(at: number): string {
  const isToday = formatMoment('day', at) === formatMoment('day', clock.value);
  return isToday ? formatMoment('minutes', at) : formatShort(at);
}

/** Formats Unix seconds to the second, for timelines and checks. */
export function formatExact(at: number): string {
  return formatMoment(isThisYear(at) ? 'exact' : 'exactOfYear', at);
}

/** Formats the time of day of Unix milliseconds: `14:03:22`. */
export function formatTime(atMs: number): string {
  return formatMoment('seconds', atMs / 1000);
}

/** Formats a UTC day, as reports count days. */
export function formatDay(at: number): string {
  return formatMoment('day', at, UTC);
}

function isThisYear(at: number, zone?: string): boolean {
  return formatMoment('year', at, zone) === formatMoment('year', clock.value, zone);
}

/** Names the zone of the times beside it. */
export function TimesIn({ zone = timeZone.value }: { zone?: string }) {
  return <>Times in {currentTimeZone(zone).replaceAll('_', ' ')}</>;
}

/** Returns the present for a relative time: to the second within a minute of the moment. */
function nowNear(at: number): number {
  return Math.abs(clock.value - at) < 60 ? secondClock.value : clock.value;
}

/** The time since something happened, with the exact time as its tooltip. */
export function Moment({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={formatDateTime(at)}>
      {formatAgo(at, nowNear(at))}
    </time>
  );
}

/** The time until something is due or expires, with the exact time as its tooltip. */
export function Deadline({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={formatDateTime(at)}>
      {formatAhead(at, nowNear(at))}
    </time>
  );
}

/** The duration since a moment (Unix seconds); it ticks each second below a minute. */
export function Since({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={`since ${formatDateTime(at)}`}>
      {formatDuration(nowNear(at) - at)}
    </time>
  );
}

/** Formats milliseconds: `87 ms`, `1.2 s`. */
export function formatLatency(ms: number): string {
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** Labels the ticks of a time axis (Unix seconds); a midnight shows its day. */
export function labelTicks(ticks: readonly number[]): string[] {
  const every = (ticks[1] ?? 0) - (ticks[0] ?? 0);
  if (every >= 28 * DAY_SECONDS) return ticks.map((at) => formatMoment('month', at));
  if (every >= DAY_SECONDS) return ticks.map((at) => formatMoment('monthDay', at));
  return ticks.map((at) => formatMoment(isMidnight(at) ? 'monthDay' : 'minutes', at));
}

/** Labels a step of a series: its start, or its UTC day. */
export function labelStep(at: number, stepSeconds: number): string {
  return stepSeconds >= DAY_SECONDS ? `${formatMoment('weekday', at, 'UTC')} UTC` : formatMoment('step', at);
}

/** Reports whether a day begins at a moment: the previous second has another date. */
function isMidnight(at: number): boolean {
  return formatMoment('monthDay', at) !== formatMoment('monthDay', at - 1);
}

/** Formats milliseconds of any length: `87 ms`, `1.2 s`, `3 min 20 s`. */
export function formatMs(ms: number): string {
  if (ms === 0) return '< 1 ms';
  if (ms < MINUTE_MS) return formatLatency(ms);
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
}

/** Returns the possible distances between ticks: round milliseconds, or round minutes for long durations. */
export function tickSteps(highestMs: number): number[] {
  if (highestMs > 2 * MINUTE_MS)
    return [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 10_080].map((minutes) => minutes * MINUTE_MS);
  return [0.1, 1, 10, 100, 1000, 10_000].flatMap((power) => [power, 2 * power, 5 * power]);
}

/** Formats the label of a tick, as short as possible. */
export function formatTick(ms: number): string {
  if (ms === 0) return '0';
  if (ms < 1000) return `${Number(ms.toPrecision(4))} ms`;
  return ms < MINUTE_MS ? `${Number((ms / 1000).toPrecision(3))} s` : `${Number((ms / MINUTE_MS).toPrecision(3))} min`;
}
