import { randomBytes } from 'node:crypto';
import test from 'ava';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import { createChannel, deleteChannel, updateChannel } from '../../../models/alerts/channels.ts';
import {
  deleteOldDeliveries,
  insertDeliveries,
  listOverdueChannels,
  supersedeRetries,
} from '../../../models/alerts/deliveries.ts';
import { claimDeliveries, recordAttempts, type RecordedAttempt } from '../../../models/alerts/delivery-attempts.ts';
import { closeDatabase, type Database } from '../../../models/database.ts';
import { createSecretBox } from '../../../models/secrets/secret-box.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { createTestDatabase, fillTables, openTestDatabase, type TestDatabase } from '../../helpers/database.ts';
import { claimNextDelivery, recordAttempt } from '../../helpers/deliveries.ts';

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
  database = openTestDatabase(testDatabase.databaseUrl, { secrets });
});

test.after.always(async () => {
  await closeDatabase(database);
  await testDatabase.drop();
});

// Serial and on one connection, so that the statistics contain almost only this test's reads; those of the test before
// may be reported late.
test.serial('a claim finds its delivery among 100,000 by the index, and reads no others', async (t) => {
  const single = openTestDatabase(testDatabase.databaseUrl, { secrets, poolSize: 1 });
  t.teardown(() => closeDatabase(single));
  const [crowded, storm] = [await addDelivery(), await addDelivery()];
  for (const channel of [crowded, storm])
    await fill(single, channel, { count: 50_000, monitors: 50_000, outcome: 'pending' });
  const before = await rowsRead(single);
  for (const { channelId } of [crowded, storm, storm]) t.truthy(await claimNextDelivery(single, channelId, CLAIM));
  const after = await rowsRead(single);
  t.true(after.scanned - before.scanned < 100, `${after.scanned - before.scanned} rows by scans`);
  t.true(after.fetched - before.fetched < 100, `${after.fetched - before.fetched} rows by indexes`);
  await single.pool.query('TRUNCATE deliveries CASCADE');
});

test.serial('claims, records and superseded retries scan no whole table, however much of it is finished', async (t) => {
  const single = openTestDatabase(testDatabase.databaseUrl, { secrets, poolSize: 1 });
  t.teardown(() => closeDatabase(single));
  const channel = await addDelivery();
  await fill(single, channel, { count: 100_000, monitors: 1000, outcome: 'delivered' });
  await fill(single, channel, { count: 1000, monitors: 20, outcome: 'pending' });
  const before = await rowsRead(single);
  const claims = await claimDeliveries(
    single,
    Array.from({ length: 4 }, () => channel.channelId),
    CLAIM,
  );
  const ids = claims.flatMap(({ claimed }) => claimed?.deliveryId ?? []);
  t.is(ids.length, 4);
  await recordAttempts(
    single,
    ids.map((id) => attemptOf(id, { outcome: 'retry', nextAttemptAtMs: NOW_MS + 5000 })),
  );
  await supersedeRetries(
    runOn(single.pool),
    claims.map(({ claimed }) => ({ channelId: channel.channelId, monitorId: claimed?.monitorId ?? '' })),
    NOW_MS,
  );
  const after = await rowsRead(single);
  t.true(after.scanned - before.scanned < 100, `${after.scanned - before.scanned} rows by scans`);
  t.true(after.fetched - before.fetched < 1500, `${after.fetched - before.fetched} rows by indexes`);
  await single.pool.query('TRUNCATE deliveries CASCADE');
});

test('a claim returns everything that the attempt needs', async (t) => {
  const { id, tenantId, channelId } = await addDelivery();
  const { rows } = await database.pool.query('SELECT sealed_url FROM channels WHERE id = $1', [channelId]);
  t.deepEqual(await claimNextDelivery(database, channelId, CLAIM), {
    deliveryId: id,
    tenantId,
    channelId,
    monitorId: `mon_${id}`,
    channelType: 'webhook',
    event: 'monitor.up',
    message: MESSAGE,
    attempt: 1,
    attemptsBefore: 0,
    claimedUntilMs: CLAIM.nowMs + CLAIM.claimMs,
    webhook: { ...WEBHOOK, previousSecret: null, headers: {}, format: null },
    sealedUrl: rows[0].sealed_url,
    connection: null,
    refusal: null,
    holdReason: null,
    isBehind: false,
    resolvesUnknown: false,
    parentNo: null,
    groupId: null,
    chatMessageId: null,
    isOvertaken: false,
  });
});

test('concurrent claims each get a different delivery, and the rest get none', async (t) => {
  const first = await addDelivery();
  const ids = [first.id, ...(await Promise.all(Array.from({ length: 4 }, () => addDeliveryTo(first))))];
  const claims = await Promise.all(
    Array.from({ length: 12 }, () => claimNextDelivery(database, first.channelId, CLAIM)),
  );
  t.deepEqual(claims.flatMap((claim) => claim?.deliveryId ?? []).toSorted(), ids.toSorted());
  for (const id of ids) t.is((await attemptsOf(id)).length, 1);
});

test('a claim reports whether the channel has more due and unclaimed deliveries', async (t) => {
  const first = await addDelivery();
  await addDeliveryTo(first);
  await addDeliveryTo(first, { createdAtMs: NOW_MS + 1 });
  for (const [isFound, hasMore] of [
    [true, true],
    [true, false],
    [false, false],
  ]) {
    const [claim] = await claimDeliveries(database, [first.channelId], CLAIM);
    t.deepEqual([claim?.claimed !== null, claim?.hasMore], [isFound, hasMore]);
  }
});

test('a batch of claims for several channels gets each its own deliveries, the longest due first', async (t) => {
  const [one, other, empty] = [await addDelivery(), await addDelivery(), 'nch_none'];
  const second = await addDeliveryTo(one);
  const third = await addDeliveryTo(one);
  const claims = await claimDeliveries(
    database,
    [one.channelId, other.channelId, one.channelId, empty, other.channelId],
    CLAIM,
  );
  t.deepEqual(
    claims.map(({ claimed, hasMore }) => [claimed?.deliveryId, hasMore]),
    [
      [one.id, true],
      [other.id, false],
      [second, true],
      [undefined, false],
      [undefined, false],
    ],
  );
  t.is((await claimNextDelivery(database, one.channelId, CLAIM))?.deliveryId, third);
});

test('a delivery waits for the first attempt at an earlier one of its monitor, and no longer', async (t) => {
  const first = await addDelivery({ monitorId: 'mon_same' });
  const second = await addDeliveryTo(first, { monitorId: 'mon_same' });
  const other = await addDeliveryTo(first, { monitorId: 'mon_other' });
  const claim = async () =>
    (await claimDeliveries(database, [first.channelId], CLAIM)).map(({ claimed, hasMore }) => [
      claimed?.deliveryId,
      hasMore,
    ])[0];
  t.deepEqual(await claim(), [first.id, true]);
  t.deepEqual(await claim(), [other, true]);
  // A due delivery waits for the end of the one before; the claim reports that there is more to wait for.
  t.deepEqual(await claim(), [undefined, true]);
  await recordAttempt(database, attemptOf(first.id, { outcome: 'retry', nextAttemptAtMs: NOW_MS + 5000 }));
  t.deepEqual(await claim(), [second, false]);
});

test('lanes that claim together never get two deliveries of one monitor', async (t) => {
  const first = await addDelivery({ monitorId: 'mon_a' });
  for (const monitorId of ['mon_a', 'mon_b', 'mon_b']) await addDeliveryTo(first, { monitorId });
  const claims = await claimDeliveries(
    database,
    Array.from({ length: 4 }, () => first.channelId),
    CLAIM,
  );
  t.deepEqual(
    claims.map(({ claimed }) => claimed?.monitorId),
    ['mon_a', 'mon_b', undefined, undefined],
  );
  t.true(claims.every(({ hasMore }) => hasMore));
});

test('a delivery waits for an earlier one whose claim is not committed yet', async (t) => {
  const first = await addDelivery({ monitorId: 'mon_same' });
  await addDeliveryTo(first, { monitorId: 'mon_same' });
  await inTransaction(database, async (run) => {
    await run('UPDATE deliveries SET attempts = 1, claimed_until = $2 WHERE id = $1', [first.id, NOW_MS + 15_000]);
    t.deepEqual(await claimDeliveries(database, [first.channelId], CLAIM), [{ claimed: null, hasMore: true }]);
  });
  t.deepEqual(await claimDeliveries(database, [first.channelId], CLAIM), [{ claimed: null, hasMore: true }]);
});

test("deliveries are claimed in the order written, regardless of the writers' clocks and ids", async (t) => {
  const first = await addDelivery({ monitorId: 'mon_same', createdAtMs: NOW_MS });
  const { tenantId, channelId } = first;
  await insertDeliveries(runOn(database.pool), [
    {
      id: `dlv_0000_${first.id}`,
      tenantId,
      channelId,
      monitorId: 'mon_same',
      message: MESSAGE,
      createdAtMs: NOW_MS - 2000,
    },
  ]);
  t.is((await claimNextDelivery(database, channelId, CLAIM))?.deliveryId, first.id);
});

test('a worker that dies during a first attempt holds nothing back once its claim has expired', async (t) => {
  const first = await addDelivery({ monitorId: 'mon_same' });
  const second = await addDeliveryTo(first, { monitorId: 'mon_same' });
  await claimNextDelivery(database, first.channelId, CLAIM);
  const later = { ...CLAIM, nowMs: NOW_MS + 15_000 };
  const claims = await claimDeliveries(database, [first.channelId, first.channelId], later);
  t.deepEqual(
    claims.map(({ claimed }) => [claimed?.deliveryId, claimed?.attempt]),
    [
      [first.id, 2],
      [second, 1],
    ],
  );
});

test('a redelivery holds back later deliveries of its monitor until it has been attempted', async (t) => {
  const first = await addDelivery({ monitorId: 'mon_same' });
  await claimNextDelivery(database, first.channelId, CLAIM);
  await recordAttempt(database, attemptOf(first.id, { outcome: 'failed' }));
  await database.pool.query(
    `UPDATE deliveries SET outcome = 'pending', finished_at = NULL, attempts_before = attempts WHERE id = $1`,
    [first.id],
  );
  const second = await addDeliveryTo(first, { monitorId: 'mon_same' });
  t.is((await claimNextDelivery(database, first.channelId, CLAIM))?.deliveryId, first.id);
  t.is(await claimNextDelivery(database, first.channelId, CLAIM), null);
  await recordAttempt(database, attemptOf(first.id, { attempt: 2, outcome: 'delivered' }));
  t.is((await claimNextDelivery(database, first.channelId, CLAIM))?.deliveryId, second);
});

test('a newer change of a monitor supersedes retries of its events to that channel, and nothing else', async (t) => {
  const channel = await addDelivery({ monitorId: 'mon_other' });
  const add = async (monitorId: string, overrides: Partial<RecordedAttempt> = {}) => {
    const id = await addDeliveryTo(channel, { monitorId, createdAtMs: NOW_MS - 1 });
    t.is((await claimNextDelivery(database, channel.channelId, CLAIM))?.deliveryId, id);
    await recordAttempt(database, attemptOf(id, { outcome: 'retry', nextAttemptAtMs: NOW_MS + 5000, ...overrides }));
    return id;
  };
  const [retried, delivered, ofOther] = [
    await add('mon_same'),
    await add('mon_same', { outcome: 'delivered' }),
    await add('mon_third'),
  ];
  const advisory = await add('mon_same');
  await database.pool.query(`UPDATE deliveries SET event = 'advisory.domain_expiry' WHERE id = $1`, [advisory]);
  const held = await add('mon_same');
  await claimDeliveries(
    database,
    Array.from({ length: 5 }, () => channel.channelId),
    { nowMs: NOW_MS + 5000, claimMs: 15_000 },
  );
  for (const id of [retried, advisory, ofOther])
    await recordAttempt(database, attemptOf(id, { attempt: 2, outcome: 'retry', nextAttemptAtMs: NOW_MS + 30_000 }));
  const fresh = await addDeliveryTo(channel, { monitorId: 'mon_same', createdAtMs: NOW_MS + 6000 });
  await supersedeRetries(
    runOn(database.pool),
    [{ channelId: channel.channelId, monitorId: 'mon_same' }],
    NOW_MS + 6000,
  );
  t.deepEqual(
    await Promise.all(
      [retried, delivered, ofOther, advisory, held, fresh].map(async (id) => (await deliveryOf(id)).outcome),
    ),
    ['superseded', 'delivered', 'pending', 'pending', 'pending', 'pending'],
  );
  t.is((await deliveryOf(retried)).finished_at, NOW_MS + 6000);
});

test('recording attempts together reports for each whether its claim was still valid', async (t) => {
  const [one, other, gone] = [await addDelivery(), await addDelivery(), await addDelivery()];
  for (const { channelId } of [one, other, gone]) await claimNextDelivery(database, channelId, CLAIM);
  await claimNextDelivery(database, other.channelId, { ...CLAIM, nowMs: NOW_MS + 15_000 });
  await deleteChannel(database, { tenantId: gone.tenantId, id: gone.channelId, author: null });
  const attempts = [one, other, gone].map(({ id }) =>
    attemptOf(id, { outcome: 'delivered', response: 'line one\n"two" \u{1F600}' }),
  );
  t.deepEqual(await recordAttempts(database, attempts), [true, false, false]);
  t.is((await deliveryOf(one.id)).outcome, 'delivered');
  t.is((await attemptsOf(one.id))[0]?.response, 'line one\n"two" \u{1F600}');
  t.is((await deliveryOf(other.id)).outcome, 'pending');
});

test('deliveries are claimed the longest due first, then by id', async (t) => {
  const first = await addDelivery({ createdAtMs: NOW_MS - 1 });
  const [second, third] = [await addDeliveryTo(first), await addDeliveryTo(first)];
  const retried = await addDeliveryTo(first, { createdAtMs: NOW_MS - 2 });
  const other = await addDelivery({ createdAtMs: NOW_MS - 3 });
  const claimed: (string | undefined)[] = [];
  for (let count = 0; count < 5; count += 1)
    claimed.push((await claimNextDelivery(database, first.channelId, CLAIM))?.deliveryId);
  t.deepEqual(claimed, [retried, first.id, second, third, undefined]);
  t.is((await deliveryOf(other.id)).attempts, 0);
});

test('a delivery is not claimed before it is due or after it is finished', async (t) => {
  const { id, channelId } = await addDelivery({ createdAtMs: NOW_MS + 1 });
  t.is(await claimNextDelivery(database, channelId, CLAIM), null);
  t.truthy(await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 1 }));
  await recordAttempt(database, attemptOf(id, { outcome: 'delivered' }));
  t.is(await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 60_000 }), null);
  t.is(await claimNextDelivery(database, 'nch_none', CLAIM), null);
});

test('a claim without a result expires, and its attempt still counts', async (t) => {
  const { id, channelId } = await addDelivery();
  await claimNextDelivery(database, channelId, CLAIM);
  t.is(await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 14_999 }), null);
  t.is((await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 15_000 }))?.attempt, 2);
  t.deepEqual(
    (await attemptsOf(id)).map(({ attempt, outcome }) => ({ attempt, outcome })),
    [
      { attempt: 1, outcome: null },
      { attempt: 2, outcome: null },
    ],
  );
});

test('a delivered attempt finishes its delivery', async (t) => {
  const { id, channelId } = await addDelivery();
  await claimNextDelivery(database, channelId, CLAIM);
  t.true(await recordAttempt(database, attemptOf(id, { outcome: 'delivered', statusCode: 204, response: 'ok' })));
  t.deepEqual(await deliveryOf(id), {
    outcome: 'delivered',
    attempts: 1,
    claimed_until: null,
    next_attempt_at: NOW_MS,
    finished_at: NOW_MS + 50,
  });
  t.deepEqual(await attemptsOf(id), [
    {
      attempt: 1,
      started_at: NOW_MS,
      duration_ms: 40,
      outcome: 'delivered',
      status_code: 204,
      error: null,
      response: 'ok',
    },
  ]);
});

test('a retry releases the claim and waits until it is due', async (t) => {
  const { id, channelId } = await addDelivery();
  await claimNextDelivery(database, channelId, CLAIM);
  t.true(
    await recordAttempt(
      database,
      attemptOf(id, { outcome: 'retry', error: 'Connection refused', nextAttemptAtMs: NOW_MS + 5000 }),
    ),
  );
  t.deepEqual(await deliveryOf(id), {
    outcome: 'pending',
    attempts: 1,
    claimed_until: null,
    next_attempt_at: NOW_MS + 5000,
    finished_at: null,
  });
  t.is(await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 4999 }), null);
  t.is((await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 5000 }))?.attempt, 2);
});

test('a worker that outlives its claim records its attempt and leaves the delivery to the next one', async (t) => {
  const { id, channelId } = await addDelivery();
  await claimNextDelivery(database, channelId, CLAIM);
  await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 15_000 });
  t.false(await recordAttempt(database, attemptOf(id, { outcome: 'failed', statusCode: 404 })));
  t.is((await deliveryOf(id)).outcome, 'pending');
  t.is((await attemptsOf(id))[0]?.outcome, 'failed');
  t.true(await recordAttempt(database, attemptOf(id, { attempt: 2, outcome: 'delivered' })));
  t.is((await deliveryOf(id)).outcome, 'delivered');
});

test('recording an attempt twice changes nothing the second time', async (t) => {
  const { id, channelId } = await addDelivery();
  await claimNextDelivery(database, channelId, CLAIM);
  t.true(await recordAttempt(database, attemptOf(id, { outcome: 'delivered' })));
  t.false(await recordAttempt(database, attemptOf(id, { outcome: 'delivered', finishedAtMs: NOW_MS + 999 })));
  t.is((await deliveryOf(id)).finished_at, NOW_MS + 50);
});

test('a claim for a disabled channel carries the refusal', async (t) => {
  const { tenantId, channelId } = await addDelivery();
  await updateChannel(database, { tenantId, id: channelId, author: null }, { enabled: false });
  t.is((await claimNextDelivery(database, channelId, CLAIM))?.refusal, 'The channel is disabled');
});

test('a claim for a channel that is not connected carries the refusal', async (t) => {
  const { channelId } = await addDelivery();
  await database.pool.query(`UPDATE channels SET status = 'pending' WHERE id = $1`, [channelId]);
  t.is((await claimNextDelivery(database, channelId, CLAIM))?.refusal, 'The channel is not connected');
});

test('a claim omits secrets whose key is no longer in the ring', async (t) => {
  const { channelId } = await addDelivery();
  const rekeyed: Database = { ...database, secrets: createSecretBox([{ id: 'k2', key: randomBytes(32) }]) };
  const claimed = await claimNextDelivery(rekeyed, channelId, CLAIM);
  t.is(claimed?.webhook, null);
  t.is(claimed?.refusal, null);
});

test('deliveries and their attempts are deleted with their channel', async (t) => {
  const { id, tenantId, channelId } = await addDelivery();
  await claimNextDelivery(database, channelId, CLAIM);
  await deleteChannel(database, { tenantId, id: channelId, author: null });
  t.is(await deliveryOf(id), undefined);
  t.is(await claimNextDelivery(database, channelId, { ...CLAIM, nowMs: NOW_MS + 60_000 }), null);
  t.false(await recordAttempt(database, attemptOf(id, { outcome: 'delivered' })));
});

test('deliveries of a rolled-back transaction do not exist', async (t) => {
  const { tenantId, channelId } = await addDelivery();
  const lost = { id: 'dlv_lost', tenantId, channelId, monitorId: 'mon_1', message: MESSAGE, createdAtMs: NOW_MS };
  const broken = inTransaction(database, async (run) => {
    await insertDeliveries(run, [lost]);
    throw new Error('the evaluator broke');
  });
  await t.throwsAsync(broken, { message: 'the evaluator broke' });
  t.is(await deliveryOf('dlv_lost'), undefined);
});

test('retention deletes old finished deliveries with their attempts, and never pending ones', async (t) => {
  const [old, recent, pending] = [await addDelivery(), await addDelivery(), await addDelivery()];
  for (const [{ id, channelId }, finishedAtMs] of [
    [old, 999],
    [recent, 1000],
  ] as const) {
    await claimNextDelivery(database, channelId, CLAIM);
    await recordAttempt(database, attemptOf(id, { outcome: 'failed', finishedAtMs }));
  }
  // These are old but not due earlier: otherwise the pending one would be overdue in concurrent tests.
  await database.pool.query('UPDATE deliveries SET created_at = 500 WHERE id = ANY ($1)', [
    [old.id, recent.id, pending.id],
  ]);
  t.is(await deleteOldDeliveries(database, 1000), 1);
  t.is(await deliveryOf(old.id), undefined);
  t.deepEqual(await attemptsOf(old.id), []);
  t.is((await deliveryOf(recent.id)).outcome, 'failed');
  t.is((await deliveryOf(pending.id)).outcome, 'pending');

  const reopening = await database.pool.connect();
  try {
    await reopening.query('BEGIN');
    await reopening.query(`UPDATE deliveries SET outcome = 'pending', finished_at = NULL WHERE id = $1`, [recent.id]);
    t.is(await deleteOldDeliveries(database, 1001), 0, 'a delivery reopened at the same moment');
    await reopening.query('COMMIT');
  } finally {
    reopening.release();
  }
  t.is((await deliveryOf(recent.id)).outcome, 'pending');
});

test('retention continues in its next run, and no channel waits for the backlog of another', async (t) => {
  const own = await createTestDatabase();
  const filled = openTestDatabase(own.databaseUrl, { secrets });
  t.teardown(async () => {
    await closeDatabase(filled);
    await own.drop();
  });
  const insert = (channelId: string, count: number) =>
    filled.pool.query(
      `INSERT INTO deliveries (id, tenant_id, channel_id, event, message, outcome, next_attempt_at, created_at,
         finished_at)
       SELECT 'dlv_' || $1 || n, 'ten_1', $1, 'monitor.down', '{}', 'delivered', 0, n, n
       FROM generate_series(1, $2::int) AS n`,
      [channelId, count],
    );
  await filled.pool.query(`INSERT INTO tenants (id, name, plan, created_at) VALUES ('ten_1', 'a', 'pro', 0)`);
  await filled.pool.query(
    `INSERT INTO channels (id, tenant_id, type, name, status, all_monitors, created_at)
     SELECT id, 'ten_1', 'slack', id, 'connected', true, 0 FROM unnest(ARRAY['nch_1', 'nch_2', 'nch_3']) AS id`,
  );
  await insert('nch_1', 5000);
  await insert('nch_2', 3);
  await insert('nch_3', 10_001);
  const leftOf = async (channelId: string) => {
    const { rows } = await filled.pool.query<{ count: number }>(
      'SELECT count(*)::int FROM deliveries WHERE channel_id = $1',
      [channelId],
    );
    return rows[0]?.count;
  };
  t.is(await deleteOldDeliveries(filled, 0, () => false), 0);
  t.is(await deleteOldDeliveries(filled, 0), 1);
  t.deepEqual([await leftOf('nch_1'), await leftOf('nch_2'), await leftOf('nch_3')], [5000, 3, 10_000]);
  await filled.pool.query(`DELETE FROM deliveries WHERE channel_id = 'nch_3'`);
  // Allows one statement for each of the two remaining channels.
  let statements = 0;
  const mayGoOn = () => (statements += 1) <= 2;
  t.is(await deleteOldDeliveries(filled, 4501, mayGoOn), 2003);
  t.deepEqual([await leftOf('nch_1'), await leftOf('nch_2')], [3000, 0]);
  t.is(await deleteOldDeliveries(filled, 4501), 2500);
  t.is(await leftOf('nch_1'), 500);
});

test('channels with long overdue unclaimed deliveries are listed, the longest due first', async (t) => {
  const nowMs = NOW_MS + 1_000_000_000;
  const add = (sinceMs: number) => addDelivery({ createdAtMs: nowMs - sinceMs });
  const [young, old, oldest] = [await add(9999), await add(10_000), await add(90_000)];
  const [held, abandoned, finished] = [await add(70_000), await add(80_000), await add(60_000)];
  const recent = await addDeliveryTo(oldest, { createdAtMs: nowMs - 5000 });
  await addDeliveryTo(oldest, { createdAtMs: nowMs - 20_000 });
  // A channel with a claimed delivery is not lost yet, however long its others have been due.
  await addDeliveryTo(held, { createdAtMs: nowMs - 75_000 });
  await claimNextDelivery(database, held.channelId, { nowMs: nowMs - 1000, claimMs: 1001 });
  await claimNextDelivery(database, abandoned.channelId, { nowMs: nowMs - 1000, claimMs: 1000 });
  await claimNextDelivery(database, finished.channelId, { nowMs, claimMs: 1000 });
  await recordAttempt(database, attemptOf(finished.id, { outcome: 'delivered' }));
  const own = new Set([young, old, oldest, held, abandoned, finished].map(({ channelId }) => channelId));
  const overdue = (await listOverdueChannels(database, { nowMs, limit: 1000 })).filter(({ channelId }) =>
    own.has(channelId),
  );
  t.deepEqual(overdue, [
    { channelId: oldest.channelId, deliveryId: oldest.id, attempt: 1, dueAtMs: nowMs - 90_000, deliveries: 2 },
    { channelId: abandoned.channelId, deliveryId: abandoned.id, attempt: 2, dueAtMs: nowMs - 80_000, deliveries: 1 },
    { channelId: old.channelId, deliveryId: old.id, attempt: 1, dueAtMs: nowMs - 10_000, deliveries: 1 },
  ]);
  t.is((await deliveryOf(recent)).outcome, 'pending');
  t.is((await listOverdueChannels(database, { nowMs, limit: 1 })).length, 1);
});

test('overdue channels are listed fairly across accounts, but not during a pause requested by the chat', async (t) => {
  // Long before the times of other tests.
  const nowMs = NOW_MS - 5_000_000_000;
  const add = (createdAtMs: number) => addDelivery({ createdAtMs });
  const flooded = [await add(nowMs - 900_000), await add(nowMs - 800_000), await add(nowMs - 700_000)];
  const [other, quiet] = [await add(nowMs - 60_000), await add(nowMs - 990_000)];
  await database.pool.query('UPDATE channels SET tenant_id = $2 WHERE id = ANY ($1)', [
    flooded.map(({ channelId }) => channelId),
    flooded[0]?.tenantId,
  ]);
  await database.pool.query('UPDATE channels SET quiet_until = $2 WHERE id = $1', [quiet.channelId, nowMs + 1]);
  const list = async (atMs: number, limit: number) =>
    (await listOverdueChannels(database, { nowMs: atMs, limit })).map(({ channelId }) => channelId);
  t.deepEqual(await list(nowMs, 2), [flooded[0]?.channelId, other.channelId]);
  t.deepEqual(await list(nowMs, 3), [flooded[0]?.channelId, flooded[1]?.channelId, other.channelId]);
  t.deepEqual(await list(nowMs + 1, 1), [quiet.channelId]);
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

async function addDelivery(given: { createdAtMs?: number; monitorId?: string } = {}) {
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
    webhook: WEBHOOK,
    nowMs: NOW_MS,
    author: null,
  });
  return { id: await addDeliveryTo({ tenantId, channelId }, given), tenantId, channelId };
}

async function addDeliveryTo(
  { tenantId, channelId }: { tenantId: string; channelId: string },
  given: { createdAtMs?: number; monitorId?: string } = {},
): Promise<string> {
  made += 1;
  const id = `dlv_${String(made).padStart(6, '0')}`;
  await insertDeliveries(runOn(database.pool), [
    { id, tenantId, channelId, monitorId: `mon_${id}`, message: MESSAGE, createdAtMs: NOW_MS, ...given },
  ]);
  return id;
}

async function fill(
  filled: Database,
  { tenantId, channelId }: { tenantId: string; channelId: string },
  { count, monitors, outcome }: { count: number; monitors: number; outcome: string },
) {
  await fillTables(
    filled,
    `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at,
     outcome, finished_at)
     SELECT $2 || $6 || lpad(n::text, 6, '0'), $1, $2, 'mon_' || n % $5, 'monitor.down', '{}', $3::bigint - $4 + n, $3,
       $6, CASE $6 WHEN 'pending' THEN NULL ELSE $3 END
     FROM generate_series(1, $4::int) AS n`,
    [tenantId, channelId, NOW_MS, count, monitors, outcome],
  );
  await filled.pool.query('ANALYZE deliveries');
}

/** Returns the number of table rows read by sequential scans and through indexes. */
async function rowsRead({ pool }: Database): Promise<{ scanned: number; fetched: number }> {
  await pool.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await pool.query(
    `SELECT seq_tup_read AS scanned, coalesce(idx_tup_fetch, 0) AS fetched FROM pg_stat_user_tables
     WHERE relname = 'deliveries'`,
  );
  return rows[0];
}

async function deliveryOf(id: string) {
  const { rows } = await database.pool.query(
    'SELECT outcome, attempts, claimed_until, next_attempt_at, finished_at FROM deliveries WHERE id = $1',
    [id],
  );
  return rows[0];
}

async function attemptsOf(id: string) {
  const { rows } = await database.pool.query(
    'SELECT attempt, started_at, duration_ms, outcome, status_code, error, response FROM delivery_attempts WHERE ' +
      'delivery_id = $1 ORDER BY attempt',
    [id],
  );
  return rows;
}
