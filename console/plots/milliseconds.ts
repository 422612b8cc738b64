import { formatLatency } from '../parts/time.tsx';

const MINUTE_MS = 60_000;

/** A measured time: of answers in milliseconds and seconds, of jobs in minutes and seconds. */
export function formatMs(ms: number): string {
  if (ms < MINUTE_MS) return formatLatency(ms);
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
}

/** The same for the ticks of an axis, where there is little room. */
export function formatTick(ms: number): string {
  if (ms === 0) return '0';
  if (ms < 1000) return `${Number(ms.toPrecision(4))} ms`;
  return ms < MINUTE_MS ? `${Number((ms / 1000).toPrecision(3))} s` : `${Number((ms / MINUTE_MS).toPrecision(3))} min`;
}
