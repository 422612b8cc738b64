import { DAY_MS, HOUR_MS } from '../time.ts';

/** Retention of hourly roll-ups, in days: more than that of single results. Days are kept longer. */
export const HOURLY_DAYS = 100;

/** A span of time in Unix milliseconds, excluding the end. */
export type Span = { fromMs: number; toMs: number };

/** Sources of a window's data: single results, hourly roll-ups, daily roll-ups. */
export type Spans = { raw: Span[]; hours: Span[]; days: Span[] };

/**
 * Cuts a window into whole UTC days, whole hours and the rest, without holes and overlaps. Only parts that end by
 * `rolledUntilMs`, a whole hour, are read from roll-ups. `coarsest` is the longest roll-up allowed: none, or days only
 * if the caller does not need single hours.
 */
export function cutWindow(
  { fromMs, toMs }: Span,
  { rolledUntilMs, coarsest }: { rolledUntilMs: number; coarsest: 'raw' | 'hour' | 'day' },
): Spans {
  const hours = whole({ fromMs, toMs: Math.min(toMs, rolledUntilMs) }, HOUR_MS);
  if (coarsest === 'raw' || hours === null) return { raw: filled([{ fromMs, toMs }]), hours: [], days: [] };
  const raw = around({ fromMs, toMs }, hours);
  const days = coarsest === 'day' ? whole(hours, DAY_MS) : null;
  if (days === null) return { raw, hours: [hours], days: [] };
  return { raw, hours: around(hours, days), days: [days] };
}

/** Returns the part of a span that consists of whole steps; null if there is none. */
function whole({ fromMs, toMs }: Span, stepMs: number): Span | null {
  const span = { fromMs: Math.ceil(fromMs / stepMs) * stepMs, toMs: Math.floor(toMs / stepMs) * stepMs };
  return span.fromMs < span.toMs ? span : null;
}

function around(outer: Span, inner: Span): Span[] {
  return filled([
    { fromMs: outer.fromMs, toMs: inner.fromMs },
    { fromMs: inner.toMs, toMs: outer.toMs },
  ]);
}

function filled(spans: readonly Span[]): Span[] {
  return spans.filter(({ fromMs, toMs }) => fromMs < toMs);
}
