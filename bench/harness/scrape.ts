/** One reading of `/metrics`: samples by their full name, labels included. */
export type Scrape = ReadonlyMap<string, number>;

/** Parses the Prometheus text format as far as our own metrics use it. */
export function readScrape(text: string): Scrape {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

/** Returns the growth of a counter between two scrapes, over all its labels. */
export function growth(name: string, before: Scrape, after: Scrape): number {
  return totalOf(name, after) - totalOf(name, before);
}

/**
 * Returns a percentile of a histogram between two scrapes, in the unit of its buckets, with linear interpolation. The
 * largest observation (`share` 1) is the upper edge of its bucket. NaN, which meets no bound, where nothing was
 * observed.
 */
export function histogramPercentile(name: string, share: number, [before, after]: readonly [Scrape, Scrape]): number {
  const buckets = [...after.keys()]
    .filter((key) => key.startsWith(`${name}_bucket{`))
    .map((key) => ({
      edge: Number((/le="([^"]+)"/.exec(key)?.[1] ?? '').replace('+Inf', 'Infinity')),
      count: (after.get(key) ?? 0) - (before.get(key) ?? 0),
    }))
    .toSorted((a, b) => a.edge - b.edge);
  const total = buckets.at(-1)?.count ?? 0;
  if (total === 0) return Number.NaN;
  const wanted = total * share;
  const index = buckets.findIndex(({ count }) => count >= wanted);
  const bucket = buckets[index];
  if (bucket === undefined) return Number.NaN;
  const below = buckets[index - 1] ?? { edge: 0, count: 0 };
  if (share === 1 || bucket.edge === Number.POSITIVE_INFINITY) return bucket.edge;
  return below.edge + ((bucket.edge - below.edge) * (wanted - below.count)) / Math.max(1, bucket.count - below.count);
}

function totalOf(name: string, scrape: Scrape): number {
  return [...scrape]
    .filter(([key]) => key === name || key.startsWith(`${name}{`))
    .reduce((sum, [, value]) => sum + value, 0);
}
