import { randomBytes } from 'node:crypto';
import test from 'ava';
import nock from 'nock';
import { createChatTest } from '../../../api/alerts/channel-test.ts';
import type { Channel } from '../../../core/alerts/channel.ts';
import { createChannel, findChannel } from '../../../models/alerts/channels.ts';
import { closeDatabase, type Database } from '../../../models/database.ts';
import { createIdSource } from '../../../models/secrets/ids.ts';
import { createSecretBox } from '../../../models/secrets/secret-box.ts';
import { attemptSlack, openSlackSending } from '../../../notifications/slack/attempt.ts';
import { openTelegramSending } from '../../../notifications/telegram/sending.ts';
import type { DueAttempt } from '../../../queues/job-queues.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../../helpers/database.ts';

const BOT = { botToken: '123:s3cret', apiUrl: 'https://api.telegram.org' };
const WEBHOOK_PATH = '/services/T1/B1/s3cret';
const NOW_MS = 1_763_720_000_000;
/** Longer than a busy machine delays any response. */
const DEADLINE_MS = 60_000;

let testDatabase: TestDatabase;
let database: Database;
let made = 0;
const newId = createIdSource();
const enqueued: DueAttempt[] = [];

test.before(async () => {
  nock.disableNetConnect();
  nock.enableNetConnect('127.0.0.1');
  testDatabase = await createTestDatabase();
  database = openTestDatabase(testDatabase.databaseUrl);
});

test.after.always(async () => {
  await closeDatabase(database);
  await testDatabase.drop();
});

test.afterEach.always(() => nock.cleanAll());

test.serial('a Telegram chat gets a short message that names the channel', async (t) => {
  const channel = await addChannel('telegram', { chatId: '-100123' });
  const bodies: Record<string, unknown>[] = [];
  nock('https://api.telegram.org')
    .post('/bot123:s3cret/sendMessage', (body: Record<string, unknown>) => bodies.push(body) > 0)
    .reply(200, { ok: true, result: { message_id: 1 } });
  t.like(await testChat(channel), { error: null, attempt: { statusCode: 200 }, message: { event: 'test' } });
  t.is(bodies[0]?.['chat_id'], -100123);
  t.regex(String(bodies[0]?.['text']), /Test: Family/);
});

test.serial('a Slack channel gets the test message through its own webhook', async (t) => {
  const channel = await addChannel('slack', { webhookUrl: `https://hooks.slack.com${WEBHOOK_PATH}` });
  const bodies: { text?: string }[] = [];
  nock('https://hooks.slack.com')
    .post(WEBHOOK_PATH, (body: { text?: string }) => bodies.push(body) > 0)
    .reply(200, 'ok');
  t.like(await testChat(channel), { error: null, attempt: { statusCode: 200 }, message: { event: 'test' } });
  t.regex(bodies[0]?.text ?? '', /Test: Family/);
});

test.serial('a test to a lost chat fails, disconnects the channel and is reported, like an alert', async (t) => {
  const channel = await addChannel('telegram', { chatId: '4711' });
  const other = await addChannel('slack', { webhookUrl: 'https://hooks.slack.com/services/T1/B1/other' });
  await database.pool.query('UPDATE channels SET tenant_id = $2 WHERE id = $1', [other.id, channel.tenantId]);
  nock('https://api.telegram.org')
    .post('/bot123:s3cret/sendMessage')
    .reply(403, { ok: false, error_code: 403, description: 'Forbidden: bot was blocked by the user' });
  const result = await testChat(channel);
  t.regex(
    result?.error ?? '',
    /^test delivery failed: Telegram responded with 403: Forbidden: bot was blocked by the user/,
  );
  const found = await findChannel(database, channel);
  t.is(found?.status, 'pending');
  t.regex(found?.lastError?.text ?? '', /blocked/);
  t.like(enqueued, [{ channelId: other.id, attempt: 1, dueAtMs: NOW_MS }]);
  t.is(
    (
      await database.pool.query('SELECT FROM deliveries WHERE id = $1 AND channel_id = $2', [
        enqueued[0]?.deliveryId,
        other.id,
      ])
    ).rowCount,
    1,
  );
  t.is(await testChat(channel), null);
});

test.serial('a test follows a migrated chat, and the next one goes there directly', async (t) => {
  const channel = await addChannel('telegram', { chatId: '-55' });
  const api = nock('https://api.telegram.org');
  const chatIds: unknown[] = [];
  const recorded = (body: { chat_id: unknown }) => chatIds.push(body.chat_id) > 0;
  api.post('/bot123:s3cret/sendMessage', recorded).reply(400, {
    ok: false,
    error_code: 400,
    description: 'Bad Request: group chat was upgraded to a supergroup chat',
    parameters: { migrate_to_chat_id: -10055 },
  });
  api
    .post('/bot123:s3cret/sendMessage', recorded)
    .twice()
    .reply(200, { ok: true, result: { message_id: 1 } });
  t.is((await testChat(channel))?.error, null);
  t.is((await testChat(channel))?.error, null);
  t.deepEqual(chatIds, [-55, -10055, -10055]);
});

test.serial('nothing is sent without a connection, without a bot or to the channel of another account', async (t) => {
  const connected = await addChannel('telegram', { chatId: '99' });
  t.is(await testChat(await addChannel('telegram', {})), null);
  t.is(await testChat({ ...connected, tenantId: 'ten_other' }), null);
  t.like(await testChat(connected, { ...BOT, botToken: null }), {
    error: 'test delivery failed: Telegram is not configured on this installation',
    attempt: { statusCode: null },
  });
});

test.serial('a webhook whose encryption key was removed fails with an error that names SECRET_KEYS', async (t) => {
  const channel = await addChannel('slack', { webhookUrl: `https://hooks.slack.com${WEBHOOK_PATH}` });
  const rekeyed: Database = { ...database, secrets: createSecretBox([{ id: 'k2', key: randomBytes(32) }]) };
  t.is(
    (await testChat(channel, BOT, rekeyed))?.error,
    'test delivery failed: The webhook of the channel cannot be decrypted with the current SECRET_KEYS',
  );
});

async function testChat(
  channel: Channel,
  bot: { botToken: string | null; apiUrl: string } = BOT,
  on: Database = database,
) {
  const slack = openSlackSending({
    allowPrivateNetwork: false,
    apiUrl: 'https://slack.com/api',
    deadlineMs: DEADLINE_MS,
  });
  const sendChatTest = createChatTest({
    database: on,
    publicUrl: 'https://spotcheck.example',
    sendTelegram: openTelegramSending(bot, DEADLINE_MS),
    sendSlack: (webhookUrl, message) => attemptSlack(webhookUrl, message, slack),
    sendEmail: null,
    now: () => NOW_MS,
    newId,
    enqueueAttempts: (attempts) => Promise.resolve(void enqueued.push(...attempts)),
    logger: {
      warn: (_fields, text) => {
        throw new Error(text);
      },
    },
  });
  return await sendChatTest(channel);
}

/** Creates a channel as left by connecting it; without a connection it is pending. */
async function addChannel(
  type: 'telegram' | 'slack',
  { chatId, webhookUrl }: { chatId?: string; webhookUrl?: string },
): Promise<Channel> {
  made += 1;
  const [tenantId, id] = [`ten_${made}`, `nch_${made}`];
  await database.pool.query(`INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $1, 'pro', 0)`, [tenantId]);
  const status = chatId === undefined && webhookUrl === undefined ? 'pending' : 'connected';
  const channel = await createChannel(database, {
    id,
    tenantId,
    type,
    name: 'Family',
    status,
    allMonitors: true,
    monitorIds: [],
    nowMs: 0,
    author: null,
  });
  const sealedUrl = webhookUrl === undefined ? null : database.secrets.seal(webhookUrl, `channel:${id}:slack_webhook`);
  await database.pool.query('UPDATE channels SET chat_id = $2, sealed_url = $3 WHERE id = $1', [
    id,
    chatId ?? null,
    sealedUrl,
  ]);
  return channel;
}
