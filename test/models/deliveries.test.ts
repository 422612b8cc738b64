import { randomBytes } from 'node:crypto';
import test from 'ava';
import { buildTestMessage } from '../../core/envelope.ts';
import { createChannel, deleteChannel, updateChannel } from '../../models/channels.ts';
import { closeDatabase, openDatabase, type Database } from '../../models/database.ts';
import {
  claimNextDelivery,
  countPendingDeliveries,
  deleteOldDeliveries,
  insertDeliveries,
  listOverdueChannels,
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
  await claimNextDelivery(database, oldest.channelId, CLAIM);
  t.is((await countPendingDeliveries(database)).pending, 2);
  await recordAttempt(database, attemptOf(oldest.id, { outcome: 'failed' }));
  t.deepEqual(await countPendingDeliveries(database), { pending: 1, oldestCreatedAtMs: NOW_MS });
});

// Serial and on one connection, so that next to nothing but this test is counted: a few reads of the test before may be told late.
test.serial('a claim finds its delivery among a hundred thousand by the index, and reads no other', async (t) => {
  const single = openDatabase({ databaseUrl: testDatabase.databaseUrl, secrets, poolSize: 1 });
  t.teardown(() => closeDatabase(single));
  const [crowded, storm] = [await addDelivery(), await addDelivery()];
  for (const { tenantId, channelId } of [crowded, storm]) {
    await single.pool.query(
      `INSERT INTO deliveries (id, tenant_id, channel_id, event, message, next_attempt_at, created_at)
       SELECT $2 || '_' || lpad(n::text, 6, '0'), $1, $2, 'monitor.down', '{}', $3::bigint - n, $3 FROM generate_series(1, 50000) AS n`,
      [tenantId, channelId, NOW_MS],
    );
  }
  await single.pool.query('ANALYZE deliveries');
  const before = await rowsRead(single);
  for (const { channelId } of [crowded, storm, storm]) t.truthy(await claimNextDelivery(single, channelId, CLAIM));
  const after = await rowsRead(single);
  t.true(after.scanned - before.scanned < 100, `${after.scanned - before.scanned} rows by scans`);
  t.true(after.fetched - before.fetched < 100, `${after.fetched - before.fetched} rows by indexes`);
  await single.pool.query('DELETE FROM deliveries WHERE channel_id = ANY ($1)', [[crowded.channelId, storm.channelId]]);
});

test('a claim gives the attempt everything it needs', async (t) => {
  const { id, tenantId, channelId } = await addDelivery();
  t.deepEqual(await claimNextDelivery(database, channelId, CLAIM), {
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
    hasMore: false,
  });
});

test('of many that claim at once each gets another delivery, and the rest get none', async (t) => {
  const first = await addDelivery();
  const ids = [first.id, ...(await Promise.all(Array.from({ length: 4 }, () => addDeliveryTo(first))))];
  const claims = await Promise.all(Array.from({ length: 12 }, () => claimNextDelivery(database, first.channelId, CLAIM)));
  t.deepEqual(claims.flatMap((claim) => claim?.deliveryId ?? []).toSorted(), ids.toSorted());
  for (const id of ids) t.is((await attemptsOf(id)).length, 1);
});

test('a claim tells whether the channel has more that is due and held by nobody', async (t) => {
  const first = await addDelivery();
  await addDeliveryTo(first);
  await addDeliveryTo(first, { createdAtMs: NOW_MS + 1 });
  t.is((await claimNextDelivery(database, first.channelId, CLAIM))?.hasMore, true);
  t.is((await claimNextDelivery(database, first.channelId, CLAIM))?.hasMore, false);
});

test('the longest due is claimed first, and what came at once by its id', async (t) => {
  const first = await addDelivery({ createdAtMs: NOW_MS - 1 });
  const [second, third] = [await addDeliveryTo(first), await addDeliveryTo(first)];
  const retried = await addDeliveryTo(first, { createdAtMs: NOW_MS - 2 });
  const other = await addDelivery({ createdAtMs: NOW_MS - 3 });
  const claimed: (string | undefined)[] = [];
  for (let count = 0; count < 5; count += 1) claimed.push((await claimNextDelivery(database, first.channelId, CLAIM))?.deliveryId);
  t.deepEqual(claimed, [retried, first.id, second, third, undefined]);
  t.is((await deliveryOf(other.id)).attempts, 0);
});

test('a delivery is claimed neither before it is due nor after it is finished', async (t) => {
  const { id, channelId } = await addDelivery({ createdAtMs: NOW_MS + 1 });
  t.is(await claimNextDelivery(database, channelId, CLAIM), null);
  t.truthy(await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 1 }));
  await recordAttempt(database, attemptOf(id, { outcome: 'delivered' }));
  t.is(await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 60_000 }), null);
  t.is(await claimNextDelivery(database, 'nch_none', CLAIM), null);
});

test('a claim that nobody answered for expires, and its attempt stays counted', async (t) => {
  const { id, channelId } = await addDelivery();
  await claimNextDelivery(database, channelId, CLAIM);
  t.is(await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 14_999 }), null);
  t.is((await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 15_000 }))?.attempt, 2);
  t.deepEqual((await attemptsOf(id)).map(({ attempt, outcome }) => ({ attempt, outcome })), [{ attempt: 1, outcome: null }, { attempt: 2, outcome: null }]);
});

test('a delivered attempt finishes its delivery', async (t) => {
  const { id, channelId } = await addDelivery();
  await claimNextDelivery(database, channelId, CLAIM);
  t.true(await recordAttempt(database, attemptOf(id, { outcome: 'delivered', statusCode: 204, response: 'ok' })));
  t.deepEqual(await deliveryOf(id), { outcome: 'delivered', attempts: 1, claimed_until: null, next_attempt_at: NOW_MS, finished_at: NOW_MS + 50 });
  t.deepEqual(await attemptsOf(id), [{ attempt: 1, started_at: NOW_MS, duration_ms: 40, outcome: 'delivered', status_code: 204, error: null, response: 'ok' }]);
});

test('a retry gives the claim back and waits for its time', async (t) => {
  const { id, channelId } = await addDelivery();
  await claimNextDelivery(database, channelId, CLAIM);
  t.true(await recordAttempt(database, attemptOf(id, { outcome: 'retry', error: 'Connection refused', nextAttemptAtMs: NOW_MS + 5000 })));
  t.deepEqual(await deliveryOf(id), { outcome: 'pending', attempts: 1, claimed_until: null, next_attempt_at: NOW_MS + 5000, finished_at: null });
  t.is(await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 4999 }), null);
  t.is((await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 5000 }))?.attempt, 2);
});

test('a worker that outlived its claim records its attempt and leaves the delivery to the next one', async (t) => {
  const { id, channelId } = await addDelivery();
  await claimNextDelivery(database, channelId, CLAIM);
  await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 15_000 });
  t.false(await recordAttempt(database, attemptOf(id, { outcome: 'failed', statusCode: 404 })));
  t.is((await deliveryOf(id)).outcome, 'pending');
  t.is((await attemptsOf(id))[0]?.outcome, 'failed');
  t.true(await recordAttempt(database, attemptOf(id, { attempt: 2, outcome: 'delivered' })));
  t.is((await deliveryOf(id)).outcome, 'delivered');
});

test('an answer recorded twice changes nothing the second time', async (t) => {
  const { id, channelId } = await addDelivery();
  await claimNextDelivery(database, channelId, CLAIM);
  t.true(await recordAttempt(database, attemptOf(id, { outcome: 'delivered' })));
  t.false(await recordAttempt(database, attemptOf(id, { outcome: 'delivered', finishedAtMs: NOW_MS + 999 })));
  t.is((await deliveryOf(id)).finished_at, NOW_MS + 50);
});

test('a channel that was disabled since says so in the claim', async (t) => {
  const { tenantId, channelId } = await addDelivery();
  await updateChannel(database, { tenantId, id: channelId }, { enabled: false });
  t.is((await claimNextDelivery(database, channelId, CLAIM))?.refusal, 'The channel is disabled');
});

test('a channel that is not connected says so in the claim', async (t) => {
  const { channelId } = await addDelivery();
  await database.pool.query(`UPDATE channels SET status = 'pending' WHERE id = $1`, [channelId]);
  t.is((await claimNextDelivery(database, channelId, CLAIM))?.refusal, 'The channel is not connected');
});

test('secrets whose key left the ring leave the claim without them', async (t) => {
  const { channelId } = await addDelivery();
  const rekeyed: Database = { ...database, secrets: createSecretBox([{ id: 'k2', key: randomBytes(32) }]) };
  const claimed = await claimNextDelivery(rekeyed, channelId, CLAIM);
  t.is(claimed?.webhook, null);
  t.is(claimed?.refusal, null);
});

test('deliveries vanish with their channel, and so does the attempt', async (t) => {
  const { id, tenantId, channelId } = await addDelivery();
  await claimNextDelivery(database, channelId, CLAIM);
  await deleteChannel(database, { tenantId, id: channelId });
  t.is(await deliveryOf(id), undefined);
  t.is(await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 60_000 }), null);
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
  t.is(await deliveryOf('dlv_lost'), undefined);
});

test('retention takes what was finished long ago with its attempts, and nothing that is pending', async (t) => {
  const [old, recent, pending] = [await addDelivery(), await addDelivery(), await addDelivery()];
  for (const [{ id, channelId }, finishedAtMs] of [[old, 999], [recent, 1000]] as const) {
    await claimNextDelivery(database, channelId, CLAIM);
    await recordAttempt(database, attemptOf(id, { outcome: 'failed', finishedAtMs }));
  }
  t.is(await deleteOldDeliveries(database, 1000), 1);
  t.deepEqual(await attemptsOf(old.id), []);
  t.is((await deliveryOf(recent.id)).outcome, 'failed');
  t.is((await deliveryOf(pending.id)).outcome, 'pending');
});

test('channels with deliveries that are long due and held by nobody are listed, the longest due first', async (t) => {
  const nowMs = NOW_MS + 1_000_000_000;
  const add = (sinceMs: number) => addDelivery({ createdAtMs: nowMs - sinceMs });
  const [young, old, oldest] = [await add(9999), await add(10_000), await add(90_000)];
  const [held, abandoned, finished] = [await add(70_000), await add(80_000), await add(60_000)];
  const recent = await addDeliveryTo(oldest, { createdAtMs: nowMs - 5000 });
  await addDeliveryTo(oldest, { createdAtMs: nowMs - 20_000 });
  // Where somebody is at work on one, nothing is lost yet, however long the others have been due.
  await addDeliveryTo(held, { createdAtMs: nowMs - 75_000 });
  await claimNextDelivery(database, held.channelId, { nowMs: nowMs - 1000, claimMs: 1001 });
  await claimNextDelivery(database, abandoned.channelId, { nowMs: nowMs - 1000, claimMs: 1000 });
  await claimNextDelivery(database, finished.channelId, { nowMs, claimMs: 1000 });
  await recordAttempt(database, attemptOf(finished.id, { outcome: 'delivered' }));
  const own = new Set([young, old, oldest, held, abandoned, finished].map(({ channelId }) => channelId));
  const overdue = (await listOverdueChannels(database, { nowMs, limit: 1000 })).filter(({ channelId }) => own.has(channelId));
  t.deepEqual(overdue, [
    { channelId: oldest.channelId, deliveryId: oldest.id, attempt: 1, dueAtMs: nowMs - 90_000, deliveries: 2 },
    { channelId: abandoned.channelId, deliveryId: abandoned.id, attempt: 2, dueAtMs: nowMs - 80_000, deliveries: 1 },
    { channelId: old.channelId, deliveryId: old.id, attempt: 1, dueAtMs: nowMs - 10_000, deliveries: 1 },
  ]);
  t.is((await deliveryOf(recent)).outcome, 'pending');
  t.is((await listOverdueChannels(database, { nowMs, limit: 1 })).length, 1);
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
  const [tenantId, channelId] = [`ten_${made}`, `nch_${made}`];
  await database.pool.query(`INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $1, 'pro', 0)`, [tenantId]);
  await createChannel(database, { id: channelId, tenantId, type: 'webhook', name: 'Pager', status: 'connected', allMonitors: true, monitorIds: [], webhook: WEBHOOK, nowMs: NOW_MS });
  return { id: await addDeliveryTo({ tenantId, channelId }, { createdAtMs }), tenantId, channelId };
}

async function addDeliveryTo({ tenantId, channelId }: { tenantId: string; channelId: string }, { createdAtMs = NOW_MS } = {}): Promise<string> {
  made += 1;
  const id = `dlv_${String(made).padStart(6, '0')}`;
  await insertDeliveries(runOn(database.pool), [{ id, tenantId, channelId, monitorId: 'mon_1', message: MESSAGE, createdAtMs }]);
  return id;
}

/** Rows of the table that were read by scans of it, and by its indexes. */
async function rowsRead({ pool }: Database): Promise<{ scanned: number; fetched: number }> {
  await pool.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await pool.query(`SELECT seq_tup_read AS scanned, coalesce(idx_tup_fetch, 0) AS fetched FROM pg_stat_user_tables WHERE relname = 'deliveries'`);
  return rows[0];
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
