import { randomBytes } from 'node:crypto';
import test from 'ava';
import { buildTestMessage } from '../../core/envelope.ts';
import { createChannel, deleteChannel, updateChannel } from '../../models/channels.ts';
import { closeDatabase, openDatabase, type Database } from '../../models/database.ts';
import {
  claimDelivery,
  countPendingDeliveries,
  deleteOldDeliveries,
  findPendingDelivery,
  insertDeliveries,
  listDueDeliveries,
  recordAttempt,
  type RecordedAttempt,
} from '../../models/deliveries.ts';
import { createSecretBox } from '../../models/secret-box.ts';
import { inPoolTransaction, runOn } from '../../models/sql.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

const NOW_MS = 1_700_000_000_000;
const CLAIM = { nowMs: NOW_MS, claimMs: 15_000 };
const WEBHOOK = { url: 'https://hooks.example/in', signingSecret: 'whsec_c2VjcmV0' };
const MESSAGE = buildTestMessage({ nowMs: NOW_MS, publicUrl: 'https://spotcheck.example' });

const secrets = createSecretBox([{ id: 'k1', key: randomBytes(32) }]);
let testDatabase: TestDatabase;
let database: Database;
let made = 0;

test.before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ databaseUrl: testDatabase.databaseUrl, secrets });
});

test.after.always(async () => {
  await closeDatabase(database);
  await testDatabase.drop();
});

// Serial, and so before the tests that fill the table.
test.serial('pending deliveries are counted with the age of the oldest', async (t) => {
  t.deepEqual(await countPendingDeliveries(database), { pending: 0, oldestCreatedAtMs: null });
  const [oldest] = [await addDelivery({ createdAtMs: NOW_MS - 7 }), await addDelivery()];
  t.deepEqual(await countPendingDeliveries(database), { pending: 2, oldestCreatedAtMs: NOW_MS - 7 });
  await claimDelivery(database, oldest.id, CLAIM);
  t.is((await countPendingDeliveries(database)).pending, 2);
  await recordAttempt(database, attemptOf(oldest.id, { outcome: 'failed' }));
  t.deepEqual(await countPendingDeliveries(database), { pending: 1, oldestCreatedAtMs: NOW_MS });
});

test('a claim gives the attempt everything it needs', async (t) => {
  const { id, tenantId, channelId } = await addDelivery();
  t.deepEqual(await claimDelivery(database, id, CLAIM), {
    deliveryId: id,
    tenantId,
    channelId,
    monitorId: 'mon_1',
    channelType: 'webhook',
    event: 'monitor.up',
    message: MESSAGE,
    attempt: 1,
    webhook: WEBHOOK,
    refusal: null,
  });
});

test('of many that claim at once, one gets the attempt', async (t) => {
  const { id } = await addDelivery();
  const claims = await Promise.all(Array.from({ length: 8 }, () => claimDelivery(database, id, CLAIM)));
  t.is(claims.filter((claim) => claim !== null).length, 1);
  t.is((await attemptsOf(id)).length, 1);
});

test('a delivery is claimed neither before it is due nor after it is finished', async (t) => {
  const { id } = await addDelivery({ createdAtMs: NOW_MS + 1 });
  t.is(await claimDelivery(database, id, CLAIM), null);
  t.truthy(await claimDelivery(database, id, { ...CLAIM, nowMs: NOW_MS + 1 }));
  await recordAttempt(database, attemptOf(id, { outcome: 'delivered' }));
  t.is(await claimDelivery(database, id, { ...CLAIM, nowMs: NOW_MS + 60_000 }), null);
  t.is(await findPendingDelivery(database, id), null);
  t.is(await claimDelivery(database, 'dlv_none', CLAIM), null);
});

test('a claim that nobody answered for expires, and its attempt stays counted', async (t) => {
  const { id, channelId } = await addDelivery();
  await claimDelivery(database, id, CLAIM);
  t.deepEqual(await findPendingDelivery(database, id), { channelId, dueAtMs: NOW_MS + 15_000 });
  t.is(await claimDelivery(database, id, { ...CLAIM, nowMs: NOW_MS + 14_999 }), null);
  t.is((await claimDelivery(database, id, { ...CLAIM, nowMs: NOW_MS + 15_000 }))?.attempt, 2);
  t.deepEqual((await attemptsOf(id)).map(({ attempt, outcome }) => ({ attempt, outcome })), [{ attempt: 1, outcome: null }, { attempt: 2, outcome: null }]);
});

test('a delivered attempt finishes its delivery', async (t) => {
  const { id } = await addDelivery();
  await claimDelivery(database, id, CLAIM);
  t.true(await recordAttempt(database, attemptOf(id, { outcome: 'delivered', statusCode: 204, response: 'ok' })));
  t.deepEqual(await deliveryOf(id), { outcome: 'delivered', attempts: 1, claimed_until: null, next_attempt_at: NOW_MS, finished_at: NOW_MS + 50 });
  t.deepEqual(await attemptsOf(id), [{ attempt: 1, started_at: NOW_MS, duration_ms: 40, outcome: 'delivered', status_code: 204, error: null, response: 'ok' }]);
});

test('a retry gives the claim back and waits for its time', async (t) => {
  const { id, channelId } = await addDelivery();
  await claimDelivery(database, id, CLAIM);
  t.true(await recordAttempt(database, attemptOf(id, { outcome: 'retry', error: 'Connection refused', nextAttemptAtMs: NOW_MS + 5000 })));
  t.deepEqual(await deliveryOf(id), { outcome: 'pending', attempts: 1, claimed_until: null, next_attempt_at: NOW_MS + 5000, finished_at: null });
  t.deepEqual(await findPendingDelivery(database, id), { channelId, dueAtMs: NOW_MS + 5000 });
  t.is(await claimDelivery(database, id, { ...CLAIM, nowMs: NOW_MS + 4999 }), null);
  t.is((await claimDelivery(database, id, { ...CLAIM, nowMs: NOW_MS + 5000 }))?.attempt, 2);
});

test('a worker that outlived its claim records its attempt and leaves the delivery to the next one', async (t) => {
  const { id } = await addDelivery();
  await claimDelivery(database, id, CLAIM);
  await claimDelivery(database, id, { ...CLAIM, nowMs: NOW_MS + 15_000 });
  t.false(await recordAttempt(database, attemptOf(id, { outcome: 'failed', statusCode: 404 })));
  t.is((await deliveryOf(id)).outcome, 'pending');
  t.is((await attemptsOf(id))[0]?.outcome, 'failed');
  t.true(await recordAttempt(database, attemptOf(id, { attempt: 2, outcome: 'delivered' })));
  t.is((await deliveryOf(id)).outcome, 'delivered');
});

test('an answer recorded twice changes nothing the second time', async (t) => {
  const { id } = await addDelivery();
  await claimDelivery(database, id, CLAIM);
  t.true(await recordAttempt(database, attemptOf(id, { outcome: 'delivered' })));
  t.false(await recordAttempt(database, attemptOf(id, { outcome: 'delivered', finishedAtMs: NOW_MS + 999 })));
  t.is((await deliveryOf(id)).finished_at, NOW_MS + 50);
});

test('a channel that was disabled since says so in the claim', async (t) => {
  const { id, tenantId, channelId } = await addDelivery();
  await updateChannel(database, { tenantId, id: channelId }, { enabled: false });
  t.is((await claimDelivery(database, id, CLAIM))?.refusal, 'The channel is disabled');
});

test('a channel that is not connected says so in the claim', async (t) => {
  const { id, channelId } = await addDelivery();
  await database.pool.query(`UPDATE channels SET status = 'pending' WHERE id = $1`, [channelId]);
  t.is((await claimDelivery(database, id, CLAIM))?.refusal, 'The channel is not connected');
});

test('secrets whose key left the ring leave the claim without them', async (t) => {
  const { id } = await addDelivery();
  const rekeyed: Database = { ...database, secrets: createSecretBox([{ id: 'k2', key: randomBytes(32) }]) };
  const claimed = await claimDelivery(rekeyed, id, CLAIM);
  t.is(claimed?.webhook, null);
  t.is(claimed?.refusal, null);
});

test('deliveries vanish with their channel, and so does the attempt', async (t) => {
  const { id, tenantId, channelId } = await addDelivery();
  await deleteChannel(database, { tenantId, id: channelId });
  t.is(await findPendingDelivery(database, id), null);
  t.is(await claimDelivery(database, id, CLAIM), null);
  t.false(await recordAttempt(database, attemptOf(id, { outcome: 'delivered' })));
});

test('deliveries of a transaction that is rolled back were never there', async (t) => {
  const { tenantId, channelId } = await addDelivery();
  const lost = { id: 'dlv_lost', tenantId, channelId, monitorId: 'mon_1', message: MESSAGE, createdAtMs: NOW_MS };
  const broken = inPoolTransaction(database, async (run) => {
    await insertDeliveries(run, [lost]);
    throw new Error('the evaluator broke');
  });
  await t.throwsAsync(broken, { message: 'the evaluator broke' });
  t.is(await findPendingDelivery(database, 'dlv_lost'), null);
});

test('retention takes what was finished long ago with its attempts, and nothing that is pending', async (t) => {
  const [old, recent, pending] = [await addDelivery(), await addDelivery(), await addDelivery()];
  for (const [{ id }, finishedAtMs] of [[old, 999], [recent, 1000]] as const) {
    await claimDelivery(database, id, CLAIM);
    await recordAttempt(database, attemptOf(id, { outcome: 'failed', finishedAtMs }));
  }
  t.is(await deleteOldDeliveries(database, 1000), 1);
  t.deepEqual(await attemptsOf(old.id), []);
  t.is((await deliveryOf(recent.id)).outcome, 'failed');
  t.truthy(await findPendingDelivery(database, pending.id));
});

test('what is long due and held by nobody is listed, longest due first', async (t) => {
  const nowMs = NOW_MS + 1_000_000_000;
  const add = async (createdAtMs: number) => (await addDelivery({ createdAtMs })).id;
  const [young, old, oldest] = [await add(nowMs - 9999), await add(nowMs - 10_000), await add(nowMs - 90_000)];
  const [held, abandoned, finished] = [await add(nowMs - 70_000), await add(nowMs - 80_000), await add(nowMs - 60_000)];
  await claimDelivery(database, held, { nowMs: nowMs - 1000, claimMs: 1001 });
  await claimDelivery(database, abandoned, { nowMs: nowMs - 1000, claimMs: 1000 });
  await claimDelivery(database, finished, { nowMs, claimMs: 1000 });
  await recordAttempt(database, attemptOf(finished, { outcome: 'delivered' }));
  const own = new Set([young, old, oldest, held, abandoned, finished]);
  const due = (await listDueDeliveries(database, { nowMs, limit: 1000 })).filter((delivery) => own.has(delivery.deliveryId));
  t.deepEqual(due, [
    { deliveryId: oldest, attempt: 1 },
    { deliveryId: abandoned, attempt: 2 },
    { deliveryId: old, attempt: 1 },
  ]);
  t.is((await listDueDeliveries(database, { nowMs, limit: 1 })).length, 1);
});

function attemptOf(deliveryId: string, overrides: Partial<RecordedAttempt>): RecordedAttempt {
  return {
    deliveryId,
    attempt: 1,
    outcome: 'delivered',
    statusCode: null,
    durationMs: 40,
    error: null,
    response: null,
    finishedAtMs: NOW_MS + 50,
    nextAttemptAtMs: null,
    ...overrides,
  };
}

async function addDelivery({ createdAtMs = NOW_MS } = {}) {
  made += 1;
  const [id, tenantId, channelId] = [`dlv_${made}`, `ten_${made}`, `nch_${made}`];
  await database.pool.query(`INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $1, 'pro', 0)`, [tenantId]);
  await createChannel(database, { id: channelId, tenantId, type: 'webhook', name: 'Pager', status: 'connected', allMonitors: true, monitorIds: [], webhook: WEBHOOK, nowMs: NOW_MS });
  await insertDeliveries(runOn(database.pool), [{ id, tenantId, channelId, monitorId: 'mon_1', message: MESSAGE, createdAtMs }]);
  return { id, tenantId, channelId };
}

async function deliveryOf(id: string) {
  const { rows } = await database.pool.query('SELECT outcome, attempts, claimed_until, next_attempt_at, finished_at FROM deliveries WHERE id = $1', [id]);
  return rows[0];
}

async function attemptsOf(id: string) {
  const { rows } = await database.pool.query(
    'SELECT attempt, started_at, duration_ms, outcome, status_code, error, response FROM delivery_attempts WHERE delivery_id = $1 ORDER BY attempt',
    [id],
  );
  return rows;
}
