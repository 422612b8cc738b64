import test, { type ExecutionContext } from 'ava';
import type { MonitorMessage } from '../../../core/alerts/envelope.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { reopenDelivery } from '../../../models/alerts/delivery-record.ts';
import { runOn } from '../../../models/sql.ts';
import { startDeliver } from '../../../workers/processes/deliver.ts';
import type { Runtime } from '../../../workers/runtime.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';
import { startTelegramServer } from '../../helpers/telegram-server.ts';
import { until } from '../../helpers/until.ts';

const ADA = 5_000_000_001;
const EVENT_AT = Date.parse('2026-03-14T09:26:53Z') / 1000;

test("an alert arrives formatted in the chat, and its record does not contain the bot's token", async (t) => {
  const { telegram, runtime, deliver } = await prepare(t);
  const id = await deliver(messageOf('<Shop> & co'));
  await finished(runtime, id);
  t.is(telegram.messagesTo(ADA).length, 1);
  t.regex(
    telegram.messagesTo(ADA)[0] ?? '',
    new RegExp(
      String.raw`^🔴 <b>Down: &lt;Shop&gt; &amp; co</b>\nConnection refused\n\nFailing from: local\n` +
        'Since: 2026-03-14 09:26:53 UTC, for ',
    ),
  );
  const record = JSON.stringify([await deliveryOf(runtime, id), await attemptsOf(runtime, id), runtime.logLines]);
  t.like(await deliveryOf(runtime, id), { outcome: 'delivered', attempts: 1 });
  t.false(record.includes(telegram.token.split(':')[1] ?? ''));
});

test('a redelivered alert is marked as such, with the status and duration at its detection', async (t) => {
  const { telegram, runtime, deliver } = await prepare(t);
  const id = await deliver(messageOf('Shop'));
  await finished(runtime, id);
  const reopened = await reopenDelivery(
    runtime.database,
    { tenantId: runtime.tenantId, id, author: null },
    runtime.now(),
  );
  await runtime.queues.enqueueAttempts([
    { deliveryId: id, channelId: 'nch_1', attempt: reopened?.attempt ?? 0, dueAtMs: runtime.now() },
  ]);
  const text = await until(() => telegram.messagesTo(ADA)[1]);
  t.regex(
    text,
    new RegExp(
      String.raw`^🔔 <b>Redelivered: Down: Shop</b>\nConnection refused\n\n` +
        String.raw`Redelivered: status as of 2026-03-14 09:27:05 UTC\nFailing from: local\n` +
        String.raw`Since: 2026-03-14 09:26:53 UTC, for 12 seconds by then\n`,
    ),
  );
  const { rows } = await runtime.database.pool.query(
    `SELECT message -> 'detail' ->> 'sequence' AS sequence FROM deliveries`,
  );
  t.deepEqual(rows, [{ sequence: '4' }]);
});

test('a first attempt overtaken by a later change is marked as delayed', async (t) => {
  const { telegram, runtime, deliver } = await prepare(t);
  await runtime.database.pool.query(
    `INSERT INTO transitions (monitor_id, tenant_id, sequence, from_state, to_state, at, detected_at, evidence)
     VALUES ('mon_1', $1, 5, 'down', 'up', $2, $2, '{}')`,
    [runtime.tenantId, runtime.now()],
  );
  await finished(runtime, await deliver(messageOf('Shop')));
  t.regex(
    telegram.messagesTo(ADA)[0] ?? '',
    new RegExp(
      String.raw`^🔔 <b>Delayed: Down: Shop</b>\nConnection refused\n\n` +
        String.raw`Delayed: status as of 2026-03-14 09:27:05 UTC; changed since\n`,
    ),
  );
});

test('a 429 with retry_after postpones the next attempt beyond the retry schedule', async (t) => {
  const { telegram, runtime, deliver } = await prepare(t);
  telegram.refusals.push({
    error_code: 429,
    description: 'Too Many Requests: retry after 90',
    parameters: { retry_after: 90 },
  });
  const before = runtime.now();
  const id = await deliver(messageOf('Shop'));
  await until(async () => (await attemptsOf(runtime, id))[0]?.outcome === 'retry');
  const { next_attempt_at: next, outcome } = await until(async () => {
    const delivery = await deliveryOf(runtime, id);
    return delivery['claimed_until'] === null && delivery;
  });
  t.is(outcome, 'pending');
  t.true(next >= before + 90_000 && next <= runtime.now() + 90_000, `${next - before} ms`);
  t.is((await attemptsOf(runtime, id))[0]?.error, 'Telegram responded with 429: Too Many Requests: retry after 90');
});

test('a lost chat fails the delivery and disconnects the channel; later ones fail as not connected', async (t) => {
  const { telegram, runtime, deliver } = await prepare(t);
  telegram.refusals.push({ error_code: 403, description: 'Forbidden: bot was blocked by the user' });
  const id = await deliver(messageOf('Shop'));
  await finished(runtime, id);
  t.like(await deliveryOf(runtime, id), { outcome: 'failed', attempts: 1 });
  const channel = await until(async () => {
    const row = await channelOf(runtime);
    return row['status'] === 'pending' && row;
  });
  t.like(channel, { enabled: true, chat_id: String(ADA), failures: 0 });
  t.regex(
    String(channel['last_error']),
    /^Telegram responded with 403: Forbidden: bot was blocked by the user\. Send \/start/,
  );
  const later = await deliver(messageOf('Shop'));
  await finished(runtime, later);
  t.is((await attemptsOf(runtime, later))[0]?.error, 'The channel is not connected');
  t.is(telegram.sent.length, 0);
});

test('an alert follows a chat to its new id in the same attempt, and later ones go there directly', async (t) => {
  const { telegram, runtime, deliver } = await prepare(t);
  telegram.migrate(ADA, -1_001_234_567_890);
  const id = await deliver(messageOf('Shop'));
  await finished(runtime, id);
  await until(async () => (await channelOf(runtime))['chat_id'] === '-1001234567890');
  t.like(await deliveryOf(runtime, id), { outcome: 'delivered', attempts: 1 });
  const callsBefore = telegram.calls.length;
  await finished(runtime, await deliver(messageOf('Shop')));
  t.is(telegram.calls.length, callsBefore + 1);
  t.is(telegram.messagesTo(-1_001_234_567_890).length, 2);
});

test('a 502 from Telegram is retried, and the alert is delivered', async (t) => {
  const { telegram, runtime, deliver } = await prepare(t);
  telegram.refusals.push({ error_code: 502, description: 'Bad Gateway' });
  const id = await deliver(messageOf('Shop'));
  await finished(runtime, id);
  t.like(await deliveryOf(runtime, id), { outcome: 'delivered', attempts: 2 });
});

async function prepare(t: ExecutionContext) {
  const runtime = await openTestRuntime(t);
  const telegram = await startTelegramServer(t);
  telegram.open(ADA);
  const { database, tenantId, newId } = runtime;
  const monitor = await runtime.addMonitor([await runtime.addAgent('local')], { name: 'Shop' });
  await database.pool.query(`UPDATE monitors SET id = 'mon_1' WHERE id = $1`, [monitor.id]);
  await createChannel(database, {
    id: 'nch_1',
    tenantId,
    type: 'telegram',
    name: 'Phone',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    nowMs: 0,
    author: null,
  });
  await database.pool.query(`UPDATE channels SET chat_id = $1 WHERE id = 'nch_1'`, [String(ADA)]);
  const settings = { botToken: telegram.token, botName: null, apiUrl: telegram.url };
  const running = startDeliver(runtime, {
    allowPrivateNetwork: false,
    webhookTimeoutSeconds: 60,
    deliveryRetrySeconds: [0.1, 0.1],
    telegram: settings,
    slack: { apiUrl: 'https://slack.com/api' },
    mail: null,
  });
  t.teardown(() => running.stop());
  const deliver = async (message: MonitorMessage): Promise<string> => {
    const id = newId('dlv');
    const nowMs = runtime.now();
    await insertDeliveries(runOn(database.pool), [
      { id, tenantId, channelId: 'nch_1', monitorId: message.monitor.id, message, createdAtMs: nowMs },
    ]);
    await runtime.queues.enqueueAttempts([{ deliveryId: id, channelId: 'nch_1', attempt: 1, dueAtMs: nowMs }]);
    return id;
  };
  return { runtime, telegram, deliver };
}

async function finished(runtime: TestRuntime, id: string): Promise<void> {
  await until(async () => (await deliveryOf(runtime, id))['outcome'] !== 'pending');
}

async function deliveryOf({ database }: Runtime, id: string) {
  return (await database.pool.query('SELECT * FROM deliveries WHERE id = $1', [id])).rows[0];
}

async function attemptsOf({ database }: Runtime, id: string) {
  return (await database.pool.query('SELECT * FROM delivery_attempts WHERE delivery_id = $1 ORDER BY attempt', [id]))
    .rows;
}

async function channelOf({ database }: Runtime): Promise<Record<string, unknown>> {
  return (await database.pool.query(`SELECT * FROM channels WHERE id = 'nch_1'`)).rows[0];
}

function messageOf(name: string): MonitorMessage {
  return {
    version: '1',
    event: 'monitor.down',
    event_at: EVENT_AT,
    monitor: { id: 'mon_1', name, type: 'http', target: 'https://shop.example/' },
    state: 'down',
    reason: 'Connection refused',
    detail: {
      sources_down: ['local'],
      incident_id: 'inc_1',
      cause: 'conn_refused',
      previous_state: 'up',
      sequence: 4,
      sources_total: 1,
      quorum: 1,
      detected_at: EVENT_AT + 12,
    },
    url: 'https://spotcheck.example/monitors/mon_1',
  };
}
