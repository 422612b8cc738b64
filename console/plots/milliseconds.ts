import { MINUTE_MS } from '../../core/time.ts';
import { formatLatency } from '../parts/time.tsx';

/** A measured time: of answers in milliseconds and seconds, of jobs in minutes and seconds. */
export function formatMs(ms: number): string {
  if (ms === 0) return '< 1 ms';
  if (ms < MINUTE_MS) return formatLatency(ms);
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
}

/** How far ticks of an axis may be apart: round milliseconds, and where there are minutes round minutes. */
export function tickSteps(highestMs: number): number[] {
  if (highestMs > 2 * MINUTE_MS)
    return [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 10_080].map((minutes) => minutes * MINUTE_MS);
  return [0.1, 1, 10, 100, 1000, 10_000].flatMap((power) => [power, 2 * power, 5 * power]);
}

/** The same for the ticks of an axis, where there is little room. */
export function formatTick(ms: number): string {
  if (ms === 0) return '0';
  if (ms < 1000) return `${Number(ms.toPrecision(4))} ms`;
  return ms < MINUTE_MS ? `${Number((ms / 1000).toPrecision(3))} s` : `${Number((ms / MINUTE_MS).toPrecision(3))} min`;
}
