import type { Span } from '../../plots/series.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

/** Time ranges by their name in the address; all end now. Short ones are reloaded more often. */
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

/** The shown time range: one that ends now, or a custom span (`zoom`); possibly compared with the previous period. */
export type Shown = { range: RangeName; zoom: Span | null; isCompared: boolean };

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
  return { range, zoom: isGood ? zoom : null, isCompared: query['compare'] === '1' };
}

/** Returns the range as Unix seconds. */
export function spanOf({ range, zoom }: Pick<Shown, 'range' | 'zoom'>, now: number): Span {
  return zoom ?? { from: now - RANGES[range].seconds, to: now };
}

/** Returns the range without the time before the monitor was created, which has nothing to show. */
export function sinceCreation({ from, to }: Span, createdAt: number): Span {
  return { from: Math.max(from, Math.min(createdAt, to - SHORTEST_SECONDS)), to };
}

/** Rounds a span that was drawn on a plot to whole minutes within the limits of a zoom. */
export function fitZoom({ from, to }: Span, now: number): Span {
  const middle = (from + to) / 2;
  const half = Math.min(LONGEST_SECONDS, Math.max(SHORTEST_SECONDS, to - from)) / 2;
  const end = Math.min(Math.ceil((middle + half) / 60) * 60, Math.floor(now / 60) * 60);
  return { from: Math.max(0, end - Math.ceil((2 * half) / 60) * 60), to: end };
}

/** Describes the range for headings and sentences. One that ends at `now` begins with a younger monitor's creation. */
export function wordsOf(
  { range, zoom }: Pick<Shown, 'range' | 'zoom'>,
  { now, createdAt }: { now: number; createdAt: number },
  format: { moment: (at: number) => string; duration: (seconds: number) => string },
): string {
  if (zoom !== null) return `${format.moment(zoom.from)} to ${format.moment(zoom.to)}`;
  const age = now - createdAt;
  if (age >= RANGES[range].seconds) return RANGES[range].words;
  return age <= SHORTEST_SECONDS ? 'the last 10 minutes' : `the ${format.duration(age)} since it was created`;
}

/** Returns the error of a custom range, as a sentence; null if there is none. */
export function findRangeProblem(from: number | null, to: number | null, now: number): string | null {
  if (from === null || to === null) return 'Enter a start and an end.';
  if (from >= now) return 'The start must be in the past.';
  if (from >= to) return 'The start must be before the end.';
  if (to - from < SHORTEST_SECONDS) return 'Choose at least 10 minutes.';
  return to - from > LONGEST_SECONDS ? 'Choose at most 400 days.' : null;
}
