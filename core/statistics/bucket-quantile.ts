/** How many observations were at most `le` (ascending, the last one endless), as a histogram counts them. */
export type Bucket = { le: number; count: number };

/** How an observation was spread: how many there were, and below which bound half and 99 % of them lie. */
export type Spread = { count: number; p50: number; p99: number };

/**
 * What was observed between two readings of one histogram; null where nothing was. Quantiles are the upper bounds of
 * their buckets, of the endless one the last bound before it.
 */
export function spreadBetween(before: readonly Bucket[], after: readonly Bucket[]): Spread | null {
  const earlier = new Map(before.map(({ le, count }) => [le, count]));
  const between = after.map(({ le, count }) => ({ le, count: count - (earlier.get(le) ?? 0) }));
  const count = between.at(-1)?.count ?? 0;
  if (count <= 0) return null;
  const finite = between.filter(({ le }) => Number.isFinite(le));
  const quantile = (share: number) =>
    (finite.find((bucket) => bucket.count >= share * count) ?? finite.at(-1))?.le ?? 0;
  return { count, p50: quantile(0.5), p99: quantile(0.99) };
}
