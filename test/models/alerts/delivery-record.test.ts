import test from 'ava';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { type RecordedAttempt } from '../../../models/alerts/delivery-attempts.ts';
import {
  findDelivery,
  listDeliveries,
  MAX_ATTEMPTS,
  reopenDelivery,
  replayDeliveries,
} from '../../../models/alerts/delivery-record.ts';
import { closeDatabase, type Database } from '../../../models/database.ts';
import { runOn } from '../../../models/sql.ts';
import { createTestDatabase, fillTables, openTestDatabase, type TestDatabase } from '../../helpers/database.ts';
import { claimNextDelivery, recordAttempt } from '../../helpers/deliveries.ts';

const NOW_MS = 1_700_000_000_000;
const LATER_MS = NOW_MS + 3_600_000;
const MESSAGE = buildTestMessage({ nowMs: NOW_MS, publicUrl: 'https://spotcheck.example' });

let testDatabase: TestDatabase;
let database: Database;
let made = 0;

test.before(async () => {
  testDatabase = await createTestDatabase();
  database = openTestDatabase(testDatabase.databaseUrl, { poolSize: 8 });
});

test.after.always(async () => {
  await closeDatabase(database);
  await testDatabase.drop();
});

test('a delivery is returned with its message and all attempts, including an unfinished one', async (t) => {
  const channel = await addChannel();
  const id = await addDelivery(channel);
  await attempt(channel, {
    outcome: 'retry',
    statusCode: 503,
    error: 'The endpoint responded with 503',
    response: 'later',
    nextAttemptAtMs: NOW_MS + 5000,
  });
  await claimNextDelivery(database, channel.channelId, { nowMs: NOW_MS + 5000, claimMs: 1000 });
  const found = await findDelivery(database, { tenantId: channel.tenantId, id });
  t.deepEqual(found, {
    id,
    channelId: channel.channelId,
    monitorId: 'mon_1',
    monitorName: 'Test delivery',
    agentId: null,
    drillId: null,
    agentName: null,
    incidentId: null,
    event: 'monitor.up',
    outcome: 'pending',
    attemptCount: 2,
    merged: 0,
    heldBy: null,
    heldByMonitorId: null,
    lastError: 'The endpoint responded with 503',
    createdAtMs: NOW_MS,
    nextAttemptAtMs: NOW_MS + 5000,
    finishedAtMs: null,
    message: MESSAGE,
    attempts: [
      {
        attempt: 1,
        startedAtMs: NOW_MS,
        durationMs: 40,
        outcome: 'retry',
        statusCode: 503,
        error: 'The endpoint responded with 503',
        response: 'later',
      },
      {
        attempt: 2,
        startedAtMs: NOW_MS + 5000,
        durationMs: null,
        outcome: null,
        statusCode: null,
        error: null,
        response: null,
      },
    ],
  });
  t.is(await findDelivery(database, { tenantId: 'ten_other', id }), null);
});

test('deliveries are listed newest first, by outcome, event and page, and only to their account', async (t) => {
  const channel = await addChannel();
  const oldest = await addDelivery(channel, NOW_MS);
  const twins = [await addDelivery(channel, NOW_MS + 1), await addDelivery(channel, NOW_MS + 1)];
  await attempt(channel, { outcome: 'failed', error: 'The endpoint responded with 404' });
  const list = async (filter = {}, more = {}) =>
    (
      await listDeliveries(database, {
        tenantId: channel.tenantId,
        channelId: channel.channelId,
        filter,
        limit: 10,
        ...more,
      })
    ).map(({ id }) => id);
  t.deepEqual(await list(), [...twins.toReversed(), oldest]);
  t.deepEqual(await list({ outcome: 'failed' }), [oldest]);
  t.deepEqual(await list({ outcome: 'pending' }), twins.toReversed());
  t.deepEqual(await list({ event: 'monitor.up', outcome: 'failed' }), [oldest]);
  t.deepEqual(await list({ event: 'monitor.down' }), []);
  t.deepEqual(await list({}, { before: { createdAtMs: NOW_MS + 1, id: twins[1] } }), [twins[0], oldest]);
  t.deepEqual(await list({}, { limit: 1 }), [twins[1]]);
  t.deepEqual(await list({}, { tenantId: 'ten_other' }), []);
});

test('a redelivery keeps its id and attempts and starts a new round', async (t) => {
  const channel = await addChannel();
  const id = await addDelivery(channel);
  await attempt(channel, { outcome: 'failed', error: 'The endpoint responded with 404' });
  const key = { tenantId: channel.tenantId, id };
  t.deepEqual(await reopenDelivery(database, { ...key, author: null }, LATER_MS), {
    id,
    channelId: channel.channelId,
    attempt: 2,
  });
  t.like(await findDelivery(database, key), {
    outcome: 'pending',
    attemptCount: 1,
    nextAttemptAtMs: LATER_MS,
    finishedAtMs: null,
  });
  t.is(await reopenDelivery(database, { ...key, author: null }, LATER_MS), null);
  const claimed = await claimNextDelivery(database, channel.channelId, { nowMs: LATER_MS, claimMs: 1000 });
  t.like(claimed, { deliveryId: id, attempt: 2, attemptsBefore: 1 });
});

test('of concurrent redelivery requests only one succeeds', async (t) => {
  const channel = await addChannel();
  const id = await addDelivery(channel);
  await attempt(channel, { outcome: 'delivered' });
  const reopened = await Promise.all(
    Array.from({ length: 8 }, () =>
      reopenDelivery(database, { tenantId: channel.tenantId, id, author: null }, LATER_MS),
    ),
  );
  t.is(reopened.filter((one) => one !== null).length, 1);
});

test('a delivery with the maximum number of attempts is neither redelivered nor replayed', async (t) => {
  const channel = await addChannel();
  const id = await addDelivery(channel);
  await attempt(channel, { outcome: 'failed', error: 'gone' });
  await database.pool.query('UPDATE deliveries SET attempts = $2 WHERE id = $1', [id, MAX_ATTEMPTS]);
  t.is(await reopenDelivery(database, { tenantId: channel.tenantId, id, author: null }, LATER_MS), null);
  t.is((await replay(channel)).count, 0);
});

test('a replay includes the failures of its period, both ends included, in order of creation', async (t) => {
  const channel = await addChannel();
  const ids: string[] = [];
  for (let index = 0; index < 6; index += 1) {
    ids.push(await addDelivery(channel, NOW_MS + index));
    await attempt(channel, { outcome: index === 3 ? 'delivered' : 'failed', error: index === 3 ? null : 'gone' });
  }
  const other = await addChannel();
  const foreign = await addDelivery(other, NOW_MS + 2);
  await attempt(other, { outcome: 'failed', error: 'gone' });
  const { count, first } = await replay(channel, { sinceMs: NOW_MS + 1, untilMs: NOW_MS + 4 });
  t.is(count, 3);
  t.deepEqual(first, { id: ids[1], channelId: channel.channelId, attempt: 2 });
  const claimed: (string | undefined)[] = [];
  for (let claims = 0; claims < 4; claims += 1) {
    const claim = await claimNextDelivery(database, channel.channelId, { nowMs: LATER_MS, claimMs: 1000 });
    claimed.push(claim?.deliveryId);
    if (claim !== null)
      await recordAttempt(database, { ...RECORDED, deliveryId: claim.deliveryId, attempt: claim.attempt });
  }
  t.deepEqual(claimed, [ids[1], ids[2], ids[4], undefined]);
  t.like(await findDelivery(database, { tenantId: other.tenantId, id: foreign }), { outcome: 'failed' });
});

test('in a replay a delivery waits for the first attempt at the one before it, and no longer', async (t) => {
  const channel = await addChannel();
  const ids: string[] = [];
  for (let index = 0; index < 3; index += 1) {
    ids.push(await addDelivery(channel, NOW_MS + index, null));
    await attempt(channel, { outcome: 'failed', error: 'gone' });
  }
  await replay(channel);
  const claim = () => claimNextDelivery(database, channel.channelId, { nowMs: LATER_MS, claimMs: 1000 });
  const record = (deliveryId: string | undefined, result: Partial<RecordedAttempt>) =>
    recordAttempt(database, { ...RECORDED, deliveryId: deliveryId ?? '', attempt: 2, ...result });
  t.is((await claim())?.deliveryId, ids[0]);
  t.is(await claim(), null);
  await record(ids[0], { outcome: 'retry', nextAttemptAtMs: LATER_MS + 60_000 });
  t.is((await claim())?.deliveryId, ids[1]);
  t.is(await claim(), null);
  await record(ids[1], { outcome: 'delivered' });
  t.is((await claim())?.deliveryId, ids[2]);
});

test('concurrent replays take each delivery once', async (t) => {
  const channel = await addChannel();
  for (let index = 0; index < 30; index += 1) {
    await addDelivery(channel, NOW_MS + index);
    await attempt(channel, { outcome: 'failed', error: 'gone' });
  }
  const results = await Promise.all(Array.from({ length: 4 }, () => replay(channel)));
  t.is(
    results.reduce((sum, { count }) => sum + count, 0),
    30,
  );
  t.is((await replay(channel)).count, 0);
});

// Serial and on one connection, so that the statistics contain almost only this test's reads.
test.serial('failed deliveries are found among 100,000 without reading the delivered ones', async (t) => {
  const single = openTestDatabase(testDatabase.databaseUrl, { secrets: database.secrets, poolSize: 1 });
  t.teardown(() => closeDatabase(single));
  const channel = await addChannel();
  await fillTables(
    single,
    `INSERT INTO deliveries (id, tenant_id, channel_id, event, message, outcome, attempts, next_attempt_at, created_at,
     finished_at)
     SELECT 'dlv_' || $2 || lpad(n::text, 6, '0'), $1, $2, 'monitor.up', '{}', CASE WHEN n % 50000 = 0 THEN 'failed'
       ELSE 'delivered' END, 1, $3::bigint + n, $3::bigint + n, $3::bigint + n
     FROM generate_series(1, 100000) AS n`,
    [channel.tenantId, channel.channelId, NOW_MS],
  );
  await single.pool.query('ANALYZE deliveries');
  const before = await rowsRead(single);
  const { tenantId, channelId } = channel;
  t.is((await listDeliveries(single, { tenantId, channelId, filter: { outcome: 'failed' }, limit: 500 })).length, 2);
  t.is(
    (
      await replayDeliveries(single, {
        tenantId,
        channelId,
        sinceMs: NOW_MS,
        untilMs: LATER_MS,
        nowMs: LATER_MS,
        author: null,
      })
    ).count,
    2,
  );
  const read = (await rowsRead(single)) - before;
  t.true(read < 1000, `${read} rows`);
  await single.pool.query('TRUNCATE deliveries CASCADE');
});

const RECORDED: Omit<RecordedAttempt, 'deliveryId' | 'attempt'> = {
  outcome: 'delivered',
  statusCode: null,
  durationMs: 40,
  error: null,
  response: null,
  finishedAtMs: NOW_MS + 50,
  nextAttemptAtMs: null,
};

type TestChannel = { tenantId: string; channelId: string };

/** Claims the channel's due delivery and records its result. */
async function attempt({ channelId }: TestChannel, result: Partial<RecordedAttempt>): Promise<void> {
  const claimed = await claimNextDelivery(database, channelId, { nowMs: NOW_MS + 100, claimMs: 1000 });
  if (claimed === null) throw new Error('nothing was due');
  // The claim came later than the due time, but the record must have a fixed time.
  await database.pool.query('UPDATE delivery_attempts SET started_at = $2 WHERE delivery_id = $1', [
    claimed.deliveryId,
    NOW_MS,
  ]);
  await recordAttempt(database, { ...RECORDED, ...result, deliveryId: claimed.deliveryId, attempt: claimed.attempt });
}

async function replay({ tenantId, channelId }: TestChannel, { sinceMs = NOW_MS, untilMs = NOW_MS + 1000 } = {}) {
  return await replayDeliveries(database, { tenantId, channelId, sinceMs, untilMs, nowMs: LATER_MS, author: null });
}

async function addChannel(): Promise<TestChannel> {
  made += 1;
  const [tenantId, channelId] = [`ten_${made}`, `nch_${made}`];
  await database.pool.query(`INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $1, 'pro', 0)`, [tenantId]);
  await createChannel(database, {
    id: channelId,
    tenantId,
    type: 'webhook',
    name: 'Pager',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    nowMs: NOW_MS,
    author: null,
  });
  return { tenantId, channelId };
}

async function addDelivery(
  { tenantId, channelId }: TestChannel,
  createdAtMs = NOW_MS,
  monitorId: string | null = 'mon_1',
): Promise<string> {
  made += 1;
  const id = `dlv_${String(made).padStart(6, '0')}`;
  await insertDeliveries(runOn(database.pool), [{ id, tenantId, channelId, monitorId, message: MESSAGE, createdAtMs }]);
  return id;
}

/** Returns the number of table rows read, by sequential scans and through indexes. */
async function rowsRead({ pool }: Database): Promise<number> {
  await pool.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await pool.query(
    `SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS read FROM pg_stat_user_tables WHERE relname = 'deliveries'`,
  );
  return rows[0].read;
}
