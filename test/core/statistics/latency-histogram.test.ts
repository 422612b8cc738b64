import test from 'ava';
import * as fc from 'fast-check';
import {
  bucketOf,
  countOf,
  LATENCY_GROWTH,
  mergeHistograms,
  NO_LATENCIES,
  quantileOf,
  spreadBetween,
  type Histogram,
} from '../../../core/statistics/latency-histogram.ts';

/** Integer milliseconds of all magnitudes, up to the maximum of a result. */
const latency = fc.oneof(
  fc.integer({ min: 1, max: 50 }),
  fc.integer({ min: 1, max: 10_000 }),
  fc.integer({ min: 1, max: 2_147_483_647 }),
);
const latencies = fc.array(latency, { minLength: 1, maxLength: 200 });

function histogramOf(values: readonly number[]): Histogram {
  return mergeHistograms(values.map((value) => ({ buckets: [bucketOf(value)], counts: [1] })));
}

test('any quantile of whole milliseconds is within 2 % of the exact one', (t) => {
  fc.assert(
    fc.property(latencies, fc.double({ min: 0, max: 1, noNaN: true }), (values, q) => {
      const exact = values.toSorted((a, b) => a - b)[Math.max(1, Math.ceil(q * values.length)) - 1] ?? Number.NaN;
      const estimate = quantileOf(histogramOf(values), q) ?? Number.NaN;
      t.true(Math.abs(estimate - exact) <= 0.02 * exact, `${estimate} for ${exact}`);
    }),
    { numRuns: 2000 },
  );
});

test('histograms of parts add up exactly to the histogram of the whole, in any order', (t) => {
  fc.assert(
    fc.property(fc.array(latencies, { maxLength: 8 }), (parts) => {
      const whole = histogramOf(parts.flat());
      t.deepEqual(mergeHistograms(parts.map(histogramOf)), whole);
      t.deepEqual(mergeHistograms(parts.toReversed().map(histogramOf)), whole);
      t.is(countOf(whole), parts.flat().length);
    }),
  );
});

test('a bucket holds latencies above the upper bound of the previous bucket, up to its own', (t) => {
  fc.assert(
    fc.property(latency, (value) => {
      const bucket = bucketOf(value);
      t.true(value <= LATENCY_GROWTH ** bucket * (1 + 1e-12));
      t.true(value === 1 || value > LATENCY_GROWTH ** (bucket - 1) * (1 - 1e-12));
    }),
  );
});

for (const [value, bucket] of [
  [0, 0],
  [0.4, 0],
  [1, 0],
  [2, 18],
  [25, 83],
  [10_000, 235],
  [2_147_483_647, 548],
] as const) {
  test(`${value} ms falls into bucket ${bucket}`, (t) => t.is(bucketOf(value), bucket));
}

test('every whole millisecond below 26 has its own bucket, so its quantile is exact', (t) => {
  for (let value = 1; value < 26; value += 1) t.is(quantileOf(histogramOf([value]), 0.5), value);
});

test('quantile 0 is the lowest latency, quantile 1 the highest, and an empty histogram has none', (t) => {
  const histogram = histogramOf([3, 5, 7]);
  t.deepEqual(
    [0, 0.33, 0.5, 0.67, 1].map((q) => quantileOf(histogram, q)),
    [3, 3, 5, 7, 7],
  );
  t.is(quantileOf(NO_LATENCIES, 0.5), null);
});

const INFINITE = Number.POSITIVE_INFINITY;

test('the quantiles of observations between two readings are bucket bounds', (t) => {
  const before = [
    { le: 1, count: 10 },
    { le: 2, count: 10 },
    { le: 5, count: 10 },
    { le: INFINITE, count: 10 },
  ];
  const after = [
    { le: 1, count: 60 },
    { le: 2, count: 108 },
    { le: 5, count: 109 },
    { le: INFINITE, count: 110 },
  ];
  t.deepEqual(spreadBetween(before, after), { count: 100, p50: 1, p99: 5 });
  t.deepEqual(spreadBetween([], after), { count: 110, p50: 1, p99: 5 });
  t.deepEqual(
    spreadBetween(
      [],
      [
        { le: 1, count: 0 },
        { le: INFINITE, count: 3 },
      ],
    ),
    { count: 3, p50: 1, p99: 1 },
  );
});

test('without observations between two readings there is no summary', (t) => {
  t.is(spreadBetween([], []), null);
  t.is(spreadBetween([{ le: INFINITE, count: 3 }], [{ le: INFINITE, count: 3 }]), null);
});
