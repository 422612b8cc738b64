import test from 'ava';
import type { ChannelType } from '../../../core/alerts/channel.ts';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import { createChannel, deleteChannel, findChannel, updateChannel } from '../../../models/alerts/channels.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { closeDatabase, type Database } from '../../../models/database.ts';
import { createIdSource } from '../../../models/secrets/ids.ts';
import { runOn } from '../../../models/sql.ts';
import type { DueAttempt } from '../../../queues/job-queues.ts';
import { ChannelHealth } from '../../../workers/alerts/channel-health.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../../helpers/database.ts';
import { claimNextDelivery, recordAttempt } from '../../helpers/deliveries.ts';

const START_MS = 1_763_720_000_000;
const DAY_MS = 86_400_000;
const ERROR = 'The endpoint responded with 500';
const newId = createIdSource();

let testDatabase: TestDatabase;
let database: Database;

test.before(async () => {
  testDatabase = await createTestDatabase();
  database = openTestDatabase(testDatabase.databaseUrl, { poolSize: 10 });
});

test.after.always(async () => {
  await closeDatabase(database);
  await testDatabase.drop();
});

test('a failed delivery is shown on its channel, which stays enabled, and a successful one clears it', async (t) => {
  const { channelId, tenantId, channelHealth, fail } = await prepare();
  await channelHealth.recordFailure({ channelId, error: 'The endpoint responded with 404', atMs: START_MS });
  await fail(1, START_MS + 5000);
  t.deepEqual(await healthOf(channelId), {
    failures: 2,
    failing_since: START_MS,
    failing_told_at: null,
    last_error: ERROR,
    last_error_at: START_MS + 5000,
  });
  t.like(await findChannel(database, { tenantId, id: channelId }), {
    enabled: true,
    status: 'connected',
    lastError: { text: ERROR, at: (START_MS + 5000) / 1000 },
  });
  await arrive({ tenantId, channelId });
  t.deepEqual(await healthOf(channelId), {
    failures: 0,
    failing_since: null,
    failing_told_at: null,
    last_error: null,
    last_error_at: null,
  });
});

test('disabling and re-enabling a failing webhook keeps its last error until a delivery succeeds', async (t) => {
  const { channelId, tenantId, fail } = await prepare();
  await fail(2, START_MS);
  for (const enabled of [false, true])
    await updateChannel(database, { tenantId, id: channelId, author: null }, { enabled });
  t.deepEqual(await healthOf(channelId), {
    failures: 2,
    failing_since: START_MS,
    failing_told_at: null,
    last_error: ERROR,
    last_error_at: START_MS,
  });
  await arrive({ tenantId, channelId });
  t.deepEqual(await healthOf(channelId), {
    failures: 0,
    failing_since: null,
    failing_told_at: null,
    last_error: null,
    last_error_at: null,
  });
});

test('a delivery that succeeds while its webhook is being disabled clears the error', async (t) => {
  const { channelId, tenantId, fail } = await prepare();
  await fail(1);
  await updateChannel(database, { tenantId, id: channelId, author: null }, { enabled: false });
  await arrive({ tenantId, channelId });
  t.like(await healthOf(channelId), { failures: 0, last_error: null });
});

for (const [what, lost] of [
  ['was lost', { status: 'pending', enabled: true }],
  ['was stopped by a member', { status: 'connected', enabled: false }],
] as const) {
  test(
    `the result of an attempt that was running when a chat ${what} does not change the error that is shown ` +
      'to its owner',
    async (t) => {
      const { tenantId, channelHealth, add } = await prepare();
      const channelId = await add('telegram');
      await database.pool.query(
        `UPDATE channels SET status = $2, enabled = $3, last_error = 'The reason', last_error_at = $4 WHERE id = $1`,
        [channelId, lost.status, lost.enabled, START_MS],
      );
      const before = await healthOf(channelId);
      await channelHealth.recordFailure({ channelId, error: ERROR, atMs: START_MS + 1 });
      await arrive({ tenantId, channelId });
      t.deepEqual(await healthOf(channelId), before);
      t.is(before.last_error, 'The reason');
      await updateChannel(database, { tenantId, id: channelId, author: null }, { enabled: true });
      t.like(await healthOf(channelId), { last_error: 'The reason' });
      await database.pool.query(`UPDATE channels SET status = 'connected' WHERE id = $1`, [channelId]);
      await arrive({ tenantId, channelId });
      t.like(await healthOf(channelId), { last_error: null, last_error_at: null });
    },
  );
}

test('neither a pending retry nor a failed delivery clears the error of a channel', async (t) => {
  const { channelId, tenantId, fail } = await prepare();
  await fail(3, START_MS);
  for (const outcome of ['retry', 'failed'] as const) await arrive({ tenantId, channelId }, outcome);
  t.like(await healthOf(channelId), { failures: 3, last_error: ERROR });
});

test("the hundredth consecutive failure is reported to the owner's other connected chats only", async (t) => {
  const { channelId, tenantId, fail, add, enqueued } = await prepare();
  const chats = [await add('telegram'), await add('slack')];
  await add('webhook');
  const disabled = await add('telegram');
  await updateChannel(database, { tenantId, id: disabled, author: null }, { enabled: false });
  await add('slack', 'pending');
  await (await prepare()).add('telegram');
  await fail(99);
  t.deepEqual(await listDeliveriesAbout(channelId), []);
  await fail(1);
  const deliveries = await listDeliveriesAbout(channelId);
  t.deepEqual(
    deliveries.map((delivery) => delivery.channel_id),
    chats.toSorted(),
  );
  t.like(deliveries[0]?.message, {
    event: 'channel.failing',
    channel: { id: channelId, name: 'Pager', type: 'webhook' },
    detail: { failures: 100, last_error: ERROR },
  });
  t.deepEqual(enqueued.map((due) => due.channelId).toSorted(), chats.toSorted());
  await fail(120);
  t.is((await listDeliveriesAbout(channelId)).length, 2);
});

test('after three days without a success the next failure is reported, and none before', async (t) => {
  const { channelId, fail, add } = await prepare();
  await add('telegram');
  await fail(1, START_MS);
  await fail(1, START_MS + 3 * DAY_MS - 1);
  t.is((await listDeliveriesAbout(channelId)).length, 0);
  await fail(1, START_MS + 3 * DAY_MS);
  t.is((await listDeliveriesAbout(channelId)).length, 1);
});

test('a failing channel is reported again only after a successful delivery in between', async (t) => {
  const { channelId, tenantId, fail, add } = await prepare();
  await add('telegram');
  await fail(150);
  t.is((await listDeliveriesAbout(channelId)).length, 1);
  await arrive({ tenantId, channelId });
  await fail(99);
  t.is((await listDeliveriesAbout(channelId)).length, 1);
  await fail(1);
  t.is((await listDeliveriesAbout(channelId)).length, 2);
});

test('without a chat to notify the failure stays unreported, and a chat connected later is notified', async (t) => {
  const { channelId, fail, add } = await prepare();
  await add('webhook');
  await fail(101);
  t.like(await healthOf(channelId), { failures: 101, failing_told_at: null });
  await add('slack');
  await fail(1);
  t.is((await listDeliveriesAbout(channelId)).length, 1);
});

test('concurrent failures are all counted and reported once', async (t) => {
  const { channelId, channelHealth, add } = await prepare();
  await add('telegram');
  await Promise.all(
    Array.from({ length: 130 }, () => channelHealth.recordFailure({ channelId, error: ERROR, atMs: START_MS })),
  );
  t.like(await healthOf(channelId), { failures: 130 });
  t.is((await listDeliveriesAbout(channelId)).length, 1);
});

test('two chats that fail simultaneously notify each other without a deadlock', async (t) => {
  const { tenantId, channelHealth, add } = await prepare();
  const chats = [await add('telegram'), await add('slack')];
  await database.pool.query('UPDATE channels SET failures = 99, failing_since = $2 WHERE tenant_id = $1', [
    tenantId,
    START_MS,
  ]);
  await Promise.all(chats.map((channelId) => channelHealth.recordFailure({ channelId, error: ERROR, atMs: START_MS })));
  for (const channelId of chats)
    t.deepEqual(
      (await listDeliveriesAbout(channelId)).map((delivery) => delivery.channel_id),
      chats.filter((id) => id !== channelId),
    );
});

test('a failure of a deleted channel is not reported', async (t) => {
  const { channelId, tenantId, channelHealth, add } = await prepare();
  await add('telegram');
  await deleteChannel(database, { tenantId, id: channelId, author: null });
  await channelHealth.recordFailure({ channelId, error: ERROR, atMs: START_MS });
  t.deepEqual(await listDeliveriesAbout(channelId), []);
});

test('a failing channel can be deleted while a successful delivery clears its error', async (t) => {
  for (let round = 0; round < 10; round += 1) {
    const { channelId, tenantId, fail } = await prepare();
    await fail(1);
    const [deleted] = await Promise.all([
      deleteChannel(database, { tenantId, id: channelId, author: null }),
      arrive({ tenantId, channelId }).catch(() => null),
    ]);
    t.true(deleted);
  }
});

test('if the queue is unreachable the notification is late, but stored', async (t) => {
  const { channelId, add, fail, lines } = await prepare(() => Promise.reject(new Error('queue away')));
  await add('telegram');
  await fail(100);
  t.is((await listDeliveriesAbout(channelId)).length, 1);
  t.deepEqual(lines, ['channel.failing', 'delivery.not_queued']);
});

/** Creates a webhook channel of a new tenant, and a recorder that notes its failures at a time set by the test. */
async function prepare(enqueueAttempts?: (attempts: readonly DueAttempt[]) => Promise<void>) {
  const tenantId = newId('ten');
  await database.pool.query(`INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $1, 'pro', 0)`, [tenantId]);
  const add = async (type: ChannelType, status: 'connected' | 'pending' = 'connected') => {
    const id = newId('nch');
    await createChannel(database, {
      id,
      tenantId,
      type,
      name: 'Pager',
      status,
      allMonitors: false,
      monitorIds: [],
      nowMs: 0,
      author: null,
    });
    return id;
  };
  const channelId = await add('webhook');
  const clock = { nowMs: START_MS };
  const enqueued: DueAttempt[] = [];
  const lines: string[] = [];
  const line = (_fields: object, text: string) => void lines.push(text);
  const channelHealth = new ChannelHealth({
    database,
    queues: { enqueueAttempts: enqueueAttempts ?? (async (attempts) => void enqueued.push(...attempts)) },
    newId,
    now: () => clock.nowMs,
    publicUrl: 'https://spotcheck.example',
    log: { warn: line },
  });
  const fail = async (times: number, atMs = START_MS) => {
    clock.nowMs = atMs;
    for (let count = 0; count < times; count += 1) await channelHealth.recordFailure({ channelId, error: ERROR, atMs });
  };
  return { tenantId, channelId, add, channelHealth, fail, enqueued, lines };
}

/** Creates a delivery to the channel and records the result of its attempt. */
async function arrive(
  { tenantId, channelId }: { tenantId: string; channelId: string },
  outcome: 'delivered' | 'retry' | 'failed' = 'delivered',
): Promise<void> {
  const id = newId('dlv');
  const message = buildTestMessage({ nowMs: START_MS, publicUrl: 'https://spotcheck.example' });
  await insertDeliveries(runOn(database.pool), [
    { id, tenantId, channelId, monitorId: null, message, createdAtMs: START_MS },
  ]);
  await claimNextDelivery(database, channelId, { nowMs: START_MS, claimMs: 1000 });
  await recordAttempt(database, {
    deliveryId: id,
    attempt: 1,
    outcome,
    statusCode: null,
    durationMs: 1,
    error: null,
    response: null,
    finishedAtMs: START_MS,
    nextAttemptAtMs: outcome === 'retry' ? START_MS + 5000 : null,
  });
}

async function healthOf(channelId: string) {
  const { rows } = await database.pool.query(
    'SELECT failures, failing_since, failing_told_at, last_error, last_error_at FROM channels WHERE id = $1',
    [channelId],
  );
  return rows[0];
}

async function listDeliveriesAbout(channelId: string) {
  const { rows } = await database.pool.query(
    `SELECT channel_id, message FROM deliveries WHERE event = 'channel.failing' AND message -> 'channel' ->> 'id' = $1
     ORDER BY channel_id`,
    [channelId],
  );
  return rows;
}
