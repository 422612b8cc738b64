import test, { type ExecutionContext } from 'ava';
import type { ChatMessage } from '../../../core/alerts/chat/message.ts';
import type { MonitorMessage } from '../../../core/alerts/envelope.ts';
import { replayRules, type ReplayedAlert } from '../../../core/alerts/replay.ts';
import type { ChannelRule } from '../../../core/alerts/rules.ts';
import type { WebhookPreset } from '../../../core/alerts/webhook.ts';
import type { Verdict } from '../../../core/checks/verdict.ts';
import type { Monitor } from '../../../core/monitors/monitor.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { reopenDelivery } from '../../../models/alerts/delivery-record.ts';
import { muteMonitor, snoozeIncident } from '../../../models/alerts/mutes.ts';
import { listPastChanges } from '../../../models/alerts/routes.ts';
import { acknowledgeIncident } from '../../../models/incidents/notes.ts';
import { createWindow, deleteWindow, moveEnd } from '../../../models/maintenance/windows.ts';
import { pauseMonitor, resumeMonitor } from '../../../models/monitors/monitor-changes.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { pullBackTimes } from '../../../models/system/future-times.ts';
import type { WebhookDelivery } from '../../../notifications/webhook/attempt.ts';
import type { DueAttempt } from '../../../queues/job-queues.ts';
import { ChannelLanes } from '../../../workers/alerts/channel-lanes.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { WAITING, recordStatements } from '../../helpers/database.ts';
import { claimNextDelivery } from '../../helpers/deliveries.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';
import { DELIVERED, createDeliverer } from './create-deliverer.ts';

const MINUTE = 60_000;

/** Noon of tomorrow in UTC. */
const START_MS = Math.floor(Date.now() / (24 * 60 * MINUTE)) * 24 * 60 * MINUTE + 36 * 60 * MINUTE;

const inOrder = (alerts: Iterable<ReplayedAlert[]>): ReplayedAlert[] =>
  [...alerts].flat().toSorted((a, b) => a.atMs - b.atMs);

/** Sets up monitors that are up, and functions that deliver to channels with rules at each minute of a test clock. */
async function prepare(t: ExecutionContext, count = 1) {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, newId, publicUrl } = runtime;
  const agent = await runtime.addAgent('local');
  const monitors: Monitor[] = [];
  for (let made = 0; made < count; made += 1)
    monitors.push(await runtime.addMonitor([agent], { name: `Shop ${made}`, downAfterFailures: 1 }));
  const at = (minute: number) => START_MS + minute * MINUTE;
  const change = (verdict: Verdict, minute: number, of: readonly Monitor[] = monitors) => {
    const evaluate = createEvaluator({ database, now: () => at(minute), newId, publicUrl });
    return evaluate(of.map((monitor) => resultOf(monitor, agent, { dueAtMs: at(minute) - 1000, verdict })));
  };
  await change('up', -60);
  const addChannel = async (type: 'telegram' | 'webhook', rules: ChannelRule[] | null, preset?: WebhookPreset) => {
    const id = newId('nch');
    await createChannel(database, {
      id,
      tenantId,
      type,
      name: 'On call',
      status: 'connected',
      allMonitors: true,
      monitorIds: [],
      rules,
      ...(type === 'webhook' && {
        webhook: {
          url: 'https://hooks.example/?routing_key=k',
          signingSecret: 'whsec_AAAA',
          ...(preset !== undefined && { format: { preset } }),
        },
      }),
      nowMs: at(-90),
      author: null,
    });
    await database.pool.query(`UPDATE channels SET chat_id = '-100' WHERE id = $1 AND type = 'telegram'`, [id]);
    return id;
  };
  const sent: ChatMessage[] = [];
  const posted: WebhookDelivery[] = [];
  const enqueued: DueAttempt[] = [];
  const deliverer = (minute: number) =>
    new ChannelLanes(
      createDeliverer({
        database,
        newId,
        publicUrl,
        sendWebhook: (delivery) => {
          posted.push(delivery);
          return Promise.resolve(DELIVERED);
        },
        sendTelegram: (_chatId, message) => {
          sent.push(message);
          return Promise.resolve(DELIVERED);
        },
        queues: { enqueueAttempts: async (attempts) => void enqueued.push(...attempts) },
        now: () => at(minute),
      }),
    );
  /** Delivers to a channel at a minute; returns the titles for a chat, or the events for a webhook. */
  const deliver = async (channelId: string, minute: number) => {
    await deliverer(minute).run(channelId);
    return [
      ...sent.splice(0).map(({ title }) => title),
      ...posted.splice(0).map(({ message }) => message.event as string),
    ];
  };
  const incidentId = async () =>
    (await runOn(database.pool)<{ id: string }>('SELECT id FROM incidents ORDER BY started_at DESC LIMIT 1'))[0]?.id ??
    '';
  const outcomes = async (channelId: string) =>
    (
      await runOn(database.pool)<{ text: string }>(
        `SELECT d.event || ' ' || d.outcome || coalesce(' ' || h.reason, '') AS text
         FROM deliveries d LEFT JOIN held_deliveries h ON h.delivery_id = d.id WHERE d.channel_id = $1 ORDER BY d.no`,
        [channelId],
      )
    ).map(({ text }) => text);
  return {
    runtime,
    monitors,
    at,
    change,
    addChannel,
    deliver,
    incidentId,
    outcomes,
    sent,
    posted,
    enqueued,
    deliverer,
  };
}

const ESCALATION: ChannelRule[] = [{ after_seconds: 900, unless_acknowledged: true }];

test('a second channel is notified after 15 minutes, and then also of the recovery', async (t) => {
  const { change, addChannel, deliver } = await prepare(t);
  const [first, second] = [await addChannel('telegram', null), await addChannel('telegram', ESCALATION)];
  await change('down', 0);
  t.deepEqual(await deliver(first, 0), ['Down: Shop 0']);
  t.deepEqual(await deliver(second, 14.9), []);
  t.deepEqual(await deliver(second, 15), ['Down: Shop 0']);
  await change('up', 20);
  t.deepEqual(await deliver(second, 20), ['Recovered: Shop 0']);
  t.deepEqual(await deliver(first, 20), ['Recovered: Shop 0']);
});

test('an outage that is acknowledged or ends before the delay is never sent, nor is its recovery', async (t) => {
  const { runtime, change, addChannel, deliver, incidentId, outcomes, at } = await prepare(t);
  const [chat, webhook] = [await addChannel('telegram', ESCALATION), await addChannel('webhook', ESCALATION)];
  await change('down', 0);
  const key = { tenantId: runtime.tenantId, id: await incidentId(), author: null };
  await acknowledgeIncident(runtime.database, key, { name: 'Ada', nowMs: at(10), note: null });
  t.deepEqual([await deliver(chat, 15), await deliver(webhook, 15)], [[], []]);
  t.deepEqual(await outcomes(chat), ['monitor.down superseded delay']);
  await change('up', 20);
  t.deepEqual([await deliver(chat, 20), await deliver(webhook, 20)], [[], []]);
  await change('down', 30);
  await change('up', 44);
  t.deepEqual([await deliver(chat, 60), await deliver(webhook, 60)], [[], []]);
  t.deepEqual(await outcomes(webhook), ['monitor.down superseded delay', 'monitor.down superseded delay']);
});

test('rules select alerts by event and tag, and a channel without rules gets everything', async (t) => {
  const { change, addChannel, deliver } = await prepare(t);
  const plain = await addChannel('webhook', null);
  const downOnly = await addChannel('webhook', [{ events: ['monitor.down'] }]);
  const tagged = await addChannel('webhook', [{ tags: ['other'] }]);
  await change('degraded', 0);
  await change('down', 1);
  await change('up', 2);
  t.deepEqual(await deliver(plain, 3), ['monitor.degraded', 'monitor.down', 'monitor.up']);
  t.deepEqual(await deliver(downOnly, 3), ['monitor.down']);
  t.deepEqual(await deliver(tagged, 3), []);
});

test('each reminder is sent exactly once, numbered and on time, and none after the recovery', async (t) => {
  const { change, addChannel, deliver, deliverer, sent, posted, enqueued, at } = await prepare(t);
  const rules: ChannelRule[] = [{ repeat_seconds: 600, repeat_max: 3 }];
  const [chat, webhook] = [await addChannel('telegram', rules), await addChannel('webhook', rules)];
  await change('down', 0);
  t.deepEqual(await deliver(chat, 0), ['Down: Shop 0']);
  t.deepEqual(await deliver(chat, 9.9), []);
  // Two concurrent processes send one reminder and plan one more.
  await Promise.all([deliverer(10).run(chat), deliverer(10).run(chat)]);
  t.is(sent.length, 1);
  t.like(sent[0], { title: 'Still down: Shop 0' });
  t.deepEqual(
    sent[0]?.facts.find(({ label }) => label === 'Reminder'),
    { label: 'Reminder', value: '1 of 3' },
  );
  sent.length = 0;
  t.deepEqual(
    enqueued.map(({ dueAtMs }) => dueAtMs),
    [at(20)],
  );
  t.deepEqual([await deliver(chat, 20), await deliver(chat, 30), await deliver(chat, 60)].flat(), [
    'Still down: Shop 0',
    'Still down: Shop 0',
  ]);
  await deliverer(12).run(webhook);
  t.deepEqual(
    posted.splice(0).map(({ message }) => ('reminder' in message ? message.reminder?.number : null)),
    [null, 1],
  );
  await change('up', 61);
  t.deepEqual(await deliver(webhook, 90), ['monitor.up']);
  t.deepEqual(await deliver(chat, 90), ['Recovered: Shop 0']);
});

test('reminders restart when a monitor goes from degraded to down, and never block an alert', async (t) => {
  const { change, addChannel, deliver } = await prepare(t);
  const chat = await addChannel('telegram', [{ repeat_seconds: 3600 }]);
  await change('degraded', 0);
  t.deepEqual(await deliver(chat, 0), ['Degraded: Shop 0']);
  await change('down', 30);
  t.deepEqual(await deliver(chat, 30), ['Down: Shop 0']);
  t.deepEqual(await deliver(chat, 60), []);
  t.deepEqual(await deliver(chat, 90), ['Still down: Shop 0']);
});

test('an acknowledgement ends reminders if the rule says so, and a snooze postpones them', async (t) => {
  const { runtime, change, addChannel, deliver, incidentId, at } = await prepare(t);
  const chat = await addChannel('telegram', [{ repeat_seconds: 600, unless_acknowledged: true }]);
  await change('down', 0);
  t.deepEqual(await deliver(chat, 0), ['Down: Shop 0']);
  const key = { tenantId: runtime.tenantId, id: await incidentId(), author: null };
  const moved = await snoozeIncident(runtime.database, key, { untilMs: at(45), nowMs: at(5) });
  t.deepEqual(Array.isArray(moved) && moved.map(({ dueAtMs }) => dueAtMs), [at(45)]);
  t.deepEqual(await deliver(chat, 44), []);
  t.deepEqual(await deliver(chat, 45), ['Still down: Shop 0']);
  await acknowledgeIncident(runtime.database, key, { name: 'Ada', nowMs: at(50), note: null });
  t.deepEqual(await deliver(chat, 55), []);
  await change('up', 70);
  t.deepEqual(await deliver(chat, 70), ['Recovered: Shop 0']);
  t.is(await snoozeIncident(runtime.database, key, { untilMs: at(90), nowMs: at(71) }), 'resolved');
});

test('ending a snooze early sends the alert that it held', async (t) => {
  const { runtime, change, addChannel, deliver, incidentId, at } = await prepare(t);
  const chat = await addChannel('telegram', ESCALATION);
  await change('down', 0);
  const key = { tenantId: runtime.tenantId, id: await incidentId(), author: null };
  await snoozeIncident(runtime.database, key, { untilMs: at(60), nowMs: at(1) });
  t.deepEqual(await deliver(chat, 20), []);
  await snoozeIncident(runtime.database, key, { untilMs: null, nowMs: at(21) });
  t.deepEqual(await deliver(chat, 21), ['Down: Shop 0']);
});

test('a snooze that ends early leaves the delay of an alert and the times of reminders', async (t) => {
  const { runtime, change, addChannel, deliver, incidentId, outcomes, at } = await prepare(t);
  const delayed = await addChannel('telegram', ESCALATION);
  const repeated = await addChannel('telegram', [{ repeat_seconds: 600 }]);
  await change('down', 0);
  t.deepEqual(await deliver(repeated, 0), ['Down: Shop 0']);
  const key = { tenantId: runtime.tenantId, id: await incidentId(), author: null };
  const snooze = (untilMinute: number | null, minute: number) =>
    snoozeIncident(runtime.database, key, {
      untilMs: untilMinute === null ? null : at(untilMinute),
      nowMs: at(minute),
    });
  await snooze(60, 1);
  await snooze(12, 2);
  t.deepEqual(await outcomes(delayed), ['monitor.down pending delay']);
  t.deepEqual([await deliver(delayed, 12), await deliver(repeated, 12)], [[], ['Still down: Shop 0']]);
  await snooze(60, 13);
  const moved = await snooze(null, 14);
  const due = Array.isArray(moved) ? moved.map(({ dueAtMs }) => Math.round((dueAtMs - at(0)) / MINUTE)) : [];
  t.deepEqual(due.toSorted(), [15, 22]);
  for (const minute of [14, 14.9])
    t.deepEqual([await deliver(delayed, minute), await deliver(repeated, minute)], [[], []]);
  t.deepEqual([await deliver(delayed, 15), await deliver(repeated, 21.9)], [['Down: Shop 0'], []]);
  t.deepEqual(await deliver(repeated, 22), ['Still down: Shop 0']);
});

test('ending a snooze early after the clock was set back leaves the times of reminders', async (t) => {
  const { runtime, change, addChannel, deliver, incidentId, at } = await prepare(t);
  const { database, tenantId } = runtime;
  const chat = await addChannel('telegram', [{ repeat_seconds: 600 }]);
  await change('down', 0);
  t.deepEqual(await deliver(chat, 0), ['Down: Shop 0']);
  const key = { tenantId, id: await incidentId(), author: null };
  await snoozeIncident(database, key, { untilMs: at(60), nowMs: at(1) });
  // Minute 2 becomes minute -598.
  const setBack = { nowMs: at(-598), backMs: 600 * MINUTE };
  await inTransaction(database, (_, client) => pullBackTimes(client, setBack));
  await snoozeIncident(database, key, { untilMs: null, nowMs: at(-597) });
  t.deepEqual([await deliver(chat, -591), await deliver(chat, -590)], [[], ['Still down: Shop 0']]);
});

test('a snooze ends for all reminders of its incident at one time after the clock was set back', async (t) => {
  const { runtime, change, addChannel, deliver, incidentId, at } = await prepare(t);
  const { database, tenantId } = runtime;
  const chat = await addChannel('telegram', [{ repeat_seconds: 600 }]);
  await change('down', 0);
  t.deepEqual(await deliver(chat, 0), ['Down: Shop 0']);
  const key = { tenantId, id: await incidentId(), author: null };
  await snoozeIncident(database, key, { untilMs: at(60), nowMs: at(1) });
  // Minute 2 becomes minute -598, and the end of the snooze minute -540.
  const setBack = { nowMs: at(-598), backMs: 600 * MINUTE };
  await inTransaction(database, (_, client) => pullBackTimes(client, setBack));
  t.deepEqual([await deliver(chat, -541), await deliver(chat, -540)], [[], ['Still down: Shop 0']]);
  t.deepEqual([await deliver(chat, -531), await deliver(chat, -530)], [[], ['Still down: Shop 0']]);
});

test('a snooze stays as it is, without a lock, if only times of the old clock are corrected', async (t) => {
  const { runtime, change, incidentId, at } = await prepare(t);
  const { database, tenantId } = runtime;
  await change('down', 0);
  const key = { tenantId, id: await incidentId(), author: null };
  await snoozeIncident(database, key, { untilMs: at(60), nowMs: at(1) });
  const readRow = async () => (await database.pool.query('SELECT xmin, snoozed_until FROM incidents')).rows;
  const before = await readRow();
  await inTransaction(database, (_, client) => pullBackTimes(client, { nowMs: at(2), backMs: 0 }));
  t.deepEqual(await readRow(), before);
});

test('a mute that had ended stays so after the clock was set back', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, at } = await prepare(t);
  const chat = await addChannel('telegram', null);
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
  await muteMonitor(runtime.database, key, { untilMs: at(30), nowMs: at(0) });
  // Minute 90 becomes minute -30.
  const setBack = { nowMs: at(-30), backMs: 120 * MINUTE };
  await inTransaction(runtime.database, (_, client) => pullBackTimes(client, setBack));
  await change('down', -20);
  t.deepEqual(await deliver(chat, -20), ['Down: Shop 0']);
});

test('a mute lasts no longer after the clock was set back, for trouble before and after', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, at } = await prepare(t, 2);
  const chat = await addChannel('telegram', null);
  for (const { id } of monitors) {
    const key = { tenantId: runtime.tenantId, id, author: null };
    await muteMonitor(runtime.database, key, { untilMs: at(60), nowMs: at(0) });
  }
  await change('down', 1, monitors.slice(0, 1));
  // Minute 2 becomes minute -598, and the end of the mute minute -540.
  const setBack = { nowMs: at(-598), backMs: 600 * MINUTE };
  await inTransaction(runtime.database, (_, client) => pullBackTimes(client, setBack));
  await change('down', -590, monitors.slice(1));
  t.deepEqual([await deliver(chat, -541), await deliver(chat, -540)], [[], ['2 monitors: 2 down']]);
});

test('muting a monitor whose edit is ahead does not deadlock with setting the clock back', async (t) => {
  const { runtime, monitors, at } = await prepare(t);
  const { database, tenantId } = runtime;
  const key = { tenantId, id: monitors[0]?.id ?? '', author: null };
  await muteMonitor(database, key, { untilMs: at(60), nowMs: at(0) });
  await database.pool.query('UPDATE monitors SET updated_at = $1', [at(1) / 1000]);
  const setBack = { nowMs: at(-30), backMs: 32 * MINUTE };
  let pulls = 0;
  const pulling = await inTransaction(database, async (run) => {
    await run('SELECT FROM monitors FOR NO KEY UPDATE');
    const pulled = inTransaction(database, (_, client) => {
      pulls += 1;
      return pullBackTimes(client, setBack);
    });
    await until(async () => (await database.pool.query(WAITING)).rowCount);
    await run('UPDATE monitor_mutes SET muted_until = $1', [at(30)]);
    return { pulled };
  });
  await pulling.pulled;
  t.is(pulls, 1, 'the victim of a deadlock is repeated');
});

test('a snooze postpones the first reminder of new trouble, which is sent at once', async (t) => {
  const { runtime, change, addChannel, deliver, incidentId, at } = await prepare(t);
  const chat = await addChannel('telegram', [{ repeat_seconds: 600 }]);
  await change('degraded', 0);
  t.deepEqual(await deliver(chat, 0), ['Degraded: Shop 0']);
  const key = { tenantId: runtime.tenantId, id: await incidentId(), author: null };
  await snoozeIncident(runtime.database, key, { untilMs: at(60), nowMs: at(5) });
  await change('down', 6);
  t.deepEqual(await deliver(chat, 6), ['Down: Shop 0']);
  for (const minute of [16, 59]) t.deepEqual(await deliver(chat, minute), []);
  t.deepEqual(await deliver(chat, 60), ['Still down: Shop 0']);
  await snoozeIncident(runtime.database, key, { untilMs: at(120), nowMs: at(61) });
  await snoozeIncident(runtime.database, key, { untilMs: null, nowMs: at(65) });
  t.deepEqual([await deliver(chat, 69.9), await deliver(chat, 70)], [[], ['Still down: Shop 0']]);
});

/** Plans an hour of maintenance of all monitors, which begins at once. */
function planHour({ database, tenantId, newId }: TestRuntime, nowMs: number, alerts: 'hold' | 'drop' | 'send') {
  return createWindow(database, {
    name: 'Upgrade',
    description: '',
    allMonitors: true,
    monitorIds: [],
    tags: [],
    localStart: null,
    timezone: 'UTC',
    startsAt: nowMs / 1000,
    durationSeconds: 3600,
    cron: null,
    rrule: null,
    alerts,
    sla: 'exclude',
    settleSeconds: 0,
    id: newId('mnt'),
    tenantId,
    key: null,
    createdAt: nowMs / 1000,
    author: null,
    nowMs,
  });
}

test('reminders and delayed alerts of earlier trouble wait for the end of maintenance that drops alerts', async (t) => {
  const { runtime, change, addChannel, deliver, at } = await prepare(t);
  const [delayed, repeated] = [
    await addChannel('telegram', ESCALATION),
    await addChannel('telegram', [{ repeat_seconds: 600 }]),
  ];
  await change('down', 0);
  t.deepEqual(await deliver(repeated, 0), ['Down: Shop 0']);
  await planHour(runtime, at(5), 'drop');
  for (const minute of [15, 64])
    t.deepEqual([await deliver(delayed, minute), await deliver(repeated, minute)], [[], []]);
  t.deepEqual([await deliver(delayed, 65), await deliver(repeated, 65)], [['Down: Shop 0'], ['Still down: Shop 0']]);
});

test('the delayed alerts of a chat that come due in maintenance are held again together', async (t) => {
  const { runtime, change, addChannel, deliver, outcomes, enqueued, at } = await prepare(t, 5);
  const chat = await addChannel('telegram', ESCALATION);
  await planHour(runtime, at(0), 'hold');
  await change('down', 1);
  const statements = recordStatements(t, runtime.database);
  t.deepEqual(await deliver(chat, 16), []);
  const claims = statements.filter((statement) => JSON.stringify(statement).includes('turn AS MATERIALIZED'));
  t.is(claims.length, 2, 'the second claim finds nothing that is due');
  t.deepEqual(
    await outcomes(chat),
    Array.from({ length: 5 }, () => 'monitor.down pending maintenance'),
  );
  const later = enqueued.filter(({ channelId }) => channelId === chat);
  t.is(new Set(later.map(({ deliveryId }) => deliveryId)).size, 5);
  t.true(later.every(({ attempt, dueAtMs }) => attempt === 1 && dueAtMs === at(60)));
  t.deepEqual(await deliver(chat, 61), ['5 monitors: 5 down']);
});

test('thousands of due alerts of a chat are held again by one claim', async (t) => {
  const { runtime, change, addChannel, deliver, outcomes, at } = await prepare(t);
  const chat = await addChannel('telegram', ESCALATION);
  await planHour(runtime, at(0), 'hold');
  await change('down', 1);
  await runtime.database.pool.query(
    `WITH others AS (
       INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at)
       SELECT d.id || '_' || i, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at
       FROM deliveries d, generate_series(1, 2000) i WHERE channel_id = $1 RETURNING id)
     INSERT INTO held_deliveries (delivery_id, reason) SELECT id, 'delay' FROM others`,
    [chat],
  );
  const statements = recordStatements(t, runtime.database);
  t.deepEqual(await deliver(chat, 16), []);
  t.is(statements.filter((statement) => JSON.stringify(statement).includes('covered AS MATERIALIZED')).length, 1);
  t.deepEqual([...new Set(await outcomes(chat))], ['monitor.down pending maintenance']);
});

for (const first of ['drop', 'mute'] as const)
  test(`maintenance that drops alerts holds earlier trouble that waited before: ${first}`, async (t) => {
    const { runtime, change, addChannel, deliver, monitors, at } = await prepare(t);
    const [delayed, repeated] = [
      await addChannel('telegram', ESCALATION),
      await addChannel('telegram', [{ repeat_seconds: 600 }]),
    ];
    const deliverBoth = async (minute: number) => [await deliver(delayed, minute), await deliver(repeated, minute)];
    await change('down', 0);
    t.deepEqual(await deliverBoth(0), [[], ['Down: Shop 0']]);
    const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
    if (first === 'mute') await muteMonitor(runtime.database, key, { untilMs: at(65), nowMs: at(5) });
    else await planHour(runtime, at(5), 'drop');
    t.deepEqual(await deliverBoth(15), [[], []]);
    await planHour(runtime, at(20), 'drop');
    for (const minute of [65, 79]) t.deepEqual(await deliverBoth(minute), [[], []]);
    t.deepEqual(await deliverBoth(80), [['Down: Shop 0'], ['Still down: Shop 0']]);
  });

test('maintenance that drops alerts holds one whose mute ends in it', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, at } = await prepare(t);
  const chat = await addChannel('telegram', null);
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
  await muteMonitor(runtime.database, key, { untilMs: at(30), nowMs: at(0) });
  await change('down', 5);
  await planHour(runtime, at(20), 'drop');
  t.deepEqual([await deliver(chat, 30), await deliver(chat, 79)], [[], []]);
  t.deepEqual(await deliver(chat, 80), ['Down: Shop 0']);
});

test('each maintenance that drops alerts holds one whose mute ended in the one before', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, at } = await prepare(t);
  const chat = await addChannel('telegram', null);
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
  await muteMonitor(runtime.database, key, { untilMs: at(30), nowMs: at(0) });
  await change('down', 5);
  await planHour(runtime, at(20), 'drop');
  t.deepEqual(await deliver(chat, 30), []);
  await planHour(runtime, at(70), 'drop');
  t.deepEqual([await deliver(chat, 80), await deliver(chat, 129)], [[], []]);
  t.deepEqual(await deliver(chat, 130), ['Down: Shop 0']);
});

test('each maintenance that drops alerts holds delayed trouble of maintenance that sends them', async (t) => {
  const { runtime, change, addChannel, deliver, at } = await prepare(t);
  const chat = await addChannel('telegram', ESCALATION);
  await planHour(runtime, at(-30), 'send');
  await change('down', 0);
  await planHour(runtime, at(5), 'drop');
  t.deepEqual(await deliver(chat, 15), []);
  await planHour(runtime, at(40), 'drop');
  for (const minute of [65, 99]) t.deepEqual(await deliver(chat, minute), []);
  t.deepEqual(await deliver(chat, 100), ['Down: Shop 0']);
});

test('a snooze holds delayed trouble of maintenance that sends it, after maintenance that drops it', async (t) => {
  const { runtime, change, addChannel, deliver, incidentId, at } = await prepare(t);
  const chat = await addChannel('telegram', ESCALATION);
  await planHour(runtime, at(-30), 'send');
  await change('down', 0);
  await planHour(runtime, at(5), 'drop');
  t.deepEqual(await deliver(chat, 15), []);
  const key = { tenantId: runtime.tenantId, id: await incidentId(), author: null };
  await snoozeIncident(runtime.database, key, { untilMs: at(120), nowMs: at(20) });
  for (const minute of [65, 119]) t.deepEqual(await deliver(chat, minute), []);
  t.deepEqual(await deliver(chat, 120), ['Down: Shop 0']);
});

for (const [endsAt, isDeleted] of [
  [60, false],
  [30, true],
] as const)
  test(`an alert that maintenance holds is sent at its end in another that drops, deleted: ${isDeleted}`, async (t) => {
    const { runtime, change, addChannel, deliver, at } = await prepare(t);
    const { database, tenantId } = runtime;
    const chat = await addChannel('telegram', null);
    const { window } = await planHour(runtime, at(0), 'hold');
    await change('down', 10);
    await planHour(runtime, at(20), 'drop');
    t.deepEqual(await deliver(chat, endsAt - 1), []);
    if (isDeleted) await deleteWindow(database, { tenantId, id: window.id, author: null }, at(endsAt));
    t.deepEqual(await deliver(chat, endsAt), ['Down: Shop 0']);
  });

/** Snoozes a delayed alert and a reminder until a minute; maintenance already holds both until minute 65. */
async function snoozeInMaintenance(t: ExecutionContext, untilMinute: number) {
  const { runtime, change, addChannel, deliver, incidentId, at } = await prepare(t);
  const { database, tenantId } = runtime;
  const [delayed, repeated] = [
    await addChannel('telegram', ESCALATION),
    await addChannel('telegram', [{ repeat_seconds: 600 }]),
  ];
  await change('down', 0);
  t.deepEqual(await deliver(repeated, 0), ['Down: Shop 0']);
  const { window } = await planHour(runtime, at(5), 'hold');
  const deliverBoth = async (minute: number) => [await deliver(delayed, minute), await deliver(repeated, minute)];
  t.deepEqual(await deliverBoth(15), [[], []]);
  await snoozeIncident(
    database,
    { tenantId, id: await incidentId(), author: null },
    { untilMs: at(untilMinute), nowMs: at(20) },
  );
  const endWindow = (minute: number) =>
    moveEnd(database, { tenantId, id: window.id, author: null }, { endOf: () => at(minute), nowMs: at(minute) });
  return { deliverBoth, endWindow };
}

for (const [length, untilMinute] of [
  ['longer', 180],
  ['shorter', 45],
] as const)
  test(`maintenance that ends early sends nothing that a ${length} snooze holds`, async (t) => {
    const { deliverBoth, endWindow } = await snoozeInMaintenance(t, untilMinute);
    await endWindow(30);
    for (const minute of [30, untilMinute - 1]) t.deepEqual(await deliverBoth(minute), [[], []]);
    t.deepEqual(await deliverBoth(untilMinute), [['Down: Shop 0'], ['Still down: Shop 0']]);
  });

test('maintenance holds what a snooze held that ends before it', async (t) => {
  const { deliverBoth } = await snoozeInMaintenance(t, 45);
  for (const minute of [45, 64]) t.deepEqual(await deliverBoth(minute), [[], []]);
  t.deepEqual(await deliverBoth(65), [['Down: Shop 0'], ['Still down: Shop 0']]);
});

const QUIET = { timezone: 'UTC', hours: 'Mo-Su 13:00-14:00' };

test('quiet hours defer alerts and recoveries, and at their end only those that still hold are sent', async (t) => {
  const { change, addChannel, deliver, monitors } = await prepare(t, 3);
  const chat = await addChannel('telegram', [{ quiet: { ...QUIET, mode: 'defer' } }]);
  await change('down', 50, monitors.slice(0, 1));
  t.deepEqual(await deliver(chat, 50), ['Down: Shop 0']);
  await change('up', 65, monitors.slice(0, 1));
  await change('down', 70, monitors.slice(1, 2));
  await change('down', 75, monitors.slice(2));
  await change('up', 80, monitors.slice(2));
  t.deepEqual(await deliver(chat, 119), []);
  // A recovery and an alert that are due together are one message.
  t.deepEqual(await deliver(chat, 120), ['2 monitors: 1 down, 1 recovered']);
});

test('a deferred recovery is sent even if the monitor was down again in between', async (t) => {
  const { change, addChannel, deliver } = await prepare(t);
  const chat = await addChannel('telegram', [{ quiet: { ...QUIET, mode: 'defer' } }]);
  await change('down', 50);
  t.deepEqual(await deliver(chat, 50), ['Down: Shop 0']);
  for (const [verdict, minute] of [
    ['up', 65],
    ['down', 70],
    ['up', 75],
  ] as const)
    await change(verdict, minute);
  t.deepEqual(await deliver(chat, 120), ['Recovered: Shop 0']);
});

test('if a monitor is down again when quiet hours end, its recovery is sent once it is up', async (t) => {
  const { change, addChannel, deliver } = await prepare(t);
  const dropping = await addChannel('telegram', [{ quiet: { ...QUIET, mode: 'drop' } }]);
  const delaying = await addChannel('telegram', [{ after_seconds: 900, quiet: { ...QUIET, mode: 'defer' } }]);
  await change('down', 30);
  t.deepEqual([await deliver(dropping, 30), await deliver(delaying, 45)], [['Down: Shop 0'], ['Down: Shop 0']]);
  await change('up', 70);
  await change('down', 115);
  t.deepEqual([await deliver(dropping, 120), await deliver(delaying, 120)], [[], []]);
  await change('up', 125);
  t.deepEqual(
    [await deliver(dropping, 125), await deliver(delaying, 125)],
    [['Recovered: Shop 0'], ['Recovered: Shop 0']],
  );
});

for (const isResumed of [false, true])
  test(`a recovery deferred by quiet hours is sent even if its monitor is paused, resumed: ${isResumed}`, async (t) => {
    const { runtime, change, addChannel, deliver, monitors, at } = await prepare(t);
    const chat = await addChannel('telegram', [{ quiet: { ...QUIET, mode: 'defer' } }]);
    await change('down', 50);
    t.deepEqual(await deliver(chat, 50), ['Down: Shop 0']);
    await change('up', 70);
    const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
    await pauseMonitor(runtime.database, { ...key, nowMs: at(80) });
    if (isResumed) {
      await resumeMonitor(runtime.database, { ...key, nowMs: at(85) });
      await change('up', 90);
    }
    t.deepEqual(await deliver(chat, 120), ['Recovered: Shop 0']);
  });

for (const [mode, first] of [
  ['defer', 120],
  ['drop', 125],
] as const)
  test(`no reminder is sent in quiet hours, and the next one at minute ${first}: ${mode}`, async (t) => {
    const { runtime, change, addChannel, deliver, at } = await prepare(t);
    const rules: ChannelRule[] = [{ repeat_seconds: 1800, repeat_max: 3, quiet: { ...QUIET, mode } }];
    const chat = await addChannel('telegram', rules);
    await change('down', 5);
    const sent: [number, string[]][] = [];
    for (let minute = 5; minute <= 190; minute += 1) {
      const titles = await deliver(chat, minute);
      if (titles.length > 0) sent.push([minute, titles]);
    }
    const moments = [5, 35, first, first + 30];
    t.deepEqual(
      sent.map(([minute]) => minute),
      moments,
    );
    const past = await listPastChanges(runtime.database, {
      tenantId: runtime.tenantId,
      channelId: chat,
      sinceMs: at(-10),
    });
    t.deepEqual(
      inOrder(replayRules(rules, past, at(190))).map(({ atMs }) => Math.round((atMs - at(0)) / MINUTE)),
      moments,
    );
  });

for (const isDownAfter of [false, true])
  test(`after quiet hours a stateful receiver gets its resolve (monitor down again: ${isDownAfter})`, async (t) => {
    const { change, addChannel, deliverer, posted } = await prepare(t);
    const pager = await addChannel('webhook', [{ quiet: { ...QUIET, mode: 'defer' } }], 'pagerduty');
    const open = new Set<string | null>();
    const deliver = async (minute: number) => {
      await deliverer(minute).run(pager);
      for (const { message } of posted.splice(0)) {
        const { event, detail } = message as MonitorMessage;
        if (event === 'monitor.up') open.delete(detail.incident_id);
        else open.add(detail.incident_id);
      }
      return open.size;
    };
    await change('down', 50);
    t.is(await deliver(50), 1);
    const [first] = open;
    await change('up', 65);
    await change('down', 80);
    if (!isDownAfter) await change('up', 85);
    t.is(await deliver(119), 1);
    t.is(await deliver(120), isDownAfter ? 1 : 0);
    t.false(open.has(first ?? null));
    if (isDownAfter) await change('up', 130);
    t.is(await deliver(130), 0);
  });

test('an unknown state caused by our own overload does not restart the delay of an alert', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, at } = await prepare(t);
  const chat = await addChannel('telegram', [{ after_seconds: 900 }]);
  await change('down', 0);
  const monitor = monitors[0]?.id ?? '';
  for (const [sequence, from, to, minute] of [
    [3, 'down', 'unknown', 6],
    [4, 'unknown', 'down', 9],
  ] as const)
    await runtime.database.pool.query(
      `INSERT INTO transitions (monitor_id, tenant_id, sequence, from_state, to_state, at, detected_at, evidence)
       SELECT monitor_id, tenant_id, $2, $3, $4, $5, $5, evidence FROM transitions
       WHERE monitor_id = $1 AND sequence = 2`,
      [monitor, sequence, from, to, at(minute)],
    );
  await runtime.database.pool.query(
    `INSERT INTO unchecked_times (monitor_id, sequence, monitor_no, tenant_id, from_state, started_at, ended_at)
     SELECT id, 3, no, tenant_id, 'down', $2, $3 FROM monitors WHERE id = $1`,
    [monitor, at(6), at(9)],
  );
  t.deepEqual(await deliver(chat, 15), ['Down: Shop 0']);
});

test('a mute holds alerts and reminders that were already waiting', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, outcomes, at } = await prepare(t);
  const [delayed, repeated] = [
    await addChannel('telegram', [{ after_seconds: 900 }]),
    await addChannel('telegram', [{ repeat_seconds: 600 }]),
  ];
  await change('down', 0);
  t.deepEqual(await deliver(repeated, 0), ['Down: Shop 0']);
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
  await muteMonitor(runtime.database, key, { untilMs: at(60), nowMs: at(5) });
  t.deepEqual([await deliver(delayed, 15), await deliver(repeated, 30)], [[], []]);
  t.deepEqual(await outcomes(delayed), ['monitor.down pending mute']);
  t.deepEqual(await deliver(delayed, 60), ['Down: Shop 0']);
  t.deepEqual(await deliver(repeated, 60), ['Still down: Shop 0']);
  t.deepEqual(await deliver(repeated, 69), []);
  t.deepEqual(await deliver(repeated, 70), ['Still down: Shop 0']);
});

test('an alert held by a mute is superseded by a worse state, and dropped if its monitor is paused', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, outcomes, at } = await prepare(t);
  const chat = await addChannel('telegram', [{ after_seconds: 900, repeat_seconds: 600 }]);
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
  await change('degraded', 0);
  await muteMonitor(runtime.database, key, { untilMs: at(60), nowMs: at(5) });
  t.deepEqual(await deliver(chat, 30), []);
  await change('down', 40);
  t.deepEqual(await outcomes(chat), ['monitor.degraded superseded mute', 'monitor.down pending mute']);
  t.deepEqual(await deliver(chat, 60), ['Down: Shop 0']);
  await muteMonitor(runtime.database, key, { untilMs: at(120), nowMs: at(61) });
  t.deepEqual(await deliver(chat, 75), []);
  await pauseMonitor(runtime.database, { ...key, nowMs: at(80) });
  t.deepEqual(await deliver(chat, 120), []);
});

test('a recovery drops an alert that waits again after its worker was killed', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, outcomes, at } = await prepare(t);
  const chat = await addChannel('telegram', [{ after_seconds: 900 }]);
  await change('down', 0);
  t.truthy(await claimNextDelivery(runtime.database, chat, { nowMs: at(15), claimMs: 1000 }));
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
  await muteMonitor(runtime.database, key, { untilMs: at(60), nowMs: at(16) });
  t.deepEqual(await deliver(chat, 16), []);
  await change('up', 20);
  t.deepEqual([await deliver(chat, 20), await deliver(chat, 60)], [[], []]);
  t.deepEqual(await outcomes(chat), ['monitor.down superseded mute']);
});

test('an alert that was dropped while it waited is sent if it is redelivered', async (t) => {
  const { runtime, change, addChannel, deliver, at } = await prepare(t);
  const [chat, webhook] = [await addChannel('telegram', ESCALATION), await addChannel('webhook', ESCALATION)];
  await change('down', 0);
  await change('up', 5);
  const rows = await runOn(runtime.database.pool)<{ id: string }>('SELECT id FROM deliveries');
  t.is(rows.length, 2);
  for (const { id } of rows)
    t.truthy(await reopenDelivery(runtime.database, { tenantId: runtime.tenantId, id, author: null }, at(20)));
  t.deepEqual([await deliver(chat, 20), await deliver(webhook, 20)], [['Delayed: Down: Shop 0'], ['monitor.down']]);
});

test('the delay restarts when an incident is reopened', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, at } = await prepare(t);
  await runtime.database.pool.query('UPDATE monitors SET reopen_seconds = 86400 WHERE id = $1', [monitors[0]?.id]);
  const rules: ChannelRule[] = [{ after_seconds: 900 }];
  const chat = await addChannel('telegram', rules);
  await change('down', 0);
  await change('up', 1);
  await change('down', 100);
  t.deepEqual(await deliver(chat, 100), []);
  t.deepEqual(await deliver(chat, 114.9), []);
  t.deepEqual(await deliver(chat, 115), ['Down: Shop 0']);
  const past = await listPastChanges(runtime.database, {
    tenantId: runtime.tenantId,
    channelId: chat,
    sinceMs: at(-10),
  });
  t.deepEqual(
    inOrder(replayRules(rules, past, at(120))).map(({ outcome, atMs }) => [
      outcome,
      Math.round((atMs - at(0)) / MINUTE),
    ]),
    [
      ['not_sent', 1],
      ['sent', 115],
    ],
  );
});

test('an alert dropped by quiet hours is recorded with the reason; neither it nor its recovery is sent', async (t) => {
  const { change, addChannel, deliver, outcomes } = await prepare(t);
  const webhook = await addChannel('webhook', [{ quiet: { ...QUIET, mode: 'drop' } }]);
  await change('down', 70);
  t.deepEqual(await deliver(webhook, 130), []);
  t.deepEqual(await outcomes(webhook), ['monitor.down superseded quiet_hours']);
  await change('up', 131);
  t.deepEqual(await deliver(webhook, 131), []);
  await change('down', 140);
  t.deepEqual(await deliver(webhook, 140), ['monitor.down']);
});

test('a mute holds the alerts of its monitor and expires by itself, and the held alert says so', async (t) => {
  const { runtime, change, addChannel, deliver, deliverer, monitors, sent, at } = await prepare(t, 2);
  const [chat, webhook] = [await addChannel('telegram', null), await addChannel('webhook', null)];
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
  t.deepEqual(await muteMonitor(runtime.database, key, { untilMs: at(60), nowMs: at(0) }), []);
  await change('down', 10);
  t.deepEqual(await deliver(webhook, 10), ['monitor.down', 'monitor.down'], 'a webhook is an event log');
  t.deepEqual(await deliver(chat, 59), ['Down: Shop 1']);
  await deliverer(60).run(chat);
  t.is(sent.length, 1);
  t.like(sent[0], { title: 'Down: Shop 0' });
  t.regex(
    sent[0]?.facts.find(({ label }) => label === 'Muted')?.value ?? '',
    /^until .*UTC, sent now that the mute has ended/,
  );
  sent.length = 0;
  await change('up', 61);
  t.deepEqual((await deliver(chat, 61)).toSorted(), ['Recovered: Shop 0', 'Recovered: Shop 1']);
  // The mute is over, so nothing is held any more.
  await change('down', 70);
  t.deepEqual((await deliver(chat, 70)).length, 2);
});

test('ending a mute early sends alerts that still hold, and none of a monitor that has recovered', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, at } = await prepare(t, 2);
  const chat = await addChannel('telegram', null);
  const keys = monitors.map(({ id }) => ({ tenantId: runtime.tenantId, id, author: null }));
  for (const key of keys) await muteMonitor(runtime.database, key, { untilMs: at(60), nowMs: at(0) });
  await change('down', 10);
  await change('up', 20, monitors.slice(1));
  const [key] = keys;
  const moved = key && (await muteMonitor(runtime.database, key, { untilMs: null, nowMs: at(30) }));
  t.deepEqual(
    moved?.map(({ dueAtMs }) => dueAtMs),
    [at(30)],
  );
  t.deepEqual(await deliver(chat, 30), ['Down: Shop 0']);
  t.deepEqual(await deliver(chat, 90), []);
});

test('a mute that ends early leaves the delay and the quiet hours of alerts', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, outcomes, at } = await prepare(t);
  const delayed = await addChannel('telegram', [{ after_seconds: 900, repeat_seconds: 600 }]);
  const quiet = await addChannel('telegram', [{ quiet: { ...QUIET, mode: 'defer' } }]);
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
  await muteMonitor(runtime.database, key, { untilMs: at(180), nowMs: at(60) });
  await change('down', 65);
  await muteMonitor(runtime.database, key, { untilMs: null, nowMs: at(66) });
  t.deepEqual([await deliver(delayed, 79.9), await deliver(quiet, 119.9)], [[], []]);
  t.deepEqual(await outcomes(quiet), ['monitor.down pending quiet_hours']);
  t.deepEqual([await deliver(delayed, 80), await deliver(quiet, 120)], [['Down: Shop 0'], ['Down: Shop 0']]);
  // The first reminder counts from the alert, not from the end that the mute was to have.
  t.deepEqual([await deliver(delayed, 89.9), await deliver(delayed, 90)], [[], ['Still down: Shop 0']]);
});

for (const type of ['telegram', 'webhook'] as const)
  test(`no reminder comes before its alert, which a mute holds beyond the delay: ${type}`, async (t) => {
    const { runtime, change, addChannel, deliver, monitors, at } = await prepare(t);
    const channel = await addChannel(type, [{ after_seconds: 900, repeat_seconds: 600, repeat_max: 1 }]);
    await runtime.database.pool.query(`UPDATE channels SET follows_maintenance = true WHERE type = 'webhook'`);
    const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
    await muteMonitor(runtime.database, key, { untilMs: at(60), nowMs: at(0) });
    await change('down', 1);
    const sent: [number, number][] = [];
    for (let minute = 1; minute <= 120; minute += 1) {
      const { length } = await deliver(channel, minute);
      if (length > 0) sent.push([minute, length]);
    }
    t.deepEqual(sent, [
      [60, 1],
      [70, 1],
    ]);
  });

test('newer trouble that a rule holds replaces trouble that a mute holds', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, outcomes, at } = await prepare(t);
  const chat = await addChannel('telegram', [{ events: ['monitor.down'], after_seconds: 900 }, {}]);
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
  await muteMonitor(runtime.database, key, { untilMs: at(60), nowMs: at(0) });
  await change('degraded', 1);
  await change('down', 5);
  t.deepEqual(await outcomes(chat), ['monitor.degraded superseded mute', 'monitor.down pending delay']);
  t.deepEqual([await deliver(chat, 16), await deliver(chat, 60)], [[], ['Down: Shop 0']]);
});

test('newer trouble that quiet hours drop does not replace trouble that maintenance holds', async (t) => {
  const { runtime, change, addChannel, deliver, outcomes, at } = await prepare(t);
  const chat = await addChannel('telegram', [{ quiet: { ...QUIET, mode: 'drop' } }]);
  await planHour(runtime, at(45), 'hold');
  await change('degraded', 50);
  await change('down', 70);
  t.deepEqual(await outcomes(chat), ['monitor.degraded pending maintenance', 'monitor.down superseded quiet_hours']);
  t.deepEqual([await deliver(chat, 104), await deliver(chat, 105)], [[], ['Delayed: Degraded: Shop 0']]);
});

test('reminders end once no rule of the channel asks for them', async (t) => {
  const { runtime, change, addChannel, deliver } = await prepare(t);
  const chat = await addChannel('telegram', [{ repeat_seconds: 600 }]);
  await change('down', 0);
  t.deepEqual([await deliver(chat, 0), await deliver(chat, 10)].flat(), ['Down: Shop 0', 'Still down: Shop 0']);
  await runtime.database.pool.query('UPDATE channels SET rules = NULL WHERE id = $1', [chat]);
  t.deepEqual([await deliver(chat, 20), await deliver(chat, 30)], [[], []]);
});

test('a summary leaves out a reminder that no rule of the channel asks for', async (t) => {
  const { runtime, change, addChannel, deliver, monitors, at } = await prepare(t, 3);
  const chat = await addChannel('telegram', [{ repeat_seconds: 3600 }]);
  const [shop, ...others] = monitors;
  await change('down', 0, shop && [shop]);
  t.deepEqual(await deliver(chat, 0), ['Down: Shop 0']);
  for (const { id } of others)
    await muteMonitor(
      runtime.database,
      { tenantId: runtime.tenantId, id, author: null },
      { untilMs: at(59), nowMs: at(5) },
    );
  await change('down', 6, others);
  await runtime.database.pool.query('UPDATE channels SET rules = NULL WHERE id = $1', [chat]);
  t.deepEqual([await deliver(chat, 61), await deliver(chat, 62)], [['2 monitors: 2 down'], []]);
});

test('a chat that was notified of an outage before the clock was set back gets its recovery', async (t) => {
  const { runtime, change, addChannel, deliver, at } = await prepare(t);
  const chat = await addChannel('telegram', null);
  await change('down', 60);
  t.deepEqual(await deliver(chat, 60), ['Down: Shop 0']);
  const setBack = { nowMs: at(10), backMs: 50 * MINUTE };
  await inTransaction(runtime.database, (_, client) => pullBackTimes(client, setBack));
  await change('up', 11);
  t.deepEqual(await deliver(chat, 11), ['Recovered: Shop 0']);
});

const PREVIEWED: readonly ChannelRule[][] = [
  [],
  [{ events: ['monitor.down', 'monitor.up'] }],
  [{ after_seconds: 600 }],
  [{ repeat_seconds: 300, repeat_max: 2 }],
  [{ quiet: { ...QUIET, mode: 'defer' } }],
  [{ quiet: { ...QUIET, mode: 'drop' } }, { repeat_seconds: 600 }],
];

for (const [index, rules] of PREVIEWED.entries())
  test(`a preview of rules matches the alerts sent live: ${index + 1}`, async (t) => {
    const { runtime, change, addChannel, deliverer, sent, at } = await prepare(t);
    const chat = await addChannel('telegram', rules.length === 0 ? null : rules);
    const live: string[] = [];
    const verdicts = new Map<number, Verdict>([
      [5, 'degraded'],
      [9, 'up'],
      [20, 'degraded'],
      [24, 'down'],
      [58, 'up'],
      [65, 'down'],
      [70, 'up'],
      [100, 'down'],
      [125, 'up'],
    ]);
    for (let minute = 0; minute <= 150; minute += 1) {
      const verdict = verdicts.get(minute);
      if (verdict !== undefined) await change(verdict, minute);
      await deliverer(minute).run(chat);
      live.push(...sent.splice(0).map(({ title }) => `${minute} ${title}`));
    }
    const changes = await listPastChanges(runtime.database, {
      tenantId: runtime.tenantId,
      channelId: chat,
      sinceMs: at(-30),
    });
    const words = { 'monitor.down': 'down', 'monitor.degraded': 'degraded', 'monitor.unknown': 'unknown' } as const;
    const previewed = inOrder(replayRules(rules, changes, at(150)))
      .filter(({ outcome }) => outcome === 'sent')
      .map(({ atMs, event, reminder }) => {
        const minute = Math.ceil((atMs - at(0)) / MINUTE);
        if (event === 'monitor.up') return `${minute} Recovered: Shop 0`;
        const word = words[event];
        const title = reminder === null ? `${word.slice(0, 1).toUpperCase()}${word.slice(1)}` : `Still ${word}`;
        return `${minute} ${title}: Shop 0`;
      });
    t.true(live.length > 0);
    t.deepEqual(previewed, live);
  });

/** Sets up a chat without rules; its monitor has exceeded its rate so far that alerts wait for about ten minutes. */
async function prepareSlow(t: ExecutionContext) {
  const prepared = await prepare(t);
  const { runtime, monitors, at, addChannel } = prepared;
  const chat = await addChannel('telegram', null);
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
  const slowDown = () =>
    runtime.database.pool.query(
      'INSERT INTO delivery_rates VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET used_up = $2',
      [key.id, at(15)],
    );
  return { ...prepared, chat, key, slowDown };
}

test('after an outage replaces a rate-limited recovery, the next recovery is sent', async (t) => {
  const { change, deliver, chat, slowDown } = await prepareSlow(t);
  await change('down', 0);
  t.deepEqual(await deliver(chat, 0), ['Down: Shop 0']);
  await slowDown();
  await change('up', 1);
  await change('down', 2);
  t.deepEqual(await deliver(chat, 3), []);
  t.deepEqual(await deliver(chat, 20), ['Down: Shop 0']);
  await change('up', 60);
  t.deepEqual(await deliver(chat, 60), ['Recovered: Shop 0']);
});

test('an alert held by a mute does not replace an earlier one that is due before the mute ends', async (t) => {
  const { runtime, change, deliver, at, outcomes, chat, key, slowDown } = await prepareSlow(t);
  await slowDown();
  await change('degraded', 0);
  await muteMonitor(runtime.database, key, { untilMs: at(60), nowMs: at(1) });
  await change('down', 2);
  t.deepEqual(await outcomes(chat), ['monitor.degraded pending', 'monitor.down pending mute']);
  t.deepEqual(await deliver(chat, 20), ['Delayed: Degraded: Shop 0']);
  t.deepEqual(await deliver(chat, 60), ['Down: Shop 0']);
  await change('up', 61);
  t.deepEqual(await deliver(chat, 61), ['Recovered: Shop 0']);
});

test('an alert held by a mute does not replace a reminder', async (t) => {
  const { runtime, change, addChannel, deliver, at, monitors, outcomes } = await prepare(t);
  const chat = await addChannel('telegram', [{ repeat_seconds: 600 }]);
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '', author: null };
  await change('degraded', 0);
  t.deepEqual(await deliver(chat, 0), ['Degraded: Shop 0']);
  await muteMonitor(runtime.database, key, { untilMs: at(60), nowMs: at(5) });
  t.deepEqual(await deliver(chat, 10), []);
  await runtime.database.pool.query('UPDATE channels SET rules = NULL WHERE id = $1', [chat]);
  await change('down', 20);
  t.deepEqual(await outcomes(chat), [
    'monitor.degraded delivered',
    'monitor.degraded pending mute',
    'monitor.down pending mute',
  ]);
  t.deepEqual(await deliver(chat, 60), ['Down: Shop 0']);
});

test('a reminder is not sent before its rate-limited alert', async (t) => {
  const { runtime, monitors, at, addChannel, change, deliver, deliverer, sent } = await prepare(t, 2);
  const chat = await addChannel('telegram', [{ repeat_seconds: 600 }]);
  const [slow, quick] = monitors;
  if (slow === undefined || quick === undefined) throw new Error('There are two monitors');
  // Its alert is due in the sixteenth minute, its first reminder in the tenth.
  await runtime.database.pool.query('INSERT INTO delivery_rates VALUES ($1, $2)', [slow.id, at(20)]);
  await change('down', 0, [slow]);
  await change('down', 0.1, [quick]);
  t.deepEqual(await deliver(chat, 0.2), ['Down: Shop 1']);
  const lanes = deliverer(10.2);
  const done = lanes.run(chat);
  await until(() => sent.length > 0);
  // One lane waits for the reminder.
  lanes.stop();
  await done;
  t.deepEqual(
    sent.splice(0).map(({ title }) => title),
    ['Still down: Shop 1'],
  );
  t.is((await deliver(chat, 17))[0], 'Down: Shop 0');
});
