import test from 'ava';
import { decideInOrder, MovedAccount, scriptedVerdict } from '../../../simulation/cells/moved-account.ts';
import { planCells, Schedule } from '../../../simulation/cells/plan.ts';
import { simulateCells } from '../../../simulation/cells/simulation.ts';
import { createRandom } from '../../../simulation/truth/random.ts';

test('in a small run every monitor is checked, and a moved account misses no check and no decision', async (t) => {
  const options = { monitors: 3000, cells: 3, intervalSeconds: 10, seconds: 40, realEvery: 20, seed: 1 };
  const { cells, move, requests } = await simulateCells(options);
  t.is(
    cells.reduce((sum, { monitors }) => sum + monitors, 0),
    options.monitors,
  );
  for (const { name, monitors, checks, results, dropped, failures, moved } of cells) {
    t.is(results, checks, `${name}: each check has its result`);
    t.deepEqual([...failures], [], name);
    // A moved account is in each of its cells for only part of the run.
    if (moved === null) t.is(checks + dropped, (monitors * options.seconds) / options.intervalSeconds, name);
  }
  t.is(
    requests,
    cells.reduce((sum, { real }) => sum + real, 0),
  );
  t.like(move, { monitors: 30, from: 'a', to: 'c', lostResults: 0, differing: 0 });
  t.true(move.decisions >= move.monitors, 'each monitor had at least one decision');
  t.is(move.missed, 0, `${move.longestGapMs} ms without a check`);
});

test('the monitor counts of cells differ by at most the largest account', (t) => {
  const planned = planCells({ cells: 10, monitors: 200_000, movingMonitors: 2000 }, createRandom([1]));
  const monitors = planned.map((cell) => cell.monitors);
  t.is(
    monitors.reduce((sum, count) => sum + count, 0),
    200_000,
  );
  t.is(planned[0]?.accounts[0], 2000);
  const largest = Math.max(...planned.flatMap(({ accounts }) => accounts));
  t.true(Math.max(...monitors) - Math.min(...monitors) <= largest);
});

test('a moved monitor gets a recheck if its next tick is more than an interval after its last', (t) => {
  const account = new MovedAccount(60);
  const schedule = new Schedule(60);
  const flipMs = Date.now();
  const wanted: (number | null)[] = [];
  for (let count = 0; count < 240; count += 1) {
    const scheduled = schedule.add(count);
    const recheckMs = account.arrive(scheduled, { oldOffsetMs: 2000, flipMs });
    if (recheckMs !== null) {
      t.true(recheckMs >= flipMs && recheckMs < flipMs + 60_000, 'at the time of its tick in the old cell');
    }
    wanted.push(recheckMs);
  }
  t.true(wanted.some((recheckMs) => recheckMs === null) && wanted.some((recheckMs) => recheckMs !== null));
});

test('results during a freeze are decided exactly once, as if the monitor had not moved', (t) => {
  const times = { freezeMs: 100_000, flipMs: 160_000 };
  t.deepEqual(
    [90_000, 120_000, 140_000, 170_000].map((atMs) => [0, 1, 2, 3].map((index) => scriptedVerdict(index, atMs, times))),
    [
      ['up', 'down', 'up', 'up'],
      ['up', 'down', 'down', 'up'],
      ['down', 'down', 'down', 'up'],
      ['down', 'up', 'up', 'up'],
    ],
  );
  const taken = [170_000, 90_000, 140_000, 120_000].map((dueAtMs) => ({ dueAtMs, finishedAtMs: dueAtMs + 5 }));
  t.deepEqual(decideInOrder([taken], { intervalSeconds: 60, times }), [
    { index: 0, isDown: false, dueAtMs: 90_000 },
    { index: 0, isDown: true, dueAtMs: 140_000 },
  ]);
});
