/** How fast something may happen: `burst` units at once, and one more each `everyMs` milliseconds. */
export type SteadyRate = { burst: number; everyMs: number };

/**
 * What spending came to: the mark to keep, and how long the last unit has to wait, in milliseconds (0 = it may happen
 * now).
 */
export type Spent = { usedUpMs: number; waitMs: number };

/**
 * Counts units of what may happen at a steady rate. For each who is counted it keeps one number: until when (Unix
 * milliseconds) what was spent uses up the rate; null = nothing was. A mark further ahead than `longestMs` is one of
 * another clock, and counts as that far.
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
