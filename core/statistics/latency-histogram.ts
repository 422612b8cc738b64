/**
 * How many latencies lie in which bucket: buckets that hold something, in ascending order, and what each holds. Two
 * histograms add up exactly, so that those of hours, days and sources give the one of any window.
 */
export type Histogram = { buckets: readonly number[]; counts: readonly number[] };

/** Each bucket reaches this many times as far as the one before it: bucket 0 to 1 ms, bucket b to 1.04^b ms. */
export const LATENCY_GROWTH = 1.04;

/** A histogram that nothing was counted in. */
export const NO_LATENCIES: Histogram = { buckets: [], counts: [] };

/** The bucket of a latency in milliseconds; everything up to 1 ms lies in bucket 0. */
export function bucketOf(latencyMs: number): number {
  return latencyMs <= 1 ? 0 : Math.ceil(Math.log(latencyMs) / Math.log(LATENCY_GROWTH));
}

/** The histogram of everything that these were made of. */
export function mergeHistograms(histograms: Iterable<Histogram>): Histogram {
  // By bucket, with holes: buckets are few hundreds at the most, and this is what reading statistics spends its time
  // on.
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

/** How many latencies were counted. */
export function countOf({ counts }: Histogram): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * The latency that a share `q` (0 to 1) of all does not exceed, in milliseconds with two decimals; null where nothing
 * was counted. It is the one of rank ceil(q x count), at least the first; whole milliseconds of 1 and above come back
 * with an error of at most 2 %.
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
 * What stands for the latencies of a bucket, which are whole milliseconds. The value that is as far from the smallest
 * as from the largest of them, in percent. It is exact where a bucket has one, which is so below 25 ms.
 */
function middleOf(bucket: number): number {
  const largest = Math.max(1, Math.floor(LATENCY_GROWTH ** bucket));
  const smallest = bucket === 0 ? largest : Math.max(1, Math.floor(LATENCY_GROWTH ** (bucket - 1)) + 1);
  if (smallest >= largest) return largest;
  return Math.round((200 * smallest * largest) / (smallest + largest)) / 100;
}

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
