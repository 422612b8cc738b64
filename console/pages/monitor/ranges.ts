import type { Span } from '../../plots/series.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

/** The time ranges by their name in the address; all end now. Short ones are reloaded more often. */
export const RANGES = {
  '1h': { label: '1 h', words: 'the last hour', seconds: HOUR, refreshSeconds: 20 },
  '24h': { label: '24 h', words: 'the last 24 hours', seconds: DAY, refreshSeconds: 60 },
  '7d': { label: '7 d', words: 'the last 7 days', seconds: 7 * DAY, refreshSeconds: 300 },
  '30d': { label: '30 d', words: 'the last 30 days', seconds: 30 * DAY, refreshSeconds: 600 },
  '90d': { label: '90 d', words: 'the last 90 days', seconds: 90 * DAY, refreshSeconds: 1800 },
  '1y': { label: '1 y', words: 'the last year', seconds: 365 * DAY, refreshSeconds: 3600 },
} as const;
export type RangeName = keyof typeof RANGES;

/** The default range. */
export const DEFAULT_RANGE: RangeName = '24h';

/** The shortest zoom: a step is a minute. */
export const SHORTEST_SECONDS = 600;
const LONGEST_SECONDS = 400 * DAY;

/** The shown time range: one that ends now, or a part of it (`zoom`). */
export type Shown = { range: RangeName; zoom: Span | null };

/** Reads the range from an address; invalid values are ignored. */
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

/** The range as Unix seconds. */
export function spanOf({ range, zoom }: Shown, now: number): Span {
  return zoom ?? { from: now - RANGES[range].seconds, to: now };
}

/** Rounds a span that was drawn on a plot to whole minutes within the limits of a zoom. */
export function fitZoom({ from, to }: Span, now: number): Span {
  const middle = (from + to) / 2;
  const half = Math.min(LONGEST_SECONDS, Math.max(SHORTEST_SECONDS, to - from)) / 2;
  const end = Math.min(Math.ceil((middle + half) / 60) * 60, Math.floor(now / 60) * 60);
  return { from: Math.max(0, end - Math.ceil((2 * half) / 60) * 60), to: end };
}

/** The range in words, for headings and sentences. */
export function wordsOf({ range, zoom }: Shown, format: (at: number) => string): string {
  return zoom === null ? RANGES[range].words : `${format(zoom.from)} to ${format(zoom.to)}`;
}
