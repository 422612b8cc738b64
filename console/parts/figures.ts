import type { Schemas } from '../client/shapes.ts';
import { formatDuration } from './time.tsx';

type Seconds = Schemas['SecondsByState'];

/** Formats a percentage of time, which is never rounded up to 100. */
export function formatPercent(percent: number): string {
  return percent === 100 ? '100 %' : `${(Math.floor(percent * 1000) / 1000).toFixed(percent < 99 ? 2 : 3)} %`;
}

/** Describes how long a monitor was down, degraded, unknown or paused; zero durations are left out. */
export function describeSeconds({ down, degraded, unknown, paused }: Seconds): string {
  const parts = [
    [down, 'down'],
    [degraded, 'degraded'],
    [unknown, 'unknown'],
    [paused, 'paused'],
  ] as const;
  return parts
    .filter(([seconds]) => seconds > 0)
    .map(([seconds, word]) => `${formatDuration(seconds)} ${word}`)
    .join(', ');
}

const LIST = new Intl.ListFormat('en-GB', { type: 'conjunction' });

/** `a, b and c` */
export function joinWords(words: readonly string[]): string {
  return LIST.format(words);
}

/** `1 check`, `2 checks` */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString()} ${number === 1 ? one : many}`;
}
