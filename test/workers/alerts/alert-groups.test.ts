import test, { type ExecutionContext } from 'ava';
import type { ChannelType } from '../../../core/alerts/channel.ts';
import type { ChatMessage } from '../../../core/alerts/chat/message.ts';
import type { Verdict } from '../../../core/checks/verdict.ts';
import type { Monitor } from '../../../core/monitors/monitor.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { reopenDelivery } from '../../../models/alerts/delivery-record.ts';
import { createHttpClient } from '../../../net/http-client.ts';
import { attemptTelegram } from '../../../notifications/telegram/sending.ts';
import type { WebhookDelivery } from '../../../notifications/webhook/attempt.ts';
import { ChannelLanes } from '../../../workers/alerts/channel-lanes.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';
import { startTelegramServer } from '../../helpers/telegram-server.ts';
import { createDeliverer, DELIVERED } from './create-deliverer.ts';

const START_MS = Math.floor(Date.now() / 1000) * 1000 + 600_000;

/** Copies a monitor with its source, once for each name, by two statements. */
async function copyMonitor({ database }: TestRuntime, monitor: Monitor, names: readonly string[]): Promise<Monitor[]> {
  const made = names.map((name, index) => ({ no: monitor.no + 1 + index, id: `${monitor.id}${index}`, name }));
  const values = [monitor.no, JSON.stringify(made)];
  await database.pool.query(
    `INSERT INTO monitors OVERRIDING SYSTEM VALUE
     SELECT (jsonb_populate_record(m, copy)).* FROM monitors m, jsonb_array_elements($2::jsonb) AS copy
     WHERE m.no = $1`,
    values,
  );
  await database.pool.query(
    `INSERT INTO monitor_sources
     SELECT (jsonb_populate_record(s, jsonb_build_object('monitor_no', copy -> 'no'))).*
     FROM monitor_sources s, jsonb_array_elements($2::jsonb) AS copy WHERE s.monitor_no = $1`,
    values,
  );
  return made.map((copy) => ({ ...monitor, ...copy }));
}

/**
 * Monitors that have been up for long, and channels that group for ten seconds. Telegram chats of the ids given, at a
 * real server, an email of which the titles are kept, and a webhook, which groups nothing unless it says so.
 */
async function prepare(
  t: ExecutionContext,
  count: number,
  { chatIds = [-100], webhookSeconds = 0 }: { chatIds?: readonly number[]; webhookSeconds?: number } = {},
) {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, newId, publicUrl } = runtime;
  const telegram = await startTelegramServer(t);
  const agent = await runtime.addAgent('local');
  const [first, ...copies] = Array.from({ length: count }, (_, made) => `Shop ${made}`);
  const original = await runtime.addMonitor([agent], { name: first ?? '', downAfterFailures: 1 });
  const monitors = [original, ...(await copyMonitor(runtime, original, copies))];
  let steps = 0;
  const change = async (
    verdict: Verdict,
    second: number,
    { of = monitors, cause = 'timeout' }: { of?: readonly Monitor[]; cause?: string } = {},
  ) => {
    steps += 1;
    const nowMs = START_MS + second * 1000;
    const evaluate = createEvaluator({ database, now: () => nowMs, newId, publicUrl });
    const results = of.map((monitor) => ({
      ...resultOf(monitor, agent, { dueAtMs: nowMs - 1000 + steps, verdict }),
      ...(verdict !== 'up' && { cause, reason: cause === 'timeout' ? 'Timed out' : 'HTTP 500' }),
    }));
    await evaluate(results as Parameters<typeof evaluate>[0]);
  };
  await change('up', -300);
  const addChannel = async (type: ChannelType, groupSeconds: number) => {
    const { id } = await createChannel(database, {
      id: newId('nch'),
      tenantId,
      type,
      name: 'On call',
      status: 'connected',
      allMonitors: true,
      monitorIds: [],
      groupSeconds,
      ...(type === 'email' && { address: 'ops@customer.example' }),
      ...(type === 'webhook' && { webhook: { url: 'https://hooks.example/', signingSecret: 'whsec_AAAA' } }),
      nowMs: START_MS - 400_000,
      author: null,
    });
    return id;
  };
  const chats: string[] = [];
  for (const chatId of chatIds) {
    telegram.open(chatId);
    chats.push(await addChannel('telegram', 10));
    await database.pool.query('UPDATE channels SET chat_id = $2 WHERE id = $1', [chats.at(-1), String(chatId)]);
  }
  const email = await addChannel('email', 10);
  const webhook = await addChannel('webhook', webhookSeconds);
  const emails: ChatMessage[] = [];
  const posted: WebhookDelivery['message'][] = [];
  const bot = {
    token: telegram.token,
    apiUrl: telegram.url,
    http: createHttpClient({ allowPrivateNetwork: true, purpose: 'notifications' }),
  };
  const deliver = async (second: number) => {
    const nowMs = START_MS + second * 1000;
    const deliverer = createDeliverer({
      database,
      newId,
      publicUrl,
      sendWebhook: ({ message }) => {
        posted.push(message);
        return Promise.resolve(DELIVERED);
      },
      sendTelegram: (chatId, message, editedId) =>
        attemptTelegram(chatId, message, {
          bot,
          deadlineMs: 8000,
          now: Date.now,
          ...(typeof editedId === 'number' && { editedId }),
        }),
      sendEmail: ({ message }) => {
        emails.push(message);
        return Promise.resolve(DELIVERED);
      },
      now: () => nowMs,
    });
    const lanes = new ChannelLanes(deliverer);
    for (const channelId of [...chats, email, webhook]) await lanes.run(channelId);
  };
  const titlesIn = (chatId: number) => telegram.shownIn(chatId).map((text) => text.split('\n')[0] ?? '');
  const calls = (method: string) => telegram.calls.filter((call) => call.method === method).length;
  return { runtime, telegram, monitors, change, deliver, titlesIn, calls, emails, posted };
}

test('the first alert is sent at once, what follows edits it, and an email is followed by one more', async (t) => {
  const { monitors, change, deliver, titlesIn, telegram, emails, calls } = await prepare(t, 30);
  await change('down', 0, { of: monitors.slice(0, 1) });
  await deliver(0);
  t.deepEqual(titlesIn(-100), ['🔴 <b>Down: Shop 0</b>']);
  for (let second = 1; second < 15; second += 1) {
    await change('down', second, { of: monitors.slice(second * 2 - 1, second * 2 + 1) });
    await deliver(second);
  }
  for (let second = 15; second < 60; second += 1) await deliver(second);
  t.deepEqual(titlesIn(-100), ['🔴 <b>29 monitors: 29 down</b>']);
  t.true(telegram.shownIn(-100)[0]?.includes('Timed out'));
  t.is(calls('sendMessage'), 1);
  t.true(calls('editMessageText') <= 4, String(calls('editMessageText')));
  t.deepEqual(
    emails.map(({ title }) => title),
    ['Down: Shop 0', '21 monitors: 21 down', '29 monitors: 29 down'],
  );
});

test('a webhook that groups gets the first event, and then one that lists what followed, each as it is', async (t) => {
  const { runtime, monitors, change, deliver, posted } = await prepare(t, 6, { webhookSeconds: 10 });
  await change('down', 0, { of: monitors.slice(0, 1) });
  await deliver(0);
  await change('down', 1, { of: monitors.slice(1, 4) });
  await change('up', 2, { of: monitors.slice(3, 4) });
  for (let second = 2; second < 12; second += 1) await deliver(second);
  t.deepEqual(
    posted.map(({ event, state, reason }) => [event, state, reason]),
    [
      ['monitor.down', 'down', posted[0]?.reason],
      ['summary', 'down', '3 monitors: 2 down, 1 up'],
    ],
  );
  const [, summary] = posted;
  t.deepEqual(
    summary?.event === 'summary' ? summary.detail.changes.map(({ monitor, state }) => [monitor.name, state]) : [],
    [
      ['Shop 1', 'down'],
      ['Shop 2', 'down'],
      ['Shop 3', 'up'],
    ],
  );
  const { rows } = await runtime.database.pool.query<{ id: string; monitors: number }>(
    `SELECT id, (message ->> 'monitors')::integer AS monitors FROM deliveries d
     WHERE event = 'summary' AND EXISTS (SELECT FROM channels c WHERE c.id = d.channel_id AND c.type = 'webhook')`,
  );
  t.is(rows[0]?.monitors, 3, 'the log says how many it was');
  const key = { tenantId: runtime.tenantId, id: rows[0]?.id ?? '', author: null };
  await reopenDelivery(runtime.database, key, START_MS + 60_000);
  await deliver(60);
  t.deepEqual(posted[2], summary, 'sent again it is the same');
});

test('what fails for a reason of its own is a message of its own, at once', async (t) => {
  const { monitors, change, deliver, titlesIn } = await prepare(t, 4);
  await change('down', 0, { of: monitors.slice(0, 3) });
  await deliver(0);
  await change('down', 1, { of: monitors.slice(3), cause: 'status_500' });
  await deliver(1);
  t.deepEqual(titlesIn(-100), ['🔴 <b>3 monitors: 3 down</b>', '🔴 <b>Down: Shop 3</b>']);
});

test('of a monitor that recovers before the chat was notified both are said in the same message', async (t) => {
  const { monitors, change, deliver, titlesIn } = await prepare(t, 3);
  await change('down', 0, { of: monitors.slice(0, 1) });
  await deliver(0);
  await change('down', 1, { of: monitors.slice(1) });
  await change('up', 2, { of: monitors.slice(2) });
  for (let second = 2; second < 10; second += 1) await deliver(second);
  t.deepEqual(titlesIn(-100), ['🔴 <b>3 monitors: 2 down, 1 recovered</b>']);
  await change('up', 20);
  await deliver(20);
  t.deepEqual(titlesIn(-100), ['🔴 <b>3 monitors: 2 down, 1 recovered</b>', '🟢 <b>2 monitors: 2 recovered</b>']);
});

test('a message that is gone is sent anew, and one that did not arrive is replaced by what followed', async (t) => {
  const { monitors, change, deliver, titlesIn, telegram } = await prepare(t, 4);
  telegram.refusals.push({ error_code: 500, description: 'Internal Server Error' });
  await change('down', 0, { of: monitors.slice(0, 1) });
  await deliver(0);
  await change('down', 1, { of: monitors.slice(1, 2) });
  for (let second = 1; second < 12; second += 1) await deliver(second);
  t.true(titlesIn(-100).includes('🔴 <b>2 monitors: 2 down</b>'), titlesIn(-100).join(', '));
  telegram.clear(-100);
  await change('down', 8, { of: monitors.slice(2) });
  for (let second = 12; second < 30; second += 1) await deliver(second);
  t.deepEqual(titlesIn(-100), ['🔴 <b>4 monitors: 4 down</b>']);
});

test('2,800 of 3,230 monitors that fail within 30 s are one message in each chat, and one at the end', async (t) => {
  const chatIds = Array.from({ length: 10 }, (_, index) => -100 - index);
  const { monitors, change, deliver, titlesIn, telegram, calls, posted } = await prepare(t, 3230, { chatIds });
  const failing = monitors.slice(0, 2800);
  const own = monitors.slice(3000, 3001);
  const inSteps = async (verdict: Verdict, from: number) => {
    for (let step = 0; step < 30; step += 1) {
      const of = failing.filter((_, index) => index % 30 === step);
      await change(verdict, from + step, { of });
      if (verdict === 'down' && step === 12) await change('down', from + step, { of: own, cause: 'status_500' });
      if (step <= 12 || step % 4 === 0) await deliver(from + step);
      if (verdict === 'down' && step === 9)
        for (const chatId of chatIds) {
          t.is(titlesIn(chatId).length, 1);
          t.regex(titlesIn(chatId)[0] ?? '', /^🔴 <b>\d{3} monitors: \d{3} down<\/b>$/);
          t.true(telegram.shownIn(chatId)[0]?.includes('Timed out'));
        }
      if (verdict === 'down' && step === 12) t.true(titlesIn(-100).includes('🔴 <b>Down: Shop 3000</b>'));
    }
    for (let second = 30; second < 50; second += 5) await deliver(from + second);
  };
  await inSteps('down', 0);
  for (const chatId of chatIds)
    t.deepEqual(titlesIn(chatId), ['🔴 <b>2800 monitors: 2800 down</b>', '🔴 <b>Down: Shop 3000</b>']);
  await inSteps('up', 600);
  for (const chatId of chatIds)
    t.deepEqual(titlesIn(chatId), [
      '🔴 <b>2800 monitors: 2800 down</b>',
      '🔴 <b>Down: Shop 3000</b>',
      '🟢 <b>2800 monitors: 2800 recovered</b>',
    ]);
  t.is(calls('sendMessage'), 30);
  t.is(posted.length, 2800 * 2 + 1);
});
