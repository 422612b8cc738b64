import test, { type ExecutionContext } from 'ava';
import type { Verdict } from '../../../core/checks/verdict.ts';
import type { WindowSettings } from '../../../core/maintenance/window.ts';
import { createChannel, updateChannel } from '../../../models/alerts/channels.ts';
import { muteMonitor, releaseUnmuted } from '../../../models/alerts/mutes.ts';
import { listIncidents } from '../../../models/incidents/history.ts';
import { announceOccurrences, coverInProgress, coverNext } from '../../../models/maintenance/maintenance-times.ts';
import { releaseUncovered } from '../../../models/maintenance/occurrences.ts';
import { createWindow, deleteWindow, moveEnd } from '../../../models/maintenance/windows.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { pullBackTimes } from '../../../models/system/future-times.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { releaseAlerts } from '../../../workers/maintenance/plan.ts';
import { claimNextDelivery, recordAttempt } from '../../helpers/deliveries.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';
import { createDeliverer } from './create-deliverer.ts';

const MINUTE = 60_000;
/** A full minute, after the monitors were created. */
const START_MS = Math.floor(Date.now() / MINUTE) * MINUTE + 120 * MINUTE;

/** An hour of maintenance of all monitors, starting at `START_MS`. */
const HOUR: WindowSettings = {
  name: 'Upgrade',
  description: '',
  allMonitors: true,
  monitorIds: [],
  tags: [],
  localStart: null,
  timezone: 'UTC',
  startsAt: START_MS / 1000,
  durationSeconds: 3600,
  cron: null,
  rrule: null,
  alerts: 'hold',
  sla: 'exclude',
  settleSeconds: 0,
};

type Row = { event: string; outcome: string; due: number; detail: Record<string, unknown>; event_at: number };

async function prepare(t: ExecutionContext, settings: Partial<WindowSettings> = {}) {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, newId } = runtime;
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent], { name: 'Shop', downAfterFailures: 1 });
  const channel = (type: 'slack' | 'webhook') =>
    createChannel(database, {
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
  // Evaluates a result at a minute of the maintenance, as the evaluator would then.
  const change = (verdict: Verdict, minute: number) => {
    const nowMs = START_MS + minute * MINUTE;
    const evaluate = createEvaluator({ database, now: () => nowMs, newId, publicUrl: runtime.publicUrl });
    return evaluate([resultOf(monitor, agent, { dueAtMs: nowMs - 1000, verdict })]);
  };
  await change('up', -60);
  const [chat, webhook] = [(await channel('slack')).id, (await channel('webhook')).id];
  const plan = () =>
    createWindow(database, {
      ...HOUR,
      ...settings,
      id: newId('mnt'),
      tenantId,
      key: null,
      createdAt: START_MS / 1000,
      author: null,
      nowMs: START_MS,
    });
  const deliveriesTo = async (channelId: string) => {
    const { rows } = await database.pool.query<Row>(
      `SELECT event, outcome, (next_attempt_at - $2)::float8 / 60000 AS due, message -> 'detail' AS detail,
         (message ->> 'event_at')::bigint AS event_at
       FROM deliveries WHERE channel_id = $1 ORDER BY no`,
      [channelId, START_MS],
    );
    return rows;
  };
  const deliver = async (channelId: string, minute: number) => {
    const nowMs = START_MS + minute * MINUTE;
    const claimed = await claimNextDelivery(database, channelId, { nowMs, claimMs: 15_000 });
    if (claimed === null) return null;
    const { deliveryId, attempt } = claimed;
    await recordAttempt(database, {
      deliveryId,
      attempt,
      finishedAtMs: nowMs,
      durationMs: 1,
      outcome: 'delivered',
      statusCode: 200,
      error: null,
      response: null,
      nextAttemptAtMs: null,
    });
    return claimed.message;
  };
  return { runtime, monitor, agent, chat, webhook, plan, change, deliveriesTo, deliver };
}

test('during maintenance states and incidents continue, webhooks are notified at once, and chats wait', async (t) => {
  const { runtime, chat, webhook, plan, change, deliveriesTo, deliver } = await prepare(t, { settleSeconds: 300 });
  const { window } = await plan();
  await change('down', 10);
  t.is((await listIncidents(runtime.database, { tenantId: runtime.tenantId, limit: 9 })).length, 1);
  const [told] = await deliveriesTo(webhook);
  t.like(told, { event: 'monitor.down', due: 10 });
  const maintenance = { window_id: window.id, name: 'Upgrade', ends_at: START_MS / 1000 + 3600 };
  t.like(told?.detail, { in_maintenance: true, maintenance });
  t.like((await deliveriesTo(chat))[0], { event: 'monitor.down', outcome: 'pending', due: 65 });
  t.is(await deliver(chat, 64.9), null);
  const message = await deliver(chat, 65);
  // The message has the time of the event, and its maintenance.
  t.like(message, { event: 'monitor.down', event_at: START_MS / 1000 + 599 });
  t.like((await deliveriesTo(chat))[0]?.detail, { maintenance });
  await change('up', 70);
  t.deepEqual(
    (await deliveriesTo(chat)).map(({ event, due }) => [event, due]),
    [
      ['monitor.down', 65],
      ['monitor.up', 70],
    ],
  );
});

test('a failure that recovers during maintenance sends no message to a chat', async (t) => {
  const { chat, webhook, plan, change, deliveriesTo, deliver } = await prepare(t);
  await plan();
  for (const [verdict, minute] of [
    ['down', 10],
    ['up', 20],
    ['down', 30],
    ['up', 40],
  ] as const)
    // oxfmt-ignore
    await change(verdict, minute);
  t.deepEqual(
    (await deliveriesTo(webhook)).map(({ event }) => event),
    ['monitor.down', 'monitor.up', 'monitor.down', 'monitor.up'],
  );
  t.true(
    (await deliveriesTo(chat)).every(({ event, outcome }) => event === 'monitor.down' && outcome === 'superseded'),
  );
  t.is(await deliver(chat, 120), null);
});

test('a failure that recovers after maintenance but before its alert is due sends a chat no message', async (t) => {
  const { chat, plan, change, deliver } = await prepare(t, { settleSeconds: 600 });
  await plan();
  await change('down', 59);
  await change('up', 65);
  t.is(await deliver(chat, 200), null);
});

test('an outage that a chat was notified of before maintenance gets its recovery during it', async (t) => {
  const { chat, plan, change, deliveriesTo, deliver } = await prepare(t);
  await change('down', -10);
  t.like(await deliver(chat, -10), { event: 'monitor.down' });
  await plan();
  await change('up', 10);
  t.like((await deliveriesTo(chat)).at(-1), { event: 'monitor.up', due: 10, outcome: 'pending' });
});

test('a window that drops alerts never sends them, and one that sends does so at once', async (t) => {
  const dropping = await prepare(t, { alerts: 'drop' });
  await dropping.plan();
  await dropping.change('down', 10);
  t.deepEqual(await dropping.deliveriesTo(dropping.chat), []);
  await dropping.change('up', 70);
  t.deepEqual(await dropping.deliveriesTo(dropping.chat), []);

  const sending = await prepare(t, { alerts: 'send' });
  await sending.plan();
  await sending.change('down', 10);
  t.like((await sending.deliveriesTo(sending.chat))[0], { event: 'monitor.down', due: 10 });
});

test('held alerts are sent when the window ends early or is deleted, and stay held when it is extended', async (t) => {
  const { runtime, chat, plan, change, deliveriesTo } = await prepare(t);
  const { window } = await plan();
  await change('down', 10);
  const key = { tenantId: runtime.tenantId, id: window.id, author: null };
  const move = async (minute: number, nowMinute: number) => {
    const nowMs = START_MS + nowMinute * MINUTE;
    const moved = await moveEnd(runtime.database, key, { endOf: () => START_MS + minute * MINUTE, nowMs });
    t.is(moved?.released.length, 1);
    return (await deliveriesTo(chat))[0]?.due;
  };
  t.is(await move(90, 50), 90);
  t.is(await move(60, 60), 60);
  const again = await prepare(t);
  const { window: second } = await again.plan();
  await again.change('down', 10);
  const theirs = { tenantId: again.runtime.tenantId, id: second.id, author: null };
  await deleteWindow(again.runtime.database, theirs, START_MS + 20 * MINUTE);
  t.is((await again.deliveriesTo(again.chat))[0]?.due, 20);
});

test('of overlapping windows a holding one overrides a dropping one, until the last holding one ends', async (t) => {
  const { chat, plan, change, deliveriesTo, runtime } = await prepare(t, { alerts: 'drop' });
  await plan();
  for (const seconds of [1800, 2700])
    await createWindow(runtime.database, {
      ...HOUR,
      durationSeconds: seconds,
      id: runtime.newId('mnt'),
      tenantId: runtime.tenantId,
      key: null,
      createdAt: START_MS / 1000,
      author: null,
      nowMs: START_MS,
    });
  await change('down', 10);
  t.like((await deliveriesTo(chat))[0], { due: 45 });
});

/** Plans another hour of maintenance of all monitors. */
function planAnother({ runtime }: Awaited<ReturnType<typeof prepare>>, settings: Partial<WindowSettings>) {
  return createWindow(runtime.database, {
    ...HOUR,
    ...settings,
    id: runtime.newId('mnt'),
    tenantId: runtime.tenantId,
    key: null,
    createdAt: START_MS / 1000,
    author: null,
    nowMs: START_MS,
  });
}

const endAt = async ({ runtime }: Awaited<ReturnType<typeof prepare>>, id: string, minute: number) => {
  const nowMs = START_MS + minute * MINUTE;
  await moveEnd(runtime.database, { tenantId: runtime.tenantId, id, author: null }, { endOf: () => nowMs, nowMs });
};

test('if the longer of two holding windows ends early, alerts wait for the other one', async (t) => {
  const prepared = await prepare(t);
  const { runtime, chat, plan, change, deliveriesTo } = prepared;
  await plan();
  const { window: longer } = await planAnother(prepared, { durationSeconds: 3900 });
  await change('down', 10);
  await endAt(prepared, longer.id, 12);
  t.is((await deliveriesTo(chat))[0]?.due, 12);
  const claimAt = (minute: number) =>
    createDeliverer({ database: runtime.database, now: () => START_MS + minute * MINUTE }).claim(chat);
  t.is((await claimAt(12)).claimed, null);
  t.like((await deliveriesTo(chat))[0], { outcome: 'pending', due: 60 });
  t.is((await claimAt(60)).claimed?.event, 'monitor.down');
});

test('an alert held by maintenance is then held by the mute of its monitor', async (t) => {
  const prepared = await prepare(t);
  const { runtime, monitor, chat, plan, change, deliveriesTo } = prepared;
  const { window } = await plan();
  await change('down', 10);
  const key = { tenantId: runtime.tenantId, id: monitor.id, author: null };
  await muteMonitor(runtime.database, key, { untilMs: START_MS + 40 * MINUTE, nowMs: START_MS + 15 * MINUTE });
  await endAt(prepared, window.id, 20);
  const deliverer = createDeliverer({ database: runtime.database, now: () => START_MS + 20 * MINUTE });
  t.is((await deliverer.claim(chat)).claimed, null);
  t.like((await deliveriesTo(chat))[0], { outcome: 'pending', due: 40 });
  // The alert now waits for the mute, whose end moves it.
  await muteMonitor(runtime.database, key, { untilMs: null, nowMs: START_MS + 30 * MINUTE });
  t.is((await deliveriesTo(chat))[0]?.due, 30);
});

test('an alert held again by a mute while that was being ended does not wait for its planned end', async (t) => {
  const prepared = await prepare(t);
  const { runtime, monitor, chat, plan, change, deliveriesTo } = prepared;
  const { pool } = runtime.database;
  const { window } = await plan();
  await change('down', 10);
  const key = { tenantId: runtime.tenantId, id: monitor.id, author: null };
  await muteMonitor(runtime.database, key, { untilMs: START_MS + 90 * MINUTE, nowMs: START_MS + 15 * MINUTE });
  await endAt(prepared, window.id, 20);
  const deliverer = createDeliverer({ database: runtime.database, now: () => START_MS + 20 * MINUTE });
  t.is((await deliverer.claim(chat)).claimed, null);
  t.deepEqual(await releaseUnmuted(runOn(pool), START_MS + 21 * MINUTE), []);
  // The states left by a claim that had read the previous end: the mute was shortened, or ended.
  await pool.query('UPDATE monitor_mutes SET muted_until = $1', [START_MS + 40 * MINUTE]);
  t.is((await releaseUnmuted(runOn(pool), START_MS + 22 * MINUTE)).length, 1);
  t.is((await deliveriesTo(chat))[0]?.due, 40);
  await pool.query('DELETE FROM monitor_mutes');
  await pool.query(`UPDATE deliveries d SET next_attempt_at = h.held_by::bigint FROM held_deliveries h
    WHERE h.delivery_id = d.id`);
  t.like(await releaseAlerts({ ...runtime, now: () => START_MS + 30 * MINUTE }), { released: 1 });
  t.is((await deliveriesTo(chat))[0]?.due, 30);
  t.deepEqual(await releaseUnmuted(runOn(pool), START_MS + 31 * MINUTE), []);
});

test('alerts still held by another window are left out of the summary of those that are due', async (t) => {
  const prepared = await prepare(t);
  const { runtime, agent, monitor, chat, plan, change, deliveriesTo } = prepared;
  const { window } = await plan();
  const others = await Promise.all(
    ['Bar', 'Pub'].map((name) => runtime.addMonitor([agent], { name, downAfterFailures: 1 })),
  );
  await planAnother(prepared, { allMonitors: false, monitorIds: [monitor.id], durationSeconds: 1800 });
  await coverAt(runtime, 5);
  const nowMs = START_MS + 10 * MINUTE;
  await createEvaluator({ ...runtime, now: () => nowMs })(
    others.map((other) => resultOf(other, agent, { dueAtMs: nowMs - 1000, verdict: 'down' })),
  );
  await change('down', 10);
  await endAt(prepared, window.id, 15);
  const deliverer = createDeliverer({ database: runtime.database, now: () => START_MS + 15 * MINUTE });
  t.like((await deliverer.claim(chat)).claimed?.message, { event: 'summary', monitors: 2 });
  t.deepEqual(
    (await deliveriesTo(chat)).map(({ event, outcome, due }) => [event, outcome, due]),
    [
      ['monitor.down', 'superseded', 15],
      ['monitor.down', 'superseded', 15],
      ['monitor.down', 'pending', 30],
      ['summary', 'pending', 15],
    ],
  );
});

const coverAt = (runtime: TestRuntime, minute: number) =>
  inTransaction(runtime.database, (run) => coverInProgress(run, { afterNo: 0, nowMs: START_MS + minute * MINUTE }));

test('an alert written while its window is being ended does not wait for the planned end', async (t) => {
  const prepared = await prepare(t);
  const { runtime, chat, plan, change, deliveriesTo } = prepared;
  const { window } = await plan();
  await change('down', 10);
  await endAt(prepared, window.id, 20);
  // The state left by an evaluator's transaction that had read the previous end.
  await runtime.database.pool.query('UPDATE deliveries SET next_attempt_at = $1 WHERE channel_id = $2', [
    START_MS + 60 * MINUTE,
    chat,
  ]);
  const released = await releaseUncovered(runOn(runtime.database.pool), START_MS + 21 * MINUTE);
  t.deepEqual(
    released.map(({ channelId, dueAtMs }) => [channelId, dueAtMs]),
    [[chat, START_MS + 21 * MINUTE]],
  );
  t.is((await deliveriesTo(chat))[0]?.due, 21);
  t.deepEqual(await releaseUncovered(runOn(runtime.database.pool), START_MS + 22 * MINUTE), []);
});

test('an alert is sent when its monitor leaves the maintenance window', async (t) => {
  const prepared = await prepare(t, { allMonitors: false, tags: ['db'] });
  const { runtime, monitor, chat, plan, change, deliveriesTo } = prepared;
  const tag = (tags: string[]) =>
    runtime.database.pool.query('UPDATE monitors SET tags = $2 WHERE id = $1', [monitor.id, tags]);
  await tag(['db']);
  await plan();
  await change('down', 10);
  t.is((await deliveriesTo(chat))[0]?.due, 60);
  t.deepEqual(await releaseUncovered(runOn(runtime.database.pool), START_MS + 12 * MINUTE), []);
  await tag([]);
  await coverAt(runtime, 15);
  t.is((await releaseUncovered(runOn(runtime.database.pool), START_MS + 15 * MINUTE)).length, 1);
  t.is((await deliveriesTo(chat))[0]?.due, 15);
});

test('an alert held again by a later window is sent when its monitor leaves that window', async (t) => {
  const prepared = await prepare(t);
  const { runtime, monitor, chat, plan, change, deliveriesTo } = prepared;
  const tag = (tags: string[]) =>
    runtime.database.pool.query('UPDATE monitors SET tags = $2 WHERE id = $1', [monitor.id, tags]);
  await tag(['db']);
  await plan();
  await planAnother(prepared, { allMonitors: false, tags: ['db'], startsAt: START_MS / 1000 + 3000 });
  await change('down', 10);
  await inTransaction(runtime.database, (run) => coverNext(run, START_MS + 50 * MINUTE));
  const deliverer = createDeliverer({ database: runtime.database, now: () => START_MS + 60 * MINUTE });
  t.is((await deliverer.claim(chat)).claimed, null);
  t.is((await deliveriesTo(chat))[0]?.due, 110);
  t.deepEqual(await releaseUncovered(runOn(runtime.database.pool), START_MS + 70 * MINUTE), []);
  await tag([]);
  await coverAt(runtime, 75);
  t.is((await releaseUncovered(runOn(runtime.database.pool), START_MS + 75 * MINUTE)).length, 1);
  t.is((await deliveriesTo(chat))[0]?.due, 75);
  t.deepEqual(await releaseUncovered(runOn(runtime.database.pool), START_MS + 76 * MINUTE), []);
});

test('an alert held again while the later window is being ended does not wait for its planned end', async (t) => {
  const prepared = await prepare(t);
  const { runtime, chat, plan, change, deliveriesTo } = prepared;
  await plan();
  const { window: second } = await planAnother(prepared, { startsAt: START_MS / 1000 + 3000 });
  await change('down', 10);
  await inTransaction(runtime.database, (run) => coverNext(run, START_MS + 50 * MINUTE));
  const deliverer = createDeliverer({ database: runtime.database, now: () => START_MS + 60 * MINUTE });
  t.is((await deliverer.claim(chat)).claimed, null);
  await endAt(prepared, second.id, 61);
  // The state left by a claim that had read the previous end.
  await runtime.database.pool.query('UPDATE deliveries SET next_attempt_at = $1 WHERE channel_id = $2', [
    START_MS + 110 * MINUTE,
    chat,
  ]);
  t.is((await releaseUncovered(runOn(runtime.database.pool), START_MS + 62 * MINUTE)).length, 1);
  t.is((await deliveriesTo(chat))[0]?.due, 62);
  t.deepEqual(await releaseUncovered(runOn(runtime.database.pool), START_MS + 63 * MINUTE), []);
});

test('an alert of an extended window is sent when its monitor leaves it after the first end', async (t) => {
  const prepared = await prepare(t, { allMonitors: false, tags: ['db'] });
  const { runtime, monitor, chat, plan, change, deliveriesTo } = prepared;
  const tag = (tags: string[]) =>
    runtime.database.pool.query('UPDATE monitors SET tags = $2 WHERE id = $1', [monitor.id, tags]);
  await tag(['db']);
  const { window } = await plan();
  await change('down', 10);
  await moveEnd(
    runtime.database,
    { tenantId: runtime.tenantId, id: window.id, author: null },
    { endOf: () => START_MS + 90 * MINUTE, nowMs: START_MS + 50 * MINUTE },
  );
  await tag([]);
  await coverAt(runtime, 70);
  t.is((await releaseUncovered(runOn(runtime.database.pool), START_MS + 70 * MINUTE)).length, 1);
  t.is((await deliveriesTo(chat))[0]?.due, 70);
});

test('a webhook that follows maintenance waits as chats do', async (t) => {
  const { runtime, webhook, plan, change, deliveriesTo } = await prepare(t);
  await updateChannel(
    runtime.database,
    { id: webhook, tenantId: runtime.tenantId, author: null },
    { followsMaintenance: true },
  );
  await plan();
  await change('down', 10);
  await change('up', 20);
  await change('down', 30);
  t.deepEqual(
    (await deliveriesTo(webhook)).map(({ event, outcome, due }) => [event, outcome, due]),
    [
      ['monitor.down', 'superseded', 60],
      ['monitor.down', 'pending', 60],
    ],
  );
});

test('a backlog with a failure and its recovery during maintenance sends nothing to a chat', async (t) => {
  const { runtime, monitor, agent, chat, plan, deliveriesTo } = await prepare(t);
  await plan();
  const nowMs = START_MS + 30 * MINUTE;
  const { database, newId, publicUrl } = runtime;
  await createEvaluator({ database, now: () => nowMs, newId, publicUrl })(
    (['down', 'up'] as const).map((verdict, index) =>
      resultOf(monitor, agent, { dueAtMs: nowMs - 120_000 + index * MINUTE, verdict }),
    ),
  );
  t.deepEqual(await deliveriesTo(chat), []);
});

test('maintenance that ended while the clock was ahead holds alerts again once the clock is set back', async (t) => {
  const { runtime, chat, plan, change, deliveriesTo } = await prepare(t);
  const { pool } = runtime.database;
  await plan();
  // A day ahead the occurrence is covered although it is long over, and announced as such.
  await pool.query('UPDATE maintenance_occurrences SET covered_at = NULL');
  await pool.query('DELETE FROM current_occurrences');
  await pool.query('DELETE FROM maintenance_times');
  const aheadMs = START_MS + 24 * 60 * MINUTE;
  await inTransaction(runtime.database, (run) => coverNext(run, aheadMs));
  await announceOccurrences(runtime.database, aheadMs);
  t.is((await pool.query('SELECT FROM current_times')).rowCount, 0);
  const nowMs = START_MS - 10 * MINUTE;
  await inTransaction(runtime.database, (_, client) => pullBackTimes(client, { nowMs, backMs: aheadMs - nowMs }));
  await change('down', 10);
  t.like((await deliveriesTo(chat))[0], { event: 'monitor.down', due: 60 });
  // An occurrence is announced when it begins and not before, even if the time is set back a moment before.
  const announce = (minute: number) => announceOccurrences(runtime.database, START_MS + minute * MINUTE);
  t.is(await announce(-1), 0);
  await inTransaction(runtime.database, (_, client) => pullBackTimes(client, { nowMs: START_MS + 1000, backMs: 0 }));
  t.is(await announce(0.01), 1);
});
