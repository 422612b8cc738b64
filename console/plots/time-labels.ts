import { DAY_SECONDS, MINUTE_MS } from '../../core/time.ts';
import { formatLatency } from '../parts/time.tsx';

const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const MONTH = new Intl.DateTimeFormat(undefined, { month: 'short', year: '2-digit' });
const MOMENT = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const SECOND = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const DAY_SECOND = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const WHOLE_DAY = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});

/** Labels the ticks of a time axis (Unix seconds); a midnight shows its day. */
export function labelTicks(ticks: readonly number[]): string[] {
  const every = (ticks[1] ?? 0) - (ticks[0] ?? 0);
  if (every >= 28 * DAY_SECONDS) return ticks.map((at) => MONTH.format(at * 1000));
  if (every >= DAY_SECONDS) return ticks.map((at) => DAY.format(at * 1000));
  return ticks.map((at) => (isMidnight(at) ? DAY.format(at * 1000) : TIME.format(at * 1000)));
}

/** Labels a step of a series: its start, or its UTC day. */
export function labelStep(at: number, stepSeconds: number): string {
  return stepSeconds >= DAY_SECONDS ? WHOLE_DAY.format(at * 1000) : MOMENT.format(at * 1000);
}

/** Labels a moment to the second; today's ones without the date. */
export function labelMoment(at: number): string {
  const isToday = new Date(at * 1000).toDateString() === new Date().toDateString();
  return (isToday ? SECOND : DAY_SECOND).format(at * 1000);
}

function isMidnight(at: number): boolean {
  const date = new Date(at * 1000);
  return date.getHours() === 0 && date.getMinutes() === 0;
}

/** Formats milliseconds of any length: `87 ms`, `1.2 s`, `3 min 20 s`. */
export function formatMs(ms: number): string {
  if (ms === 0) return '< 1 ms';
  if (ms < MINUTE_MS) return formatLatency(ms);
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
}

/** The possible distances between ticks: round milliseconds, or round minutes for long durations. */
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
