import type { Schemas } from '../client/api.ts';
import { LANGUAGE, formatDuration } from './time.tsx';

type Seconds = Schemas['SecondsByState'];

/** Describes how long a monitor was down, degraded, unknown, paused or in maintenance; zero durations are left out. */
export function describeSeconds({ down, degraded, unknown, paused, maintenance }: Seconds): string {
  const parts = [
    [down, 'down'],
    [degraded, 'degraded'],
    [unknown, 'unknown'],
    [paused, 'paused'],
    [maintenance, 'maintenance'],
  ] as const;
  return parts
    .filter(([seconds]) => seconds > 0)
    .map(([seconds, word]) => `${formatDuration(seconds)} ${word}`)
    .join(', ');
}

/** Formats the rest of an error budget, in seconds: `12 min`, `−3 min` if it is overdrawn; null is a dash. */
export function formatBudget(seconds: number | null): string {
  if (seconds === null) return '–';
  return seconds < 0 ? `−${formatDuration(-seconds)}` : formatDuration(seconds);
}

const LIST = new Intl.ListFormat('en-GB', { type: 'conjunction' });

/** Joins words into a phrase: `a, b and c`. */
export function joinWords(words: readonly string[]): string {
  return LIST.format(words);
}

const NUMBER = new Intl.NumberFormat(LANGUAGE);

/** Formats a number in the language of the page: `6,048`. */
export function formatNumber(number: number): string {
  return NUMBER.format(number);
}

/** Formats a number with its noun: `1 check`, `2 checks`. */
export function count(number: number, noun: string): string {
  return `${formatNumber(number)} ${noun}${number === 1 ? '' : 's'}`;
}

type Counted = Pick<Schemas['ServiceFigures'], 'hours' | 'timezone'>;

/** Describes service hours: `Mo-Fr 08:00-20:00, Europe/Berlin`. */
export function describeHours({ hours, timezone }: Counted): string {
  return `${hours}, ${timezone.replaceAll('_', ' ')}`;
}
