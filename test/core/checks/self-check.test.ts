import test from 'ava';
import { RecentResults } from '../../../core/checks/self-check.ts';
import type { Vote } from '../../../core/checks/verdict.ts';

const NOW_MS = 1_700_000_000_000;

/** Results of monitors, a second apart unless a moment is given; says of the last one whether it is suspect. */
function findSuspects(given: readonly [monitor: number, verdict: Vote, second?: number][]): boolean {
  const results = new RecentResults();
  return (
    given
      .map(([monitor, verdict, second], index) => results.add({ monitor, verdict }, NOW_MS + (second ?? index) * 1000))
      .at(-1) ?? false
  );
}

const CASES: readonly { name: string; given: [number, Vote, number?][]; suspect: boolean }[] = [
  {
    name: 'the only monitor of an agent turns bad',
    given: [
      [1, 'up'],
      [1, 'down'],
    ],
    suspect: true,
  },
  { name: 'it is bad from the start', given: [[1, 'down']], suspect: true },
  {
    name: 'one of two turns bad',
    given: [
      [1, 'up'],
      [2, 'up'],
      [1, 'down'],
    ],
    suspect: true,
  },
  {
    name: 'one of three turns bad',
    given: [
      [1, 'up'],
      [2, 'up'],
      [3, 'up'],
      [1, 'down'],
    ],
    suspect: false,
  },
  {
    name: 'two of three turn bad',
    given: [
      [1, 'up'],
      [2, 'up'],
      [3, 'up'],
      [1, 'down'],
      [2, 'down'],
    ],
    suspect: true,
  },
  {
    name: 'of many the third in a row turns bad',
    given: [
      [1, 'up'],
      [2, 'up'],
      [3, 'up'],
      [4, 'up'],
      [5, 'up'],
      [6, 'down'],
      [7, 'down'],
      [8, 'down'],
    ],
    suspect: true,
  },
  {
    name: 'of many the second in a row turns bad',
    given: [
      [1, 'up'],
      [2, 'up'],
      [3, 'up'],
      [4, 'up'],
      [5, 'up'],
      [6, 'down'],
      [7, 'down'],
    ],
    suspect: false,
  },
  {
    name: 'one that fails all the time among others that work',
    given: [
      [1, 'down'],
      [2, 'up'],
      [3, 'up'],
      [4, 'up'],
      [1, 'down'],
    ],
    suspect: false,
  },
  {
    name: 'what the others said is long ago',
    given: [
      [2, 'up', 0],
      [3, 'up', 1],
      [4, 'up', 2],
      [1, 'down', 13],
    ],
    suspect: true,
  },
  {
    name: 'slow answers are answers',
    given: [
      [1, 'up'],
      [2, 'degraded'],
      [3, 'degraded'],
      [1, 'down'],
    ],
    suspect: false,
  },
  {
    name: 'a result that is none says nothing',
    given: [
      [1, 'none'],
      [2, 'none'],
      [3, 'none'],
      [4, 'up'],
      [5, 'down'],
    ],
    suspect: true,
  },
  {
    name: 'a good one is never suspect',
    given: [
      [1, 'down'],
      [2, 'down'],
      [3, 'up'],
    ],
    suspect: false,
  },
];

for (const { name, given, suspect } of CASES) {
  test(`${name}: ${suspect ? 'suspect' : 'not suspect'}`, (t) => {
    t.is(findSuspects(given), suspect);
  });
}

test(
  'a monitor whose failures were confirmed five times in a row is suspect no more, and is no reason to suspect ' +
    'others, until it was good',
  (t) => {
    const results = new RecentResults();
    const add = (monitor: number, verdict: Vote, second: number) =>
      results.add({ monitor, verdict }, NOW_MS + second * 1000);
    for (let confirmed = 0; confirmed < 5; confirmed += 1) {
      t.true(add(1, 'down', confirmed));
      results.confirm(1);
    }
    t.false(add(1, 'down', 60));
    t.false(add(2, 'up', 61));
    t.false(add(3, 'up', 62));
    t.false(add(1, 'down', 63));
    t.false(add(2, 'up', 64));
    t.false(add(1, 'up', 80));
    t.true(add(1, 'down', 140));
  },
);

test('the suspicion lasts as long as the outage, however long that is', (t) => {
  const results = new RecentResults();
  for (let minute = 0; minute < 600; minute += 1) {
    t.true(results.add({ monitor: minute % 7, verdict: 'down' }, NOW_MS + minute * 60_000));
  }
});
