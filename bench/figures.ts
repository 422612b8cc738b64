/** Returns the value below which a share (0 to 1) of the samples is; NaN without samples. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Returns the median sample, which one disturbed round does not change. */
export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

/**
 * Returns the slope of the best line through evenly spaced samples (least squares), per sample; NaN with fewer than
 * two.
 */
export function slope(samples: readonly number[]): number {
  const middle = (samples.length - 1) / 2;
  const level = samples.reduce((sum, value) => sum + value, 0) / samples.length;
  const rise = samples.reduce((sum, value, index) => sum + (index - middle) * (value - level), 0);
  return rise / samples.reduce((sum, _value, index) => sum + (index - middle) ** 2, 0);
}
