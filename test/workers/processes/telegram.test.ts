import test, { type ExecutionContext } from 'ava';
import { createChannel } from '../../../models/alerts/channels.ts';
import { fingerprintOf } from '../../../models/secrets/secret-box.ts';
import { startTelegram } from '../../../workers/processes/telegram.ts';
import type { Runtime } from '../../../workers/runtime.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';
import { startTelegramServer } from '../../helpers/telegram-server.ts';
import { until } from '../../helpers/until.ts';

const ADA = 5_000_000_001;
const GROUP = -4_012_345;

test('/start with a code connects the chat and greets it; without a public URL updates are polled', async (t) => {
  const { runtime, telegram, channel } = await prepare(t);
  const { id } = await channel('secret-code-1');
  telegram.write(ADA, '/start secret-code-1');
  const [greeting = ''] = await until(() => telegram.messagesTo(ADA).length > 0 && telegram.messagesTo(ADA));
  t.regex(
    greeting,
    new RegExp(
      String.raw`<b>Connected to Spotcheck</b>\nAlerts for all monitors arrive here, from the channel Phone\. ` +
        String.raw`Send /\u2060?stop to stop alerts\.`,
    ),
  );
  t.like(await rowOf(runtime, id), { status: 'connected', chat_id: String(ADA), enabled: true });
  t.like(
    telegram.calls.find(({ method }) => method === 'getUpdates'),
    { parameters: { timeout: 25, allowed_updates: ['message', 'my_chat_member'] } },
  );
});

test("in a group a code may come with the bot's name, and one for another bot is ignored", async (t) => {
  const { runtime, telegram, channel } = await prepare(t);
  const { id } = await channel('group-code');
  telegram.write(GROUP, '/start@other_bot group-code');
  telegram.write(GROUP, '/start@Spotcheck_Bot group-code');
  await until(() => telegram.messagesTo(GROUP).length > 0);
  t.like(await rowOf(runtime, id), { status: 'connected', chat_id: String(GROUP) });
  t.is(telegram.messagesTo(GROUP).length, 1);
});

test('a code works once, within an hour, and any other /start gets a reply with the reason', async (t) => {
  const { runtime, telegram, channel } = await prepare(t);
  const first = await channel('once');
  const late = await channel('late', { expiresAtSeconds: Math.floor(Date.now() / 1000) - 1 });
  const texts: Record<number, RegExp> = {
    [ADA]: /Connected/,
    [ADA + 1]: /used already/,
    [ADA + 2]: /hour old/,
    [ADA + 3]: /no channel/,
    [ADA + 4]: /not connected/,
  };
  telegram.write(ADA, '/start once');
  telegram.write(ADA + 1, '/start once');
  telegram.write(ADA + 2, '/start late');
  telegram.write(ADA + 3, '/start never-made');
  telegram.write(ADA + 4, '/start');
  await until(() => telegram.sent.length === 5);
  for (const [chatId, expected] of Object.entries(texts))
    t.regex(telegram.messagesTo(Number(chatId))[0] ?? '', expected);
  t.like(await rowOf(runtime, first.id), { chat_id: String(ADA) });
  t.like(await rowOf(runtime, late.id), { status: 'pending', chat_id: null });
});

test("a Slack channel's code does not connect a Telegram chat", async (t) => {
  const { runtime, telegram, channel } = await prepare(t);
  const { id } = await channel('slack-code', { type: 'slack' });
  telegram.write(ADA, '/start slack-code');
  await until(() => telegram.sent.length === 1);
  t.regex(telegram.messagesTo(ADA)[0] ?? '', /no channel/);
  t.like(await rowOf(runtime, id), { status: 'pending', chat_id: null });
});

test("/stop disables every channel of its chat and no other chat's, and replies once", async (t) => {
  const { runtime, telegram, channel } = await prepare(t);
  const mine = [await channel('one'), await channel('two')];
  const other = await channel('three');
  telegram.write(ADA, '/start one');
  telegram.write(ADA, '/start two');
  telegram.write(ADA + 1, '/start three');
  await until(() => telegram.sent.length === 3);
  telegram.write(ADA, '/stop');
  await until(() => telegram.messagesTo(ADA).length === 3);
  t.regex(telegram.messagesTo(ADA)[2] ?? '', /No more alerts arrive here\. Disabled: “Phone”, “Phone”\./);
  for (const { id } of mine)
    t.like(await rowOf(runtime, id), { enabled: false, last_error: 'A member sent /stop in the chat' });
  t.like(await rowOf(runtime, other.id), { enabled: true, last_error: null });
});

test("stopping a chat enqueues a notification to its owner's other chat", async (t) => {
  const { runtime, telegram, channel } = await prepare(t);
  await channel('one');
  const other = await channel('two');
  telegram.write(ADA, '/start one');
  telegram.write(ADA + 1, '/start two');
  await until(() => telegram.sent.length === 2);
  telegram.write(ADA, '/stop');
  await until(() => telegram.sent.length === 3);
  const { rows } = await runtime.database.pool.query(
    `SELECT channel_id, event, message ->> 'state' AS state FROM deliveries`,
  );
  t.deepEqual(rows, [{ channel_id: other.id, event: 'channel.disconnected', state: 'stopped' }]);
  t.deepEqual(
    runtime.logLines.filter(({ msg }) => msg === 'delivery.not_queued'),
    [],
  );
});

test('removing the bot from a group disables the channels of that group', async (t) => {
  const { runtime, telegram, channel } = await prepare(t);
  const { id } = await channel('group');
  telegram.write(GROUP, '/start group');
  await until(() => telegram.sent.length === 1);
  telegram.block(GROUP);
  await until(async () => (await rowOf(runtime, id))['enabled'] === false);
  t.is((await rowOf(runtime, id))['last_error'], 'The bot was blocked in the chat or removed from it');
  t.is(telegram.sent.length, 1);
});

test('a channel follows its group when that becomes a supergroup', async (t) => {
  const { runtime, telegram, channel } = await prepare(t);
  const { id } = await channel('group');
  telegram.write(GROUP, '/start group');
  await until(() => telegram.sent.length === 1);
  telegram.migrate(GROUP, -1_001_234_567_890);
  await until(async () => (await rowOf(runtime, id))['chat_id'] === '-1001234567890');
  t.like(await rowOf(runtime, id), { status: 'connected', enabled: true });
});

test('a bare /start reconnects a channel whose chat was lost', async (t) => {
  const { runtime, telegram, channel } = await prepare(t);
  const { id } = await channel('phone');
  telegram.write(ADA, '/start phone');
  await until(() => telegram.sent.length === 1);
  await runtime.database.pool.query(
    `UPDATE channels SET status = 'pending', last_error = 'Telegram responded with 403' WHERE id = $1`,
    [id],
  );
  telegram.write(ADA, '/start');
  await until(() => telegram.sent.length === 2);
  t.regex(telegram.messagesTo(ADA)[1] ?? '', /Alerts arrive here from “Phone”/);
  t.like(await rowOf(runtime, id), { status: 'connected', last_error: null });
});

test('a restart continues after the last processed update and loses none sent meanwhile', async (t) => {
  const { telegram, channel, runtime, stop, start } = await prepare(t);
  await channel('phone');
  telegram.write(ADA, '/start phone');
  await until(() => telegram.sent.length === 1);
  await stop();
  const { next_update_id: next } = (await runtime.database.pool.query('SELECT next_update_id FROM telegram_polls'))
    .rows[0];
  telegram.write(ADA, '/stop');
  const callsBefore = telegram.calls.length;
  start();
  await until(() => telegram.sent.length === 2);
  t.regex(telegram.messagesTo(ADA)[1] ?? '', /No more alerts/);
  t.is(telegram.calls.slice(callsBefore).find(({ method }) => method === 'getUpdates')?.parameters['offset'], next);
});

test('a repeated update is not processed again', async (t) => {
  const { telegram, channel, runtime } = await prepare(t);
  await channel('phone');
  telegram.write(ADA, '/start phone');
  await until(() => telegram.sent.length === 1);
  await until(() => telegram.polls() === 1);
  telegram.repeat();
  telegram.write(ADA, '/stop');
  await until(() => telegram.messagesTo(ADA).at(-1)?.includes('No more alerts'));
  t.is(telegram.sent.length, 2);
  t.deepEqual(
    runtime.logLines.filter(({ msg }) => msg === 'telegram.update_taken').map(({ kind }) => kind),
    ['start', 'stop'],
  );
});

test('of two processes one polls at a time, and the other takes over when it stops', async (t) => {
  const { telegram, channel, stop, start, runtime } = await prepare(t);
  await until(() => telegram.polls() === 1);
  start(runtime.open());
  await channel('phone');
  telegram.write(ADA, '/start phone');
  await until(() => telegram.sent.length === 1);
  t.false(runtime.logLines.some(({ msg }) => msg === 'telegram.conflict'));
  await stop();
  await until(() => telegram.polls() === 1);
  telegram.write(ADA, '/stop');
  await until(() => telegram.sent.length === 2);
  t.false(runtime.logLines.some(({ msg }) => msg === 'telegram.conflict'));
});

test('a leftover webhook is removed, and the updates it did not deliver are polled', async (t) => {
  const { telegram, channel, runtime, stop, start } = await prepare(t);
  await stop();
  await fetch(`${telegram.url}/bot${telegram.token}/setWebhook`, {
    method: 'POST',
    body: JSON.stringify({ url: 'https://old.example/' }),
  });
  await channel('phone');
  telegram.write(ADA, '/start phone');
  start();
  await until(() => telegram.sent.length === 1);
  t.is(telegram.webhook, null);
  t.true(runtime.logLines.some(({ msg }) => msg === 'telegram.webhook_removed'));
});

test('a server that keeps repeating processed updates without waiting is polled once a second', async (t) => {
  const { telegram, channel, runtime } = await prepare(t);
  await channel('phone');
  telegram.stuck = true;
  telegram.write(ADA, '/start phone');
  await until(() => telegram.sent.length === 1);
  const callsBefore = telegram.calls.length;
  const [first, second] = await until(() => {
    const polls = telegram.calls.slice(callsBefore).filter(({ method }) => method === 'getUpdates');
    return polls.length >= 2 && polls;
  });
  const pauseMs = (second?.atMs ?? 0) - (first?.atMs ?? 0);
  t.true(pauseMs > 900, `${pauseMs} ms`);
  t.is(runtime.logLines.filter(({ msg }) => msg === 'telegram.update_taken').length, 1);
});

test('a conflict with another program that polls for the bot is logged', async (t) => {
  const { telegram, runtime } = await prepare(t);
  await until(() => telegram.polls() === 1);
  const stranger = fetch(`${telegram.url}/bot${telegram.token}/getUpdates`, { method: 'POST' });
  const line = await until(() => runtime.logLines.find(({ msg }) => msg === 'telegram.conflict'));
  t.like(line, { level: 40, status_code: 409 });
  t.is((await stranger).status, 200);
});

test('with a public https URL a webhook is set, with a secret path and a secret header', async (t) => {
  const { telegram, runtime } = await prepare(t, { publicUrl: 'https://spotcheck.example' });
  const webhook = await until(() => telegram.webhook);
  const [path] = runtime.database.secrets.derive('telegram:webhook-path');
  t.is(webhook.url, `https://spotcheck.example/telegram/${path}`);
  t.regex(path, /^[\w-]{43}$/);
  t.not(webhook.secret_token, path);
  t.regex(webhook.secret_token ?? '', /^[\w-]{43}$/);
  t.deepEqual(webhook.allowed_updates, ['message', 'my_chat_member']);
  t.false(telegram.calls.some(({ method }) => method === 'getUpdates'));
});

test('stopping does not wait for an open long poll', async (t) => {
  const { telegram, stop, runtime } = await prepare(t);
  await until(() => telegram.polls() === 1);
  const startedAt = performance.now();
  await stop();
  t.true(performance.now() - startedAt < 20_000);
  t.false(runtime.logLines.some(({ level }) => level === 40));
});

test('a token that Telegram rejects is logged as such, without the token', async (t) => {
  const { runtime } = await prepare(t, { token: '999:not-the-token-at-all' });
  const line = await until(() => runtime.logLines.find(({ msg }) => msg === 'telegram.not_polled'));
  t.like(line, { status_code: 401, error: 'Unauthorized' });
  t.false(JSON.stringify(runtime.logLines).includes('not-the-token'));
});

type Options = { publicUrl?: string; token?: string };

async function prepare(t: ExecutionContext, { publicUrl, token }: Options = {}) {
  const runtime = await openTestRuntime(t);
  const telegram = await startTelegramServer(t);
  const settings = { botToken: token ?? telegram.token, botName: 'spotcheck_bot', apiUrl: telegram.url };
  const start = (on: Runtime = runtime) => {
    const running = startTelegram({ ...on, ...(publicUrl !== undefined && { publicUrl }) }, settings);
    t.teardown(() => running.stop());
    return running;
  };
  const running = start();
  return { runtime, telegram, start, stop: () => running.stop(), channel: channelMaker(runtime) };
}

type Made = { type?: 'telegram' | 'slack'; expiresAtSeconds?: number };

function channelMaker({ database, tenantId, newId, now }: TestRuntime) {
  return async (code: string, { type = 'telegram', expiresAtSeconds = Math.floor(now() / 1000) + 3600 }: Made = {}) =>
    await createChannel(database, {
      id: newId('nch'),
      tenantId,
      type,
      name: 'Phone',
      status: 'pending',
      allMonitors: true,
      monitorIds: [],
      nowMs: now(),
      connectCode: { fingerprint: fingerprintOf(code), expiresAtSeconds },
      author: null,
    });
}

async function rowOf({ database }: Runtime, id: string): Promise<Record<string, unknown>> {
  return (await database.pool.query('SELECT status, enabled, chat_id, last_error FROM channels WHERE id = $1', [id]))
    .rows[0];
}
