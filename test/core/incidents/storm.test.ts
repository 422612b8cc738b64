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

test('ten monitors are reported one by one, the eleventh makes a storm', (t) => {
  t.false(isStorm(10));
  t.true(isStorm(11));
});

test('a summary is sent five seconds after it was opened, and no closer than thirty to the one before', (t) => {
  t.is(summaryDueAtMs(NOW_MS, null), NOW_MS + 5000);
  t.is(summaryDueAtMs(NOW_MS, NOW_MS - 25_000), NOW_MS + 5000);
  t.is(summaryDueAtMs(NOW_MS, NOW_MS - 24_999), NOW_MS + 5001);
  t.is(summaryDueAtMs(NOW_MS, NOW_MS), NOW_MS + 30_000);
});

test('a summary that nothing was gathered for yet says when it was opened and where to look', (t) => {
  t.deepEqual(EMPTY, {
    version: '1',
    event: 'summary',
    event_at: 1_700_000_000,
    monitors: 0,
    states: [],
    url: 'https://spotcheck.example/monitors',
  });
});

test('a summary counts every monitor by state, the worst first, and names ten at most', (t) => {
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

test('of more than ten monitors in one state the first ten are named', (t) => {
  const gathered = Array.from({ length: 500 }, (_, index) => ({ name: `Shop ${index}`, state: 'down' as const }));
  const [down] = fillSummary(EMPTY, gathered).states;
  t.like(down, { monitors: 500 });
  t.deepEqual(
    down?.names,
    Array.from({ length: 10 }, (_, index) => `Shop ${index}`),
  );
});
