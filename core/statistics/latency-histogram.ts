/**
 * Counts of latencies by bucket: the non-empty buckets, in ascending order, and the count of each. Two histograms can
 * be added exactly, so that those of hours, days and sources yield that of any window.
 */
export type Histogram = { buckets: readonly number[]; counts: readonly number[] };

/** Ratio of the upper bounds of adjacent buckets: bucket 0 reaches 1 ms, bucket b reaches 1.04^b ms. */
export const LATENCY_GROWTH = 1.04;

/** The empty histogram. */
export const NO_LATENCIES: Histogram = { buckets: [], counts: [] };

/** Returns the bucket of a latency in milliseconds; bucket 0 contains everything up to 1 ms. */
export function bucketOf(latencyMs: number): number {
  return latencyMs <= 1 ? 0 : Math.ceil(Math.log(latencyMs) / Math.log(LATENCY_GROWTH));
}

/** Adds up histograms. */
export function mergeHistograms(histograms: Iterable<Histogram>): Histogram {
  // A sparse array by bucket: there are a few hundred buckets at most, and reading statistics spends its time here.
  const total: number[] = [];
  for (const { buckets, counts } of histograms) {
    for (let index = 0; index < buckets.length; index += 1) {
      const bucket = buckets[index] ?? 0;
      total[bucket] = (total[bucket] ?? 0) + (counts[index] ?? 0);
    }
  }
  const merged: { buckets: number[]; counts: number[] } = { buckets: [], counts: [] };
  total.forEach((count, bucket) => {
    merged.buckets.push(bucket);
    merged.counts.push(count);
  });
  return merged;
}

/** Returns the number of latencies. */
export function countOf({ counts }: Histogram): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * Returns the latency that a share `q` (0 to 1) of all does not exceed, in milliseconds with two decimals; null for an
 * empty histogram. It is the one of rank ceil(q x count), at least the first; whole milliseconds of 1 and above are
 * returned with an error of at most 2 %.
 */
export function quantileOf(histogram: Histogram, q: number): number | null {
  const rank = Math.max(1, Math.ceil(q * countOf(histogram)));
  let below = 0;
  for (const [index, bucket] of histogram.buckets.entries()) {
    below += histogram.counts[index] ?? 0;
    if (below >= rank) return middleOf(bucket);
  }
  return null;
}

/**
 * Returns the value that represents a bucket's latencies, which are whole milliseconds. It differs by the same
 * percentage from the smallest and the largest. It is exact for a bucket with one latency, as all below 25 ms.
 */
function middleOf(bucket: number): number {
  const largest = Math.max(1, Math.floor(LATENCY_GROWTH ** bucket));
  const smallest = bucket === 0 ? largest : Math.max(1, Math.floor(LATENCY_GROWTH ** (bucket - 1)) + 1);
  if (smallest >= largest) return largest;
  return Math.round((200 * smallest * largest) / (smallest + largest)) / 100;
}

/** Number of observations of at most `le` (ascending, the last one infinite), as in a Prometheus histogram. */
export type Bucket = { le: number; count: number };

/** Distribution of observations: their number, and the bounds below which half and 99 % of them are. */
export type Spread = { count: number; p50: number; p99: number };

/**
 * Returns the distribution between two readings of one histogram; null if there were no observations. Quantiles are the
 * upper bounds of their buckets, for the infinite one the last bound before it.
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
