import type { Span } from '../../plots/series.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

/**
 * The stretches to choose from, by their name in the address; all end now. What is short is asked for anew more often.
 */
export const RANGES = {
  '1h': { label: '1 h', words: 'the last hour', seconds: HOUR, refreshSeconds: 20 },
  '24h': { label: '24 h', words: 'the last 24 hours', seconds: DAY, refreshSeconds: 60 },
  '7d': { label: '7 d', words: 'the last 7 days', seconds: 7 * DAY, refreshSeconds: 300 },
  '30d': { label: '30 d', words: 'the last 30 days', seconds: 30 * DAY, refreshSeconds: 600 },
  '90d': { label: '90 d', words: 'the last 90 days', seconds: 90 * DAY, refreshSeconds: 1800 },
  '1y': { label: '1 y', words: 'the last year', seconds: 365 * DAY, refreshSeconds: 3600 },
} as const;
export type RangeName = keyof typeof RANGES;

/** The range where none is chosen. */
export const DEFAULT_RANGE: RangeName = '24h';

/** Nothing shorter can be looked into: a step is a minute. */
export const SHORTEST_SECONDS = 600;
const LONGEST_SECONDS = 400 * DAY;

/** The stretch that the page shows: a range up to now, or a zoomed part of it (`zoom`). */
export type Shown = { range: RangeName; zoom: Span | null };

/** Reads the address; what is wrong in it is as if it were not there. */
export function readShown(query: Readonly<Record<string, string>>): Shown {
  const name = query['range'] ?? '';
  const range = Object.hasOwn(RANGES, name) ? (name as RangeName) : DEFAULT_RANGE;
  const zoom = { from: Number(query['from'] ?? Number.NaN), to: Number(query['to'] ?? Number.NaN) };
  const isGood =
    Number.isSafeInteger(zoom.from) &&
    Number.isSafeInteger(zoom.to) &&
    zoom.from >= 0 &&
    zoom.to - zoom.from >= SHORTEST_SECONDS &&
    zoom.to - zoom.from <= LONGEST_SECONDS;
  return { range, zoom: isGood ? zoom : null };
}

/** The stretch in seconds. */
export function spanOf({ range, zoom }: Shown, now: number): Span {
  return zoom ?? { from: now - RANGES[range].seconds, to: now };
}

/** A stretch that was drawn on a plot, in whole minutes and long enough to be looked into. */
export function fitZoom({ from, to }: Span, now: number): Span {
  const middle = (from + to) / 2;
  const half = Math.min(LONGEST_SECONDS, Math.max(SHORTEST_SECONDS, to - from)) / 2;
  const end = Math.min(Math.ceil((middle + half) / 60) * 60, Math.floor(now / 60) * 60);
  return { from: Math.max(0, end - Math.ceil((2 * half) / 60) * 60), to: end };
}

/** The stretch in words, for headings and sentences. */
export function wordsOf({ range, zoom }: Shown, format: (at: number) => string): string {
  return zoom === null ? RANGES[range].words : `${format(zoom.from)} to ${format(zoom.to)}`;
}
