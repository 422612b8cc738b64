import test from 'ava';
import { createRecentResults } from '../../core/self-check.ts';
import type { Vote } from '../../core/verdict.ts';

const NOW_MS = 1_700_000_000_000;

/** Results of monitors, a second apart unless a moment is given; says of the last one whether it is doubted. */
function doubts(given: readonly [monitor: number, verdict: Vote, second?: number][]): boolean {
  const results = createRecentResults();
  return (
    given
      .map(([monitor, verdict, second], index) => results.note({ monitor, verdict }, NOW_MS + (second ?? index) * 1000))
      .at(-1) ?? false
  );
}

const CASES: readonly { name: string; given: [number, Vote, number?][]; doubted: boolean }[] = [
  {
    name: 'the only monitor of an agent turns bad',
    given: [
      [1, 'up'],
      [1, 'down'],
    ],
    doubted: true,
  },
  { name: 'it is bad from the start', given: [[1, 'down']], doubted: true },
  {
    name: 'one of two turns bad',
    given: [
      [1, 'up'],
      [2, 'up'],
      [1, 'down'],
    ],
    doubted: true,
  },
  {
    name: 'one of three turns bad',
    given: [
      [1, 'up'],
      [2, 'up'],
      [3, 'up'],
      [1, 'down'],
    ],
    doubted: false,
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
    doubted: true,
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
    doubted: true,
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
    doubted: false,
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
    doubted: false,
  },
  {
    name: 'what the others said is long ago',
    given: [
      [2, 'up', 0],
      [3, 'up', 1],
      [4, 'up', 2],
      [1, 'down', 13],
    ],
    doubted: true,
  },
  {
    name: 'slow answers are answers',
    given: [
      [1, 'up'],
      [2, 'degraded'],
      [3, 'degraded'],
      [1, 'down'],
    ],
    doubted: false,
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
    doubted: true,
  },
  {
    name: 'a good one is never doubted',
    given: [
      [1, 'down'],
      [2, 'down'],
      [3, 'up'],
    ],
    doubted: false,
  },
];

for (const { name, given, doubted } of CASES) {
  test(`${name}: ${doubted ? 'doubted' : 'not doubted'}`, (t) => {
    t.is(doubts(given), doubted);
  });
}

test(
  'a monitor whose failures were confirmed five times in a row is doubted no more, and is no reason to doubt ' +
    'others, until it was good',
  (t) => {
    const results = createRecentResults();
    const note = (monitor: number, verdict: Vote, second: number) =>
      results.note({ monitor, verdict }, NOW_MS + second * 1000);
    for (let confirmed = 0; confirmed < 5; confirmed += 1) {
      t.true(note(1, 'down', confirmed));
      results.confirm(1);
    }
    t.false(note(1, 'down', 60));
    t.false(note(2, 'up', 61));
    t.false(note(3, 'up', 62));
    t.false(note(1, 'down', 63));
    t.false(note(2, 'up', 64));
    t.false(note(1, 'up', 80));
    t.true(note(1, 'down', 140));
  },
);

test('the doubt lasts as long as the outage, however long that is', (t) => {
  const results = createRecentResults();
  for (let minute = 0; minute < 600; minute += 1) {
    t.true(results.note({ monitor: minute % 7, verdict: 'down' }, NOW_MS + minute * 60_000));
  }
});
