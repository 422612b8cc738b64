/** A stream of random numbers that its seeds determine. */
export type Random = {
  /** Draws from [0, 1). */
  uniform: () => number;
  /** Draws a whole number in [0, below). */
  below: (below: number) => number;
  /** Draws from an exponential distribution around a mean. */
  exponential: (mean: number) => number;
  /** Draws the number of failures before the first success at the given chance; infinite if the chance is 0. */
  failuresBefore: (chance: number) => number;
};

/**
 * Creates the stream of some seeds: sfc32, initialized by mixing the seeds. The same seeds give the same stream on
 * every machine.
 */
export function createRandom(seeds: readonly number[]): Random {
  let mixed = 0x9e3779b9;
  const mix = (value: number): number => {
    mixed = Math.imul(mixed ^ value, 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return (mixed ^= mixed >>> 16);
  };
  for (const seed of seeds) mix(seed);
  let [a, b, c, counter] = [mix(1), mix(2), mix(3), 1];
  const uniform = (): number => {
    const next = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + next) | 0;
    return (next >>> 0) / 2 ** 32;
  };
  for (let round = 0; round < 12; round += 1) uniform();
  return {
    uniform,
    below: (below) => Math.floor(uniform() * below),
    exponential: (mean) => -Math.log(1 - uniform()) * mean,
    failuresBefore: (chance) => {
      if (chance <= 0) return Number.POSITIVE_INFINITY;
      return chance >= 1 ? 0 : Math.floor(Math.log(1 - uniform()) / Math.log(1 - chance));
    },
  };
}
