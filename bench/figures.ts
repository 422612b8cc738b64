/** The value below which a share (0 to 1) of the samples lies; NaN without samples. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The middle sample: one disturbed round does not move it. */
export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}
