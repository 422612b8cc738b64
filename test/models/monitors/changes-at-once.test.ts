import test from 'ava';
import { restoreRegion, retireRegion } from '../../../models/agents/retired-regions.ts';
import { updateLastSeenAt } from '../../../models/agents/shared-agents.ts';
import type { Database } from '../../../models/database.ts';
import {
  MonitorRefusal,
  deleteMonitor,
  lockMonitor,
  updateMonitor,
  type LockedMonitor,
} from '../../../models/monitors/monitor-changes.ts';
import { findMonitor } from '../../../models/monitors/monitors.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { changeMonitor, openTestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

test('a change that waits for another one with new sources sees those and removes none', async (t) => {
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
  await untilBlocked(database);
  goOn.resolve();
  await Promise.all([first, second]);
  const found = await findMonitor(database, key);
  t.deepEqual(found?.agentIds, [other.id]);
  t.is(found?.monitor.intervalSeconds, 120);
});

test('a change with a deleted agent is refused, and one with a vendor deleted meanwhile omits it', async (t) => {
  const { database, tenantId, addAgent, addMonitor, now } = await openTestRuntime(t);
  const [old, other, gone] = [await addAgent('hanoi'), await addAgent('lima'), await addAgent('oslo')];
  const [{ id }, vendor] = [await addMonitor([old]), await addMonitor([], { type: 'vendor', target: 'github' })];
  const key = { tenantId, id, nowMs: now() };
  const run = runOn(database.pool);
  await run('DELETE FROM agents WHERE id = $1', [gone.id]);
  const refusal = await t.throwsAsync<MonitorRefusal>(
    changeMonitor(database, key, ({ monitor, secrets }) => ({ settings: monitor, secrets, agentIds: [gone.id] })),
    { instanceOf: MonitorRefusal },
  );
  t.deepEqual(refusal?.why, { reason: 'agents_gone', ids: [gone.id] });

  const [isLocked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const change = changeMonitor(database, key, async ({ monitor, secrets }) => {
    isLocked.resolve();
    await goOn.promise;
    const checkSpec = { ...monitor.checkSpec, dependencies: [vendor.id] };
    return { settings: { ...monitor, checkSpec }, secrets, agentIds: [other.id] };
  });
  await isLocked.promise;
  await deleteMonitor(database, { ...key, id: vendor.id, author: null });
  goOn.resolve();
  await change;
  const found = await findMonitor(database, key);
  t.deepEqual(found?.agentIds, [other.id]);
  t.is(found?.monitor.checkSpec.dependencies, undefined);
});

test('a region retired during a change is refused, and one retired before the commit loses it', async (t) => {
  const { database, tenantId, addAgent, addMonitor, now, newId } = await openTestRuntime(t);
  const [hanoi, lima] = [await addAgent('hanoi'), await addAgent('lima')];
  const { id } = await addMonitor([hanoi]);
  const key = { tenantId, id, nowMs: now() };
  const retirement = { region: 'lima', moveTo: null, nowMs: now(), newId, limit: Number.POSITIVE_INFINITY };
  const change = ({ monitor, secrets }: LockedMonitor) => ({ settings: monitor, secrets, agentIds: [lima.id] });
  const retired = inTransaction(database, async (run) => {
    const locked = await lockMonitor(database, run, key);
    if (locked === null) throw new Error('The monitor is gone');
    await updateMonitor({ database, run, author: null, nowMs: now() }, locked, change(locked));
    const retiring = retireRegion(database, retirement);
    await untilBlocked(database);
    // Its check-ins do not wait.
    await updateLastSeenAt(database, lima.no, now());
    return { retiring };
  });
  t.like(await (await retired).retiring, { left: 0 });
  t.deepEqual((await findMonitor(database, key))?.agentIds, [hanoi.id]);

  await restoreRegion(database, 'lima');
  const refusal = await t.throwsAsync<MonitorRefusal>(
    changeMonitor(database, key, async (locked) => {
      t.like(await retireRegion(database, retirement), { left: 0 });
      return change(locked);
    }),
    { instanceOf: MonitorRefusal },
  );
  t.deepEqual(refusal?.why, { reason: 'agents_gone', ids: [lima.id] });
});

test('a vendor deleted while a change refers to it is removed from the monitor', async (t) => {
  const { database, tenantId, addAgent, addMonitor, now } = await openTestRuntime(t);
  const [{ id }, vendor] = [
    await addMonitor([await addAgent('hanoi')]),
    await addMonitor([], { type: 'vendor', target: 'github' }),
  ];
  const key = { tenantId, id, nowMs: now() };
  const stored = Promise.withResolvers<void>();
  const deletion = stored.promise.then(() => deleteMonitor(database, { ...key, id: vendor.id, author: null }));
  await inTransaction(database, async (run) => {
    const locked = await lockMonitor(database, run, key);
    if (locked === null) throw new Error('The monitor is gone');
    const checkSpec = { ...locked.monitor.checkSpec, dependencies: [vendor.id] };
    const change = { settings: { ...locked.monitor, checkSpec }, secrets: locked.secrets, agentIds: locked.agentIds };
    await updateMonitor({ database, run, author: null, nowMs: now() }, locked, change);
    stored.resolve();
    await untilBlocked(database);
  });
  await deletion;
  t.is((await findMonitor(database, key))?.monitor.checkSpec.dependencies, undefined);
});

/** Waits until a statement of this database is blocked by a lock. */
async function untilBlocked(database: Pick<Database, 'pool'>): Promise<void> {
  await until(async () => {
    const waiting = await runOn(database.pool)(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return waiting.length > 0;
  });
}
