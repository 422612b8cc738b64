import test, { type ExecutionContext } from 'ava';
import type { ChatMessage } from '../../../core/alerts/chat/message.ts';
import type { Verdict } from '../../../core/checks/verdict.ts';
import type { Monitor } from '../../../core/monitors/monitor.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { muteMonitor } from '../../../models/alerts/mutes.ts';
import { ChannelLanes } from '../../../workers/alerts/channel-lanes.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { openTestRuntime, resultOf } from '../../helpers/runtime.ts';
import { seeded } from '../../helpers/seeded.ts';
import { createDeliverer, DELIVERED } from './create-deliverer.ts';

const START_MS = Math.floor(Date.now() / 60_000) * 60_000 + 600_000;

/**
 * Sets up monitors that have been up for a long time, a chat that summarizes flapping, and a webhook for all events.
 */
async function prepare(t: ExecutionContext, count: number) {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, newId, publicUrl } = runtime;
  const agent = await runtime.addAgent('local');
  const monitors: Monitor[] = [];
  for (let made = 0; made < count; made += 1)
    monitors.push(await runtime.addMonitor([agent], { name: `Shop ${made}`, downAfterFailures: 1 }));
  let steps = 0;
  const change = async (verdict: Verdict, minute: number, of: readonly Monitor[] = monitors) => {
    steps += 1;
    const nowMs = START_MS + minute * 60_000;
    const evaluate = createEvaluator({ database, now: () => nowMs, newId, publicUrl });
    return await evaluate(of.map((monitor) => resultOf(monitor, agent, { dueAtMs: nowMs - 1000 + steps, verdict })));
  };
  await change('up', -60);
  const addChannel = async (type: 'telegram' | 'webhook') => {
    const { id } = await createChannel(database, {
      id: newId('nch'),
      tenantId,
      type,
      name: 'On call',
      status: 'connected',
      allMonitors: true,
      monitorIds: [],
      summarizesFlapping: type === 'telegram',
      ...(type === 'webhook' && { webhook: { url: 'https://hooks.example/', signingSecret: 'whsec_AAAA' } }),
      nowMs: START_MS - 5_400_000,
      author: null,
    });
    return id;
  };
  const [chat, webhook] = [await addChannel('telegram'), await addChannel('webhook')];
  await database.pool.query(`UPDATE channels SET chat_id = '-100' WHERE id = $1`, [chat]);
  const sent: { minute: number; message: ChatMessage }[] = [];
  let requests = 0;
  const deliver = async (minute: number) => {
    const deliverer = createDeliverer({
      database,
      newId,
      publicUrl,
      sendWebhook: () => {
        requests += 1;
        return Promise.resolve(DELIVERED);
      },
      sendTelegram: (_chatId, message) => {
        sent.push({ minute, message });
        return Promise.resolve(DELIVERED);
      },
      now: () => START_MS + minute * 60_000,
    });
    const lanes = new ChannelLanes(deliverer);
    for (const channelId of [chat, webhook]) await lanes.run(channelId);
  };
  return { runtime, monitors, change, deliver, sent, requests: () => requests };
}

test('after two messages a flapping monitor is reported as unstable, and then with its stable state', async (t) => {
  const { change, deliver, sent, requests } = await prepare(t, 1);
  for (let minute = 0; minute < 60; minute += 1) {
    if (minute < 21) await change(minute % 2 === 0 ? 'down' : 'up', minute);
    await deliver(minute);
  }
  t.deepEqual(
    sent.map(({ minute, message }) => [minute, message.title]),
    [
      [0, 'Down: Shop 0'],
      [1, 'Recovered: Shop 0'],
      [15, 'Unstable: Shop 0'],
      [30, 'Down: Shop 0'],
    ],
  );
  t.regex(sent[2]?.message.facts[0]?.value ?? '', /^16 changes since .* UTC, longest 1 minute$/);
  t.regex(sent[3]?.message.facts[0]?.value ?? '', /^21 changes since .* UTC, longest 10 minutes 1 second$/);
  t.is(requests(), 21);
  await change('up', 70);
  await deliver(70);
  t.like(sent.at(-1), { minute: 70, message: { title: 'Recovered: Shop 0' } });
});

test('if a flapping monitor goes down during a mute, the outage and its recovery are still sent', async (t) => {
  const { runtime, monitors, change, deliver, sent } = await prepare(t, 1);
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
  for (const minute of [0, 1, 2, 3]) {
    await change(minute % 2 === 0 ? 'down' : 'up', minute);
    await deliver(minute);
  }
  await muteMonitor(runtime.database, key, { untilMs: START_MS + 7 * 60_000, nowMs: START_MS + 3 * 60_000 });
  await change('down', 4);
  for (const minute of [6, 7, 15, 30, 60]) await deliver(minute);
  await change('up', 150);
  await deliver(150);
  t.deepEqual(
    sent.map(({ minute, message }) => [minute, message.title]),
    [
      [0, 'Down: Shop 0'],
      [1, 'Recovered: Shop 0'],
      [7, 'Down: Shop 0'],
      [150, 'Recovered: Shop 0'],
    ],
  );
});

test('a chat gets at most 2 + minutes / 15 messages per flapping monitor, including its last state', async (t) => {
  const { monitors, change, deliver, sent } = await prepare(t, 12);
  const random = seeded(11);
  const states = new Map<string, Verdict>();
  for (let minute = 0; minute < 110; minute += 1) {
    if (minute < 70) {
      const turning = monitors.filter((_, index) => random() < 0.05 + index * 0.06);
      for (const verdict of ['up', 'down'] as const) {
        const of = turning.filter(({ id }) => (states.get(id) ?? 'up') !== verdict);
        if (of.length === 0) continue;
        await change(verdict, minute, of);
        for (const { id } of of)
          turning.splice(
            turning.findIndex((one) => one.id === id),
            1,
          );
        for (const { id } of of) states.set(id, verdict);
      }
    }
    await deliver(minute);
  }
  for (const { id, name } of monitors) {
    const ofMonitor = sent.filter(({ message }) => message.title.endsWith(`: ${name}`));
    const [first] = ofMonitor;
    if (first === undefined) continue;
    for (const [index, { minute }] of ofMonitor.entries())
      t.true(index + 1 <= 2 + (minute - first.minute) / 15, `${name}: message ${index + 1} in minute ${minute}`);
    const last = ofMonitor.at(-1)?.message;
    t.regex(`${last?.title} ${last?.text}`, states.get(id) === 'down' ? /Down/ : /Recovered/, name);
  }
  t.true(sent.some(({ message }) => message.title.startsWith('Unstable')));
});
