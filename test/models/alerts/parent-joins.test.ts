import test, { type ExecutionContext } from 'ava';
import type { Monitor } from '../../../core/monitors/monitor.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { awaitOwnResults } from '../../../models/alerts/parent-holds.ts';
import { joinParent } from '../../../models/alerts/parent-joins.ts';
import { replaceParents } from '../../../models/monitors/dependencies.ts';
import { inTransaction, runOn, type Run } from '../../../models/sql.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { WAITING } from '../../helpers/database.ts';
import { recordAttempt } from '../../helpers/deliveries.ts';
import { openTestRuntime, resultOf } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

/** Sets up a router, a switch behind it and a shop behind that, all down; each alert waits to be claimed. */
async function prepareChain(t: ExecutionContext) {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, newId, now } = runtime;
  const agent = await runtime.addAgent('local');
  const evaluate = createEvaluator({ ...runtime, now });
  const channelId = newId('nch');
  await createChannel(database, {
    id: channelId,
    tenantId,
    type: 'telegram',
    name: 'On call',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    nowMs: 0,
    author: null,
  });
  const monitors: Monitor[] = [];
  for (const name of ['Router', 'Switch', 'Shop']) {
    const monitor = await runtime.addMonitor([agent], { name, downAfterFailures: 1 });
    const parents = monitors.slice(-1).map(({ id }) => ({ id, mode: 'hold' as const }));
    await replaceParents(runOn(database.pool), { tenantId, monitor, parents });
    await evaluate([resultOf(monitor, agent, { dueAtMs: now() - 60_000, verdict: 'up' })]);
    monitors.push(monitor);
  }
  for (const monitor of monitors.toReversed())
    await evaluate([resultOf(monitor, agent, { dueAtMs: now() - 30_000, verdict: 'down' })]);
  const { rows } = await database.pool.query<{ id: string; monitorId: string }>(
    `SELECT id, monitor_id AS "monitorId" FROM deliveries WHERE event = 'monitor.down'`,
  );
  const [router, inner, shop] = monitors.map((monitor) => ({
    parentNo: monitor.no,
    parentId: monitor.id,
    alertId: rows.find(({ monitorId }) => monitorId === monitor.id)?.id ?? '',
  }));
  if (router === undefined || inner === undefined || shop === undefined) throw new Error('There are three');
  const joinIn = (run: Run, parent: typeof router, claimed: typeof router) =>
    joinParent(
      run,
      { ...parent, channelId, rootId: parent.alertId, rootNo: parent.parentNo },
      { claimedId: claimed.alertId, nowMs: now() },
    );
  const join = (parent: typeof router, claimed: typeof router) =>
    inTransaction(database, (run) => joinIn(run, parent, claimed));
  const rootsOf = async () => {
    const holds = await database.pool.query<{ id: string; rootId: string | null }>(
      'SELECT delivery_id AS id, joined_id AS "rootId" FROM parent_holds',
    );
    return new Map(holds.rows.map(({ id, rootId }) => [id, rootId]));
  };
  return { database, tenantId, router, inner, shop, join, joinIn, rootsOf };
}

test('an alert whose parent has already joined a message joins that message', async (t) => {
  const { router, inner, shop, join, rootsOf } = await prepareChain(t);
  const joined = { rootId: router.alertId, isSent: false };
  t.deepEqual(await join(router, inner), joined);
  t.deepEqual(await join(inner, shop), joined);
  t.is((await rootsOf()).get(shop.alertId), router.alertId);
});

test('alerts that joined an alert move with it when it joins another one concurrently', async (t) => {
  const { database, router, inner, shop, join, rootsOf } = await prepareChain(t);
  const moving = await inTransaction(database, async (run) => {
    await run('SELECT FROM deliveries WHERE id = $1 FOR SHARE', [inner.alertId]);
    await run('UPDATE parent_holds SET joined_id = $1 WHERE delivery_id = $2', [inner.alertId, shop.alertId]);
    await run(`UPDATE deliveries SET outcome = 'superseded' WHERE id = $1`, [shop.alertId]);
    const waiting = join(router, inner);
    await until(async () => (await database.pool.query(WAITING)).rowCount === 1);
    return { waiting };
  });
  t.deepEqual(await moving.waiting, { rootId: router.alertId, isSent: false });
  t.is((await rootsOf()).get(shop.alertId), router.alertId);
});

test('when a monitor is up, all alerts in its message, direct or not, wait for their own results', async (t) => {
  const { database, router, inner, shop, join, rootsOf } = await prepareChain(t);
  await join(router, inner);
  await join(inner, shop);
  const { monitorIds } = await awaitOwnResults(runOn(database.pool), { parentIds: [router.parentId] }, Date.now());
  t.deepEqual(monitorIds.toSorted(), [inner.parentId, shop.parentId].toSorted());
  t.deepEqual([...(await rootsOf()).values()], [null, null]);
});

test('an alert that joins a message while another of its parents recovers stays in it', async (t) => {
  const { database, tenantId, router, inner, shop, joinIn, rootsOf } = await prepareChain(t);
  const run = runOn(database.pool);
  const monitor = { no: shop.parentNo, id: shop.parentId };
  const parents = [router, inner].map(({ parentId: id }) => ({ id, mode: 'hold' as const }));
  await replaceParents(run, { tenantId, monitor, parents });
  await run('UPDATE parent_holds SET awaits_own = true, since = 0 WHERE delivery_id = $1', [shop.alertId]);
  const recovered = await inTransaction(database, async (joining) => {
    await joinIn(joining, inner, shop);
    const waiting = awaitOwnResults(run, { parentIds: [router.parentId], wereDown: true }, Date.now());
    await until(async () => (await database.pool.query(WAITING)).rowCount === 1);
    return { waiting };
  });
  t.false((await recovered.waiting).monitorIds.includes(shop.parentId));
  t.is((await rootsOf()).get(shop.alertId), inner.alertId);
});

test('a failed message releases an alert in it that another transaction holds, without a deadlock', async (t) => {
  const { database, router, inner, join, rootsOf } = await prepareChain(t);
  await join(router, inner);
  await database.pool.query('UPDATE deliveries SET attempts = 1 WHERE id = $1', [router.alertId]);
  const { recording } = await inTransaction(database, async (run) => {
    await run('SELECT FROM deliveries WHERE id = $1 FOR NO KEY UPDATE', [inner.alertId]);
    const begun = recordAttempt(database, {
      deliveryId: router.alertId,
      attempt: 1,
      outcome: 'failed',
      statusCode: 400,
      durationMs: 1,
      error: 'refused',
      response: null,
      finishedAtMs: Date.now(),
      nextAttemptAtMs: null,
    });
    await until(async () => (await database.pool.query(WAITING)).rowCount === 1);
    // Recoveries and joins change an alert's hold after they have locked the alert.
    await run('SELECT FROM parent_holds WHERE delivery_id = $1 FOR NO KEY UPDATE NOWAIT', [inner.alertId]);
    return { recording: begun };
  });
  t.true(await recording);
  t.is((await rootsOf()).get(inner.alertId), null);
});

test('no alert joins a message that is being dropped concurrently', async (t) => {
  const { database, router, inner, join } = await prepareChain(t);
  const dropped = await inTransaction(database, async (run) => {
    await run(`UPDATE deliveries SET outcome = 'superseded' WHERE id = $1`, [router.alertId]);
    const waiting = join(router, inner);
    await until(async () => (await database.pool.query(WAITING)).rowCount === 1);
    return { waiting };
  });
  t.is(await dropped.waiting, null);
});

test('no alert joins the message of a monitor that is up again', async (t) => {
  const { database, router, inner, shop, join, rootsOf } = await prepareChain(t);
  await join(router, inner);
  await database.pool.query(`UPDATE monitors SET state = 'up', sequence = sequence + 1 WHERE no = $1`, [
    router.parentNo,
  ]);
  t.is(await join(inner, shop), null);
  t.is((await rootsOf()).get(shop.alertId), null);
});
