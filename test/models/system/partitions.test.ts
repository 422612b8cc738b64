import test from 'ava';
import { runOn } from '../../../models/sql.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
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
