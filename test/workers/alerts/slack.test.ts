import { randomBytes } from 'node:crypto';
import test from 'ava';
import nock from 'nock';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { connectSlackChannel } from '../../../models/alerts/connect-links.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { closeDatabase, type Database } from '../../../models/database.ts';
import { createIdSource } from '../../../models/secrets/ids.ts';
import { createSecretBox } from '../../../models/secrets/secret-box.ts';
import { runOn } from '../../../models/sql.ts';
import { generateConnectCode } from '../../../notifications/connect-code.ts';
import { attemptSlack, openSlackSending } from '../../../notifications/slack/attempt.ts';
import type { DueAttempt } from '../../../queues/job-queues.ts';
import { ChannelHealth } from '../../../workers/alerts/channel-health.ts';
import { ChannelLanes } from '../../../workers/alerts/channel-lanes.ts';
import type { DelivererParts } from '../../../workers/alerts/deliver.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../../helpers/database.ts';
import { createDeliverer } from './create-deliverer.ts';

nock.disableNetConnect();
test.afterEach.always(() => nock.cleanAll());

const HOST = 'https://hooks.slack.com';
const MESSAGE = buildTestMessage({ nowMs: Date.now(), publicUrl: 'https://spotcheck.example' });
const sending = openSlackSending({ allowPrivateNetwork: false, apiUrl: 'https://slack.com/api', deadlineMs: 60_000 });
const sendSlack: DelivererParts['sendSlack'] = (webhookUrl, message) => attemptSlack(webhookUrl, message, sending);

let testDatabase: TestDatabase;
let database: Database;
let made = 0;

test.before(async () => {
  testDatabase = await createTestDatabase();
  database = openTestDatabase(testDatabase.databaseUrl);
});

test.after.always(async () => {
  await closeDatabase(database);
  await testDatabase.drop();
});

test.serial(
  "an alert is sent to the channel's own webhook, and its record has Slack's response but not the URL",
  async (t) => {
    const { channelId, path } = await addChannel();
    const id = await addDelivery(channelId);
    nock(HOST)
      .post(path, (body: { text: string }) => body.text.includes('Test delivery'))
      .reply(200, 'ok');
    const { deliver, log } = prepare();
    t.deepEqual(await deliver(channelId), { delivered: 1 });
    const [attempt] = await attemptsOf(id);
    t.like(attempt, { outcome: 'delivered', status_code: 200, error: null, response: 'ok' });
    t.false(JSON.stringify([attempt, log]).includes(path));
  },
);

test.serial(
  'a Retry-After from Slack applies if it is longer than the scheduled wait, and not if it is shorter',
  async (t) => {
    for (const [retryAfter, leastMs, mostMs] of [
      ['40', 40_000, 300_000],
      ['1', 4000, 39_000],
    ] as const) {
      const { channelId, path } = await addChannel();
      const id = await addDelivery(channelId);
      nock(HOST).post(path).reply(429, 'rate_limited', { 'Retry-After': retryAfter });
      const beforeMs = Date.now();
      const now = () => beforeMs;
      const { deliver, retries } = prepare({ now });
      t.deepEqual(await deliver(channelId), { retry: 1 });
      const { next_attempt_at: dueAtMs } = await deliveryOf(id);
      t.true(dueAtMs - beforeMs >= leastMs && dueAtMs - beforeMs < mostMs, `${dueAtMs - beforeMs} ms`);
      const quietUntilMs = (await channelOf(channelId)).quiet_until;
      t.true(quietUntilMs - beforeMs >= Number(retryAfter) * 1000 && quietUntilMs <= dueAtMs);
      // The chat's other deliveries are looked up as soon as Slack allows it.
      t.deepEqual(new Set(retries.map((job) => job.dueAtMs)), new Set([quietUntilMs, dueAtMs]));
      const other = await addDelivery(channelId, beforeMs);
      t.deepEqual(await prepare({ now }).deliver(channelId), {});
      t.is((await deliveryOf(other)).outcome, 'pending');
    }
  },
);

test.serial(
  'a revoked webhook disconnects its channel with the reason, leaves it enabled and ends all retries',
  async (t) => {
    const { channelId, path } = await addChannel();
    const first = await addDelivery(channelId);
    nock(HOST).post(path).reply(404, 'no_service');
    t.deepEqual(await prepare().deliver(channelId), { failed: 1 });
    t.like((await attemptsOf(first))[0], { outcome: 'failed', status_code: 404, response: 'no_service' });
    const channel = await channelOf(channelId);
    t.like(channel, { status: 'pending', enabled: true });
    t.regex(channel.last_error, /^Slack no longer accepts messages for this channel: the webhook was removed/);

    const second = await addDelivery(channelId);
    t.deepEqual(await prepare().deliver(channelId), { failed: 1 });
    t.like((await attemptsOf(second))[0], { status_code: null, error: 'The channel is not connected' });
  },
);

test.serial("a revoked webhook is reported to the owner's other chat, through its own webhook", async (t) => {
  const { channelId, path } = await addChannel();
  const other = await addChannel((await channelOf(channelId)).tenant_id);
  await addDelivery(channelId);
  nock(HOST).post(path).reply(404, 'no_service');
  const { deliver, retries } = prepare();
  t.deepEqual(await deliver(channelId), { failed: 1 });
  t.like(retries, [{ channelId: other.channelId, attempt: 1 }]);
  nock(HOST)
    .post(other.path, ({ text }: { text: string }) => /Channel disconnected: Team/.test(text))
    .reply(200, 'ok');
  t.deepEqual(await deliver(other.channelId), { delivered: 1 });
});

test.serial('the failure of a webhook that was replaced meanwhile does not affect the new one', async (t) => {
  const { channelId, path } = await addChannel();
  await addDelivery(channelId);
  nock(HOST).post(path).reply(404, 'no_service');
  const reconnecting: DelivererParts['sendSlack'] = async (webhookUrl, message) => {
    await connect(channelId);
    return await sendSlack(webhookUrl, message);
  };
  t.deepEqual(await prepare({ sendSlack: reconnecting }).deliver(channelId), { failed: 1 });
  t.like(await channelOf(channelId), { status: 'connected', last_error: null });
});

test.serial('a webhook that cannot be decrypted is retried, because the operator can restore the key', async (t) => {
  const { channelId } = await addChannel();
  const id = await addDelivery(channelId);
  const keyless = { ...database, secrets: createSecretBox([{ id: 'other', key: randomBytes(32) }]) };
  t.deepEqual(await prepare({ database: keyless }).deliver(channelId), { retry: 1 });
  t.is((await attemptsOf(id))[0].error, 'The webhook of the channel cannot be decrypted with the current SECRET_KEYS');
  t.is((await channelOf(channelId)).status, 'connected');
});

/** Returns a deliverer with the real sender, and its log and retries. */
function prepare(overrides: Partial<DelivererParts> = {}) {
  const log: object[] = [];
  const retries: DueAttempt[] = [];
  const writeLine = (fields: object): void => void log.push(fields);
  const queues = {
    enqueueAttempts: (attempts: readonly DueAttempt[]) => Promise.resolve(void retries.push(...attempts)),
  };
  const deliverer = createDeliverer({
    database,
    sendWebhook: () => Promise.reject(new Error('There is no webhook here')),
    sendSlack,
    queues,
    channelHealth: new ChannelHealth({
      database,
      queues,
      newId: createIdSource(),
      now: Date.now,
      publicUrl: 'https://spotcheck.example',
      log: { warn: writeLine },
    }),
    log: { info: writeLine, warn: writeLine },
    ...overrides,
  });
  const lanes = new ChannelLanes(deliverer);
  return { deliver: async (channelId: string) => (await lanes.run(channelId)).outcomes, log, retries };
}

async function addChannel(ofTenant?: string) {
  made += 1;
  const [tenantId, channelId] = [ofTenant ?? `ten_${made}`, `nch_${made}`];
  if (ofTenant === undefined)
    await database.pool.query(`INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $1, 'pro', 0)`, [tenantId]);
  await createChannel(database, {
    id: channelId,
    tenantId,
    type: 'slack',
    name: 'Team',
    status: 'pending',
    allMonitors: true,
    monitorIds: [],
    nowMs: 0,
    author: null,
  });
  return { channelId, path: await connect(channelId) };
}

/** Connects a channel to a new webhook, and returns that webhook's path on Slack. */
async function connect(channelId: string): Promise<string> {
  const { fingerprint, expiresAtSeconds } = generateConnectCode(randomBytes, Date.now());
  await database.pool.query('INSERT INTO connect_codes (fingerprint, channel_id, expires_at) VALUES ($1, $2, $3)', [
    fingerprint,
    channelId,
    expiresAtSeconds,
  ]);
  const path = `/services/T1/B1/${randomBytes(12).toString('hex')}`;
  await connectSlackChannel(database, {
    fingerprint,
    webhookUrl: `${HOST}${path}`,
    teamName: 'Acme',
    channelName: '#alerts',
    nowMs: Date.now(),
    author: null,
  });
  return path;
}

async function addDelivery(channelId: string, createdAtMs = Date.now()): Promise<string> {
  made += 1;
  const id = `dlv_${made}`;
  const { tenant_id: tenantId } = await channelOf(channelId);
  await insertDeliveries(runOn(database.pool), [
    { id, tenantId, channelId, monitorId: `mon_${made}`, message: MESSAGE, createdAtMs },
  ]);
  return id;
}

async function channelOf(id: string) {
  return (
    await database.pool.query(
      'SELECT tenant_id, status, enabled, last_error, quiet_until FROM channels WHERE id = $1',
      [id],
    )
  ).rows[0];
}

async function deliveryOf(id: string) {
  return (await database.pool.query('SELECT outcome, next_attempt_at FROM deliveries WHERE id = $1', [id])).rows[0];
}

async function attemptsOf(id: string) {
  return (
    await database.pool.query(
      'SELECT outcome, status_code, error, response FROM delivery_attempts WHERE delivery_id = $1 ORDER BY attempt',
      [id],
    )
  ).rows;
}
