import test from 'ava';
import { runOn, sqlStateOf, withClient } from '../../../models/sql.ts';
import {
  CHORE_LOCK_MS,
  LOCK_NOT_AVAILABLE,
  createPartitions,
  dropOldPartitions,
} from '../../../models/system/partitions.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

const DAY_MS = 86_400_000;

test('processes that create the same partitions concurrently all succeed', async (t) => {
  const { database, now } = await openTestRuntime(t);
  for (let round = 1; round <= 5; round += 1) {
    const laterMs = now() + round * 30 * DAY_MS;
    await t.notThrowsAsync(Promise.all([1, 2, 3, 4].map(() => createPartitions(database, laterMs))));
  }
  const [row] = await runOn(database.pool)<{ count: number }>(
    `SELECT count(*) FROM pg_inherits WHERE inhparent = 'check_results'::regclass`,
  );
  t.is(row?.count, 30);
});

test('while a dump reads a table, its partitions are left alone instead of holding up everyone', async (t) => {
  const { database, now } = await openTestRuntime(t);
  const laterMs = now() + 60 * DAY_MS;
  const keptDays = { check_results: 1, packed_results: 1, heartbeat_pings: 1, hourly_rollups: 1, daily_rollups: 1 };
  await runOn(database.pool)(`INSERT INTO service_marks (name, at, resumed_at) VALUES ('rollups', $1, $1)`, [laterMs]);
  const stateOf = async (work: Promise<unknown>) => await work.then(() => null, sqlStateOf);
  await withClient(database, async (dump) => {
    await dump.query('BEGIN');
    await dump.query('LOCK TABLE check_results IN ACCESS SHARE MODE');
    t.is(await stateOf(createPartitions(database, laterMs, { lockMs: CHORE_LOCK_MS })), LOCK_NOT_AVAILABLE);
    t.is(await stateOf(dropOldPartitions(database, laterMs, keptDays)), LOCK_NOT_AVAILABLE);
    await dump.query('ROLLBACK');
  });
  await createPartitions(database, laterMs);
  const dropped = await dropOldPartitions(database, laterMs, keptDays);
  t.true(dropped.some((name) => name.startsWith('check_results_')));
});
