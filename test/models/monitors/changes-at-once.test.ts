import test from 'ava';
import { findMonitor } from '../../../models/monitors/monitors.ts';
import { runOn } from '../../../models/sql.ts';
import { changeMonitor, openTestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

test('who changes a monitor while another change gives it other sources sees those, and takes none away', async (t) => {
  const { database, tenantId, addAgent, addMonitor, now } = await openTestRuntime(t);
  const [old, other] = [await addAgent('hanoi'), await addAgent('lima')];
  const { id } = await addMonitor([old]);
  const key = { tenantId, id, nowMs: now() };
  const [isLocked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = changeMonitor(database, key, async ({ monitor, secrets }) => {
    isLocked.resolve();
    await goOn.promise;
    return { settings: monitor, secrets, agentIds: [other.id] };
  });
  await isLocked.promise;
  const second = changeMonitor(database, key, ({ monitor, secrets, agentIds }) => {
    t.deepEqual(agentIds, [other.id]);
    return { settings: { ...monitor, intervalSeconds: 120 }, secrets, agentIds };
  });
  const countWaiting = async () =>
    (
      await runOn(database.pool)<{ count: number }>(
        `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
    )[0]?.count ?? 0;
  await until(async () => (await countWaiting()) > 0);
  goOn.resolve();
  await Promise.all([first, second]);
  const found = await findMonitor(database, key);
  t.deepEqual(found?.agentIds, [other.id]);
  t.is(found?.monitor.intervalSeconds, 120);
});
