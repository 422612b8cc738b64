import type { Schemas } from '../../client/api.ts';
import { formatDuration } from '../../parts/time.tsx';

type Seconds = Schemas['SecondsByState'];

/** A share of time in percent, as the API floors it; it is never rounded up to 100. */
export function formatPercent(percent: number): string {
  return percent === 100 ? '100 %' : `${(Math.floor(percent * 1000) / 1000).toFixed(percent < 99 ? 2 : 3)} %`;
}

/** Seconds of several days together. */
export function sumSeconds(days: readonly { seconds: Seconds }[]): Seconds {
  const sum: Seconds = { up: 0, degraded: 0, down: 0, unknown: 0, paused: 0, pending: 0 };
  for (const { seconds } of days)
    for (const state of Object.keys(sum) as (keyof Seconds)[]) sum[state] += seconds[state];
  return sum;
}

/**
 * Uptime of such seconds in percent; null where no time counts. As the API counts it: what is not up, degraded or down
 * counts nowhere.
 */
export function uptimeOf({ up, degraded, down }: Seconds): number | null {
  const counted = up + degraded + down;
  return counted === 0 ? null : Math.floor(((up + degraded) / counted) * 100_000) / 1000;
}

/** What of some seconds is worth a word: how long it was down, degraded, unknown or paused. */
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
