import test from 'ava';
import { spreadBetween } from '../../../core/statistics/latency-histogram.ts';

const INFINITE = Number.POSITIVE_INFINITY;

test('what was observed between two readings is reported by the bounds of its buckets', (t) => {
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

test('where nothing was observed there is nothing to tell', (t) => {
  t.is(spreadBetween([], []), null);
  t.is(spreadBetween([{ le: INFINITE, count: 3 }], [{ le: INFINITE, count: 3 }]), null);
});
