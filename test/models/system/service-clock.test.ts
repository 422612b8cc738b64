import test from 'ava';
import type { Database } from '../../../models/database.ts';
import { runOn } from '../../../models/sql.ts';
import { findSetBack, readTime } from '../../../models/statistics/service-time.ts';
import { machineAheadMs, runServiceClock } from '../../../models/system/service-clock.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

// The tests run serially, because a process has one service clock.

const STALL_MS = 400;

/** Returns a pool whose PostgreSQL is on this machine, in a process that stalls during the first reading. */
function stalledPool(stallMs: number): Database['pool'] {
  let isFirst = true;
  const query = async () => {
    const databaseMs = Date.now();
    const untilMs = performance.now() + (isFirst ? stallMs : 0);
    isFirst = false;
    while (performance.now() < untilMs);
    return { rows: [{ database_ms: databaseMs, at: null, service_at: null, agreed_at: null }] };
  };
  return { query } as unknown as Database['pool'];
}

test.serial('a process that stalls during its first reading of the time starts with a more accurate one', async (t) => {
  const { stop } = await runServiceClock(
    { pool: stalledPool(STALL_MS) },
    {
      settles: false,
      onStep: (clock, byMs) => t.fail(`${clock} by ${byMs} ms`),
      onFailure: (error) => t.fail(`${error}`),
    },
  );
  t.teardown(stop);
  // With the first reading alone it would be off by half of the stall.
  t.true(Math.abs(machineAheadMs()) < STALL_MS / 4, `${machineAheadMs()} ms`);
});

test.serial('a process that ran with the time a day ahead detects that it was set back', async (t) => {
  const { database } = await openTestRuntime(t);
  const run = runOn(database.pool);
  const { databaseMs } = await readTime(database);
  const setAhead = (aheadMs: number) =>
    run(
      `INSERT INTO service_marks (name, at, resumed_at) VALUES ('time', $1, $2) ON CONFLICT (name) DO UPDATE
       SET resumed_at = excluded.resumed_at`,
      [Math.round(databaseMs), Math.round(databaseMs) + aheadMs],
    );
  await setAhead(86_400_000);
  const { stop } = await runServiceClock(database, {
    settles: false,
    onStep: () => undefined,
    onFailure: (error) => t.fail(`${error}`),
  });
  t.teardown(stop);
  t.false(await findSetBack(run, Math.round(databaseMs)));
  await setAhead(0);
  t.true(await until(async () => await findSetBack(run, Math.round((await readTime(database)).databaseMs))));
});
