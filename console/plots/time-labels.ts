import { DAY_SECONDS, MINUTE_MS } from '../../core/time.ts';
import { formatLatency, formatMoment } from '../parts/time.tsx';

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

/** Whether a day begins at a moment: the one before it has another date. */
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
