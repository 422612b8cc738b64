import { signal } from '@preact/signals';

/** The current Unix second, updated every ten seconds; all relative times follow it. */
export const clock = signal(Math.floor(Date.now() / 1000));
setInterval(() => {
  clock.value = Math.floor(Date.now() / 1000);
}, 10_000);

/** The current Unix second, for what shows seconds; only what is young follows it. */
const secondClock = signal(Math.floor(Date.now() / 1000));
setInterval(() => {
  secondClock.value = Math.floor(Date.now() / 1000);
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

/** Formats a relative time: `just now`, `4 min ago`, `in a few seconds`, `in 4 min`. */
export function formatAgo(at: number, now: number): string {
  const seconds = now - at;
  if (Math.abs(seconds) < 10) return seconds < 0 ? 'in a few seconds' : 'just now';
  return seconds < 0 ? `in ${formatDuration(-seconds)}` : `${formatDuration(seconds)} ago`;
}

const DATE_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const SHORT = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** Formats Unix seconds in the user's time zone, in full. */
export function formatDateTime(at: number): string {
  return DATE_TIME.format(at * 1000);
}

/** Formats Unix seconds without year and seconds, for lists. */
export function formatShort(at: number): string {
  return SHORT.format(at * 1000);
}

/** Formats the time of day of Unix milliseconds: `14:03:22`. */
export function formatTime(atMs: number): string {
  return TIME.format(atMs);
}

/** Formats a UTC day, as reports count days. */
export function formatDay(at: number): string {
  return DAY.format(at * 1000);
}

/** A relative time, with the exact time as its tooltip. With `exact` it is the other way round. */
export function Moment({ at, exact = false }: { at: number; exact?: boolean }) {
  const ago = formatAgo(at, clock.value);
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={exact ? ago : formatDateTime(at)}>
      {exact ? formatShort(at) : ago}
    </time>
  );
}

/** The duration since a moment (Unix seconds); it ticks each second below a minute. */
export function Since({ at }: { at: number }) {
  const now = clock.value - at < 60 ? secondClock.value : clock.value;
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={`since ${formatDateTime(at)}`}>
      {formatDuration(now - at)}
    </time>
  );
}

/** Formats milliseconds: `87 ms`, `1.2 s`. */
export function formatLatency(ms: number): string {
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}
