import test from 'ava';
import {
  fillSummary,
  isStorm,
  openSummary,
  summaryDueAtMs,
  type SummarisedMonitor,
} from '../../../core/incidents/storm.ts';

const NOW_MS = 1_700_000_000_500;
const EMPTY = openSummary({ openedAtMs: NOW_MS, publicUrl: 'https://spotcheck.example' });

test('ten monitors are reported individually, eleven are a storm', (t) => {
  t.false(isStorm(10));
  t.true(isStorm(11));
});

test('a summary is sent five seconds after it is opened, and at least 30 s after the previous one', (t) => {
  t.is(summaryDueAtMs(NOW_MS, null), NOW_MS + 5000);
  t.is(summaryDueAtMs(NOW_MS, NOW_MS - 25_000), NOW_MS + 5000);
  t.is(summaryDueAtMs(NOW_MS, NOW_MS - 24_999), NOW_MS + 5001);
  t.is(summaryDueAtMs(NOW_MS, NOW_MS), NOW_MS + 30_000);
});

test('an empty summary has its opening time and a link to the monitors', (t) => {
  t.deepEqual(EMPTY, {
    version: '1',
    event: 'summary',
    event_at: 1_700_000_000,
    monitors: 0,
    states: [],
    url: 'https://spotcheck.example/monitors',
  });
});

test('a summary counts monitors by state, worst first, and names at most ten in total', (t) => {
  const gathered: SummarisedMonitor[] = [
    ...Array.from({ length: 3 }, (_, index) => ({ name: `Up ${index}`, state: 'up' as const })),
    ...Array.from({ length: 8 }, (_, index) => ({ name: `Down ${index}`, state: 'down' as const })),
    { name: 'Slow', state: 'degraded' },
    { name: 'Lost', state: 'unknown' },
  ];
  const { monitors, states } = fillSummary(EMPTY, gathered);
  t.is(monitors, 13);
  t.deepEqual(
    states.map(({ state, monitors: count, names }) => [state, count, names.length]),
    [
      ['down', 8, 8],
      ['unknown', 1, 1],
      ['degraded', 1, 1],
      ['up', 3, 0],
    ],
  );
  t.deepEqual(states[0]?.names.slice(0, 2), ['Down 0', 'Down 1']);
});

test('a summary of 500 monitors in one state names the first ten', (t) => {
  const gathered = Array.from({ length: 500 }, (_, index) => ({ name: `Shop ${index}`, state: 'down' as const }));
  const [down] = fillSummary(EMPTY, gathered).states;
  t.like(down, { monitors: 500 });
  t.deepEqual(
    down?.names,
    Array.from({ length: 10 }, (_, index) => `Shop ${index}`),
  );
});
