/** A rate limit: `burst` units at once, and one more every `everyMs` milliseconds. */
export type SteadyRate = { burst: number; everyMs: number };

/** Result of spending: the mark to keep, and how long the last unit has to wait, in milliseconds (0 = not at all). */
type Spent = { usedUpMs: number; waitMs: number };

/**
 * Spends units of a steady rate. One number per counted key is kept: until when (Unix milliseconds) past spending uses
 * up the rate; null = no spending yet. A mark further ahead than `longestMs` comes from another clock, and counts as
 * that far.
 */
export function spend(
  rate: SteadyRate,
  {
    usedUpMs,
    units,
    nowMs,
    longestMs = rate.burst * rate.everyMs,
  }: { usedUpMs: number | null; units: number; nowMs: number; longestMs?: number },
): Spent {
  const before = Math.min(Math.max(usedUpMs ?? 0, nowMs), nowMs + longestMs);
  const after = before + units * rate.everyMs;
  return { usedUpMs: after, waitMs: Math.max(0, after - nowMs - rate.burst * rate.everyMs) };
}
