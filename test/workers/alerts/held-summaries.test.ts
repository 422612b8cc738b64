import test, { type ExecutionContext } from 'ava';
import type { ChatMessage } from '../../../core/alerts/chat/message.ts';
import type { Verdict } from '../../../core/checks/verdict.ts';
import type { Monitor } from '../../../core/monitors/monitor.ts';
import { createChannel, updateChannel } from '../../../models/alerts/channels.ts';
import { createWindow } from '../../../models/maintenance/windows.ts';
import { ChannelLanes } from '../../../workers/alerts/channel-lanes.ts';
import { HeldAlerts } from '../../../workers/alerts/gather-held.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { claimNextDelivery } from '../../helpers/deliveries.ts';
import { openTestRuntime, resultOf } from '../../helpers/runtime.ts';
import { createDeliverer, DELIVERED } from './create-deliverer.ts';

const MINUTE = 60_000;

/** A full minute, after the monitors were created. */
const START_MS = Math.floor(Date.now() / MINUTE) * MINUTE + 120 * MINUTE;

/** End of the maintenance including the settle time, in minutes after its start. */
const DUE = 65;

/** Sets up monitors that are up, a chat and a webhook for all of them, and an hour of maintenance of the first ones. */
async function prepare(t: ExecutionContext, count: number, maintained = count) {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, newId, publicUrl } = runtime;
  const agent = await runtime.addAgent('local');
  const monitors: Monitor[] = [];
  for (let made = 0; made < count; made += 1)
    monitors.push(await runtime.addMonitor([agent], { name: `Shop ${made}`, downAfterFailures: 1 }));
  const change = (verdict: Verdict, minute: number, of: readonly Monitor[] = monitors) => {
    const nowMs = START_MS + minute * MINUTE;
    const evaluate = createEvaluator({ database, now: () => nowMs, newId, publicUrl });
    return evaluate(of.map((monitor) => resultOf(monitor, agent, { dueAtMs: nowMs - 1000, verdict })));
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
      ...(type === 'webhook' && { webhook: { url: 'https://hooks.example/', signingSecret: 'whsec_AAAA' } }),
      nowMs: START_MS - 90 * MINUTE,
      author: null,
    });
    return id;
  };
  const [chat, webhook] = [await addChannel('telegram'), await addChannel('webhook')];
  await database.pool.query(`UPDATE channels SET chat_id = '-100' WHERE id = $1`, [chat]);
  await createWindow(database, {
    id: newId('mnt'),
    tenantId,
    key: null,
    name: 'Upgrade',
    description: '',
    allMonitors: false,
    monitorIds: monitors.slice(0, maintained).map(({ id }) => id),
    tags: [],
    localStart: null,
    timezone: 'UTC',
    startsAt: START_MS / 1000,
    durationSeconds: 3600,
    cron: null,
    rrule: null,
    alerts: 'hold',
    sla: 'exclude',
    settleSeconds: 300,
    createdAt: START_MS / 1000,
    author: null,
    nowMs: START_MS,
  });
  const sent: ChatMessage[] = [];
  const delivererAt = (minute: number) => {
    const nowMs = START_MS + minute * MINUTE;
    return createDeliverer({
      database,
      newId,
      publicUrl,
      sendTelegram: (_chatId, message) => {
        sent.push(message);
        return Promise.resolve(DELIVERED);
      },
      now: () => nowMs,
    });
  };
  const deliverer = (minute: number) => new ChannelLanes(delivererAt(minute));
  const claim = (minute: number) => delivererAt(minute).claim(chat);
  /** Delivers to a channel at a minute; returns the outcomes, and the titles that the chat got. */
  const deliver = async (channelId: string, minute: number) => {
    const { outcomes } = await deliverer(minute).run(channelId);
    return { outcomes, titles: sent.splice(0).map(({ title }) => title) };
  };
  return { runtime, monitors, chat, webhook, change, claim, deliver, deliverer, sent };
}

test('alerts held together are sent to a chat as one summary, and each recovery is reported', async (t) => {
  const { chat, webhook, change, deliver, deliverer, monitors, sent } = await prepare(t, 4);
  await change('down', 10, monitors.slice(0, 1));
  await change('down', 20, monitors.slice(1, 3));
  await change('degraded', 30, monitors.slice(3));
  t.deepEqual(await deliver(webhook, 30), { outcomes: { delivered: 4 }, titles: [] });
  t.deepEqual(await deliver(chat, DUE - 0.1), { outcomes: {}, titles: [] });
  await deliverer(DUE).run(chat);
  const [message] = sent;
  t.is(sent.splice(0).length, 1);
  t.like(message, {
    title: '4 monitors: 3 down, 1 degraded',
    text: 'These alerts waited for the end of maintenance.',
  });
  t.deepEqual(message?.facts, [
    { label: 'Down (3)', value: 'Shop 0, Shop 1, Shop 2' },
    { label: 'Degraded (1)', value: 'Shop 3' },
    { label: 'Maintenance', value: 'Upgrade' },
    // The first monitor failed at the tenth minute, a second before its result was decided.
    {
      label: 'First change',
      value: `${new Date(START_MS + 10 * MINUTE - 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`,
    },
  ]);
  await change('up', DUE + 10);
  t.deepEqual(
    (await deliver(chat, DUE + 10)).titles.toSorted(),
    [0, 1, 2, 3].map((number) => `Recovered: Shop ${number}`),
  );
});

test('held alerts of recovered monitors are omitted, and a single remaining one is sent as itself', async (t) => {
  const { chat, change, deliver, monitors, sent, deliverer } = await prepare(t, 3);
  await change('down', 10);
  await change('up', 20, monitors.slice(0, 1));
  await change('up', 62, monitors.slice(1, 2));
  await deliverer(DUE).run(chat);
  t.deepEqual(
    sent.map(({ title, facts }) => [title, facts.find(({ label }) => label === 'Maintenance')?.value]),
    [
      [
        'Down: Shop 2',
        `Upgrade, until ${new Date(START_MS + 60 * MINUTE).toISOString().slice(0, 16).replace('T', ' ')}:00 UTC`,
      ],
    ],
  );
  sent.length = 0;
  await change('up', 70);
  t.deepEqual((await deliver(chat, 70)).titles, ['Recovered: Shop 2']);
});

test('webhooks that follow maintenance get each held alert separately', async (t) => {
  const { runtime, webhook, change, deliver } = await prepare(t, 3);
  const key = { id: webhook, tenantId: runtime.tenantId, author: null };
  await updateChannel(runtime.database, key, { followsMaintenance: true });
  await change('down', 10);
  t.deepEqual(await deliver(webhook, 30), { outcomes: {}, titles: [] });
  t.deepEqual((await deliver(webhook, DUE)).outcomes, { delivered: 3 });
});

test('concurrent processes send one summary of held alerts', async (t) => {
  const { chat, change, deliverer, sent } = await prepare(t, 12);
  await change('down', 10);
  await Promise.all(Array.from({ length: 5 }, () => deliverer(DUE).run(chat)));
  t.deepEqual(
    sent.map(({ title }) => title),
    ['12 monitors: 12 down'],
  );
});

test('a process killed before alerts are gathered, or before their summary is sent, loses none', async (t) => {
  const { runtime, chat, change, deliver } = await prepare(t, 3);
  const { database } = runtime;
  await change('down', 10);
  const claimAt = (minute: number) =>
    claimNextDelivery(database, chat, { nowMs: START_MS + minute * MINUTE, claimMs: 15_000 });
  const claimed = await claimAt(DUE);
  t.is(claimed?.holdReason, 'maintenance');
  // During that claim no other waiting alert is claimed, because it would be sent alone.
  t.is(await claimAt(DUE), null);
  const again = await claimAt(DUE + 1);
  if (again === null) return t.fail('its claim expires');
  const { isSent, attempts } = await new HeldAlerts({ ...runtime, now: () => START_MS + (DUE + 1) * MINUTE }).release(
    again,
  );
  t.deepEqual([isSent, attempts.map(({ attempt }) => attempt)], [false, [1]]);
  const { rows } = await database.pool.query('SELECT FROM delivery_attempts');
  t.is(rows.length, 0, 'no attempt was made');
  t.deepEqual((await deliver(chat, DUE + 2)).titles, ['3 monitors: 3 down']);
  await change('up', DUE + 3);
  t.is((await deliver(chat, DUE + 3)).titles.length, 3);
});

test('held alerts join an open summary, or follow thirty seconds after one that was sent', async (t) => {
  const { chat, change, deliver, monitors } = await prepare(t, 15, 3);
  await change('down', 10, monitors.slice(0, 3));
  await change('down', DUE - 0.05, monitors.slice(3));
  t.deepEqual((await deliver(chat, DUE)).titles, []);
  t.deepEqual((await deliver(chat, DUE + 0.1)).titles, ['15 monitors: 15 down']);

  const later = await prepare(t, 15, 3);
  await later.change('down', 10, later.monitors.slice(0, 3));
  await later.change('down', DUE - 0.2, later.monitors.slice(3));
  t.deepEqual((await later.deliver(later.chat, DUE - 0.1)).titles, ['12 monitors: 12 down']);
  const sooner = await later.claim(DUE);
  t.is(sooner.claimed, null);
  t.deepEqual((await later.deliver(later.chat, DUE + 0.5)).titles, ['3 monitors: 3 down']);
});
