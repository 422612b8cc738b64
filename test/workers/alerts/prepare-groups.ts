import type { ExecutionContext } from 'ava';
import type { ChannelType } from '../../../core/alerts/channel.ts';
import type { ChatMessage } from '../../../core/alerts/chat/message.ts';
import type { Verdict } from '../../../core/checks/verdict.ts';
import type { Monitor } from '../../../core/monitors/monitor.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { createHttpClient } from '../../../net/http-client.ts';
import { attemptTelegram } from '../../../notifications/telegram/sending.ts';
import type { WebhookDelivery } from '../../../notifications/webhook/attempt.ts';
import { ChannelLanes } from '../../../workers/alerts/channel-lanes.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';
import { startTelegramServer } from '../../helpers/telegram-server.ts';
import { createDeliverer, DELIVERED } from './create-deliverer.ts';

export const START_MS = Math.floor(Date.now() / 1000) * 1000 + 600_000;

/** Copies a monitor with its source, once for each name, in two statements. */
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
 * Sets up monitors that have been up for a long time, and channels that group for ten seconds. They are Telegram chats
 * with the given ids on a real server, an email channel that records titles, and a webhook, which groups only if set.
 */
export async function prepareGroups(
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
          deadlineMs: 60_000,
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
  return { runtime, telegram, monitors, change, deliver, titlesIn, calls, emails, posted, emailId: email };
}
