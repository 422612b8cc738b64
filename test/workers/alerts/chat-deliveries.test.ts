import test, { type ExecutionContext } from 'ava';
import type { Verdict } from '../../../core/checks/verdict.ts';
import type { SummaryMessage } from '../../../core/incidents/storm.ts';
import type { Monitor } from '../../../core/monitors/monitor.ts';
import { createTenant } from '../../../models/accounts/tenants.ts';
import type { Agent } from '../../../models/agents/agents.ts';
import { createChannel, updateChannel } from '../../../models/alerts/channels.ts';
import { claimDeliveries } from '../../../models/alerts/delivery-attempts.ts';
import { addToSummaries, countChangedMonitors, listNewestSummaries } from '../../../models/alerts/summaries.ts';
import { deleteMonitor, pauseMonitor, resumeMonitor } from '../../../models/monitors/monitor-changes.ts';
import { inTransaction } from '../../../models/sql.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { claimNextDelivery, recordAttempt } from '../../helpers/deliveries.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';

const START_MS = Date.now();
const CLAIM_MS = 15_000;

test('ten simultaneous failures are sent as ten messages at once', async (t) => {
  const { chat, change, listDeliveriesTo } = await prepare(t, 10);
  await change('down', { atMs: START_MS });
  t.deepEqual(
    await listDeliveriesTo(chat),
    Array.from({ length: 10 }, () => ({ event: 'monitor.down', dueInMs: 0 })),
  );
});

test('eleven simultaneous failures are one chat summary five seconds later, and eleven webhook events', async (t) => {
  const { runtime, chat, webhook, change, listDeliveriesTo } = await prepare(t, 11);
  const email = await addChannel(runtime, 'email');
  const { deliveries } = await change('down', { atMs: START_MS });
  for (const channelId of [chat, email])
    t.deepEqual(await listDeliveriesTo(channelId), [{ event: 'summary', dueInMs: 5000 }]);
  t.deepEqual(
    await listDeliveriesTo(webhook),
    Array.from({ length: 11 }, () => ({ event: 'monitor.down', dueInMs: 0 })),
  );
  t.is(deliveries.find(({ channelId }) => channelId === chat)?.dueAtMs, START_MS + 5000);
  t.is(await claimNextDelivery(runtime.database, chat, { nowMs: START_MS + 4999, claimMs: CLAIM_MS }), null);
  const summary = await deliverSummary(runtime, chat, START_MS + 5000);
  t.is(summary.monitors, 11);
  t.deepEqual(
    summary.states.map(({ state, monitors, names }) => [state, monitors, names.length]),
    [['down', 11, 10]],
  );
  t.is(summary.url, 'http://localhost:3000/monitors');
});

test('of successive failures ten are sent separately, and the rest join a summary until it is sent', async (t) => {
  const { runtime, monitors, chat, change, listDeliveriesTo } = await prepare(t, 13);
  for (const [index, monitor] of monitors.entries())
    await change('down', { atMs: START_MS + 100 * index, of: [monitor] });
  const delivered = await listDeliveriesTo(chat);
  t.is(delivered.filter(({ event }) => event === 'monitor.down').length, 10);
  t.deepEqual(
    delivered.filter(({ event }) => event === 'summary'),
    [{ event: 'summary', dueInMs: 5000 }],
  );
  t.deepEqual((await deliverSummary(runtime, chat, START_MS + 6000)).states, [
    { state: 'down', monitors: 3, names: ['Shop 10', 'Shop 11', 'Shop 12'] },
  ]);
});

test('concurrent evaluators share the storm count: of six failures each, only six are sent separately', async (t) => {
  const { monitors, chat, change, listDeliveriesTo } = await prepare(t, 12);
  await Promise.all([monitors.slice(0, 6), monitors.slice(6)].map((of) => change('down', { atMs: START_MS, of })));
  const events = (await listDeliveriesTo(chat)).map(({ event }) => event);
  t.deepEqual(events.toSorted(), [...Array.from({ length: 6 }, () => 'monitor.down'), 'summary']);
});

test('changes of different accounts do not add up to a storm', async (t) => {
  const { runtime, monitors, chat, change, listDeliveriesTo } = await prepare(t, 12);
  const other = runtime.newId('ten');
  await createTenant(runtime.database, { id: other, name: other, plan: 'pro', nowMs: START_MS, author: null });
  await runtime.database.pool.query('UPDATE monitors SET tenant_id = $1 WHERE id = ANY ($2)', [
    other,
    monitors.slice(6).map(({ id }) => id),
  ]);
  const othersChat = await addChannel(runtime, 'slack', other);
  await change('down', { atMs: START_MS });
  for (const channelId of [chat, othersChat])
    t.deepEqual(
      (await listDeliveriesTo(channelId)).map(({ event }) => event),
      Array.from({ length: 6 }, () => 'monitor.down'),
    );
});

test('first results of new monitors are no storm: a failure beside them is reported at once', async (t) => {
  const { runtime, agent, chat, change, listDeliveriesTo } = await prepare(t, 1);
  const fresh = await addMonitors(runtime, agent, 20);
  await change('up', { atMs: START_MS, of: fresh });
  await change('down', { atMs: START_MS + 1000 });
  t.deepEqual(await listDeliveriesTo(chat), [{ event: 'monitor.down', dueInMs: 0 }]);
});

test('a storm has ended when at most ten monitors have changed within thirty seconds', async (t) => {
  const { runtime, agent, chat, change, listDeliveriesTo } = await prepare(t, 11);
  const [late] = await addMonitors(runtime, agent, 1);
  if (late === undefined) throw new Error('no monitor');
  await change('up', { atMs: START_MS - 100_000, of: [late] });
  await change('down', { atMs: START_MS });
  await deliverSummary(runtime, chat, START_MS + 5000);
  await change('down', { atMs: START_MS + 30_000, of: [late] });
  t.deepEqual(
    (await listDeliveriesTo(chat)).map(({ event }) => event),
    ['summary', 'monitor.down'],
  );
});

test('many recoveries get their own summary, at least thirty seconds after the previous one', async (t) => {
  const { runtime, chat, change, listDeliveriesTo } = await prepare(t, 12);
  await change('down', { atMs: START_MS });
  await deliverSummary(runtime, chat, START_MS + 5000);
  await change('up', { atMs: START_MS + 10_000 });
  t.deepEqual(await listDeliveriesTo(chat), [
    { event: 'summary', dueInMs: 5000 },
    { event: 'summary', dueInMs: 25_000 },
  ]);
  t.deepEqual(
    (await deliverSummary(runtime, chat, START_MS + 35_000)).states.map(({ state, monitors }) => [state, monitors]),
    [['up', 12]],
  );
});

test('a summary reports the last state of a monitor that changed twice before it was sent', async (t) => {
  const { runtime, monitors, chat, change } = await prepare(t, 12);
  await change('down', { atMs: START_MS });
  await change('up', { atMs: START_MS + 3000, of: monitors.slice(0, 1) });
  const { states } = await deliverSummary(runtime, chat, START_MS + 5000);
  t.deepEqual(
    states.map(({ state, monitors: count }) => [state, count]),
    [
      ['down', 11],
      ['up', 1],
    ],
  );
});

test('an open summary collects every change, even after the storm has ended', async (t) => {
  const { runtime, agent, monitors, chat, change, listDeliveriesTo } = await prepare(t, 12);
  const late = await addMonitors(runtime, agent, 1);
  await change('up', { atMs: START_MS - 100_000, of: late });
  await change('down', { atMs: START_MS });
  await deliverSummary(runtime, chat, START_MS + 5000);
  await change('up', { atMs: START_MS + 1000, of: monitors });
  // The second alert is due 35 s after the first failure.
  await change('down', { atMs: START_MS + 33_000, of: late });
  t.deepEqual(
    (await listDeliveriesTo(chat)).map(({ event }) => event),
    ['summary', 'summary'],
  );
  t.deepEqual(
    (await deliverSummary(runtime, chat, START_MS + 35_000)).states.map(({ state, monitors: count }) => [state, count]),
    [
      ['down', 1],
      ['up', 12],
    ],
  );
});

test('a claim skips a summary until the changes being added to it are committed', async (t) => {
  const { runtime, agent, chat, change } = await prepare(t, 12);
  const [late] = await addMonitors(runtime, agent, 1);
  await change('down', { atMs: START_MS });
  const claim = { nowMs: START_MS + 5000, claimMs: CLAIM_MS };
  await inTransaction(runtime.database, async (run) => {
    await countChangedMonitors(run, [runtime.tenantId], START_MS - 30_000);
    const newest = (await listNewestSummaries(run, [chat])).get(chat);
    t.true(newest?.isOpen);
    t.deepEqual(await claimDeliveries(runtime.database, [chat], claim), [{ claimed: null, hasMore: true }]);
    await addToSummaries(run, [
      {
        deliveryId: newest?.deliveryId ?? '',
        monitorId: late?.id ?? '',
        name: 'Late',
        state: 'degraded',
        sequence: 1,
        atMs: START_MS,
      },
    ]);
  });
  t.is((await deliverSummary(runtime, chat, START_MS + 5000)).monitors, 13);
});

test('after a worker dies with a summary, the next attempt leaves newer changes to the next summary', async (t) => {
  const { runtime, monitors, chat, change, listDeliveriesTo } = await prepare(t, 12);
  await change('down', { atMs: START_MS });
  await runtime.database.pool.query(`UPDATE deliveries SET attempts = 1, claimed_until = $1 WHERE event = 'summary'`, [
    START_MS + 20_000,
  ]);
  await change('up', { atMs: START_MS + 10_000, of: monitors.slice(0, 2) });
  t.is((await listDeliveriesTo(chat)).length, 2);
  const again = await deliverSummary(runtime, chat, START_MS + 20_000);
  t.deepEqual(
    again.states.map(({ state, monitors: count }) => [state, count]),
    [['down', 10]],
  );
  t.deepEqual(
    (await deliverSummary(runtime, chat, START_MS + 60_000)).states.map(({ state, monitors: count }) => [state, count]),
    [['up', 2]],
  );
});

test('a failed summary is retried with the same content', async (t) => {
  const { runtime, chat, change } = await prepare(t, 12);
  await change('down', { atMs: START_MS });
  const first = await claimNextDelivery(runtime.database, chat, { nowMs: START_MS + 5000, claimMs: CLAIM_MS });
  const made = {
    deliveryId: first?.deliveryId ?? '',
    attempt: 1,
    outcome: 'retry',
    statusCode: 502,
    durationMs: 5,
    error: 'Bad gateway',
    response: null,
    finishedAtMs: START_MS + 5010,
  } as const;
  t.true(await recordAttempt(runtime.database, { ...made, nextAttemptAtMs: START_MS + 10_000 }));
  t.deepEqual(await deliverSummary(runtime, chat, START_MS + 10_000), first?.message);
});

test('the retry of a summary reports only what still holds, and is dropped if nothing does', async (t) => {
  const { runtime, monitors, chat, change, outcomesOf } = await prepare(t, 12);
  await change('down', { atMs: START_MS });
  const first = await claimNextDelivery(runtime.database, chat, { nowMs: START_MS + 5000, claimMs: CLAIM_MS });
  const made = {
    deliveryId: first?.deliveryId ?? '',
    outcome: 'retry',
    statusCode: 502,
    durationMs: 5,
    error: 'Bad gateway',
    response: null,
  } as const;
  t.true(
    await recordAttempt(runtime.database, {
      ...made,
      attempt: 1,
      finishedAtMs: START_MS + 5010,
      nextAttemptAtMs: START_MS + 10_000,
    }),
  );
  await change('up', { atMs: START_MS + 8000, of: monitors.slice(0, 3) });
  const second = await claimNextDelivery(runtime.database, chat, { nowMs: START_MS + 10_000, claimMs: CLAIM_MS });
  t.like(second, { deliveryId: made.deliveryId, attempt: 2, message: { monitors: 9 } });
  t.true(
    await recordAttempt(runtime.database, {
      ...made,
      attempt: 2,
      finishedAtMs: START_MS + 10_010,
      nextAttemptAtMs: START_MS + 50_000,
    }),
  );
  await runtime.database.pool.query('DELETE FROM monitors WHERE id = $1', [monitors[3]?.id]);
  await change('up', { atMs: START_MS + 12_000, of: monitors.slice(4) });
  await deliverSummary(runtime, chat, START_MS + 49_000);
  t.is(await claimNextDelivery(runtime.database, chat, { nowMs: START_MS + 50_000, claimMs: CLAIM_MS }), null);
  t.deepEqual(await outcomesOf(chat), ['superseded', 'delivered']);
  const { rows } = await runtime.database.pool.query(
    'SELECT attempt FROM delivery_attempts WHERE delivery_id = $1 ORDER BY attempt',
    [made.deliveryId],
  );
  t.deepEqual(rows, [{ attempt: 1 }, { attempt: 2 }]);
});

test('a retry to a chat, but not to a webhook, is dropped if its monitor was paused or deleted', async (t) => {
  const { runtime, monitors, chat, webhook, change, outcomesOf } = await prepare(t, 2);
  const [paused, deleted] = monitors;
  await change('down', { atMs: START_MS });
  for (const channelId of [chat, chat, webhook, webhook]) {
    const claimed = await claimNextDelivery(runtime.database, channelId, { nowMs: START_MS, claimMs: CLAIM_MS });
    const made = {
      deliveryId: claimed?.deliveryId ?? '',
      attempt: 1,
      outcome: 'retry',
      statusCode: 502,
      durationMs: 5,
      error: 'Bad gateway',
      response: null,
      finishedAtMs: START_MS + 10,
    } as const;
    t.true(await recordAttempt(runtime.database, { ...made, nextAttemptAtMs: START_MS + 5000 }));
  }
  await pauseMonitor(runtime.database, {
    tenantId: runtime.tenantId,
    id: paused?.id ?? '',
    nowMs: START_MS + 3000,
    author: null,
  });
  await deleteMonitor(runtime.database, {
    tenantId: runtime.tenantId,
    id: deleted?.id ?? '',
    nowMs: START_MS + 3000,
    author: null,
  });
  const claims = await claimDeliveries(runtime.database, [chat, chat, webhook, webhook], {
    nowMs: START_MS + 5000,
    claimMs: CLAIM_MS,
  });
  t.deepEqual(
    claims.map(({ claimed }) => claimed?.attempt),
    [undefined, undefined, 2, 2],
  );
  t.deepEqual(await outcomesOf(chat), ['superseded', 'superseded']);
});

test('a chat that was notified of an outage is notified of its end, even if its monitor was paused', async (t) => {
  const { runtime, monitors, chat, change, listDeliveriesTo } = await prepare(t, 1);
  const key = { tenantId: runtime.tenantId, id: monitors[0]?.id ?? '' };
  await change('down', { atMs: START_MS });
  await pauseMonitor(runtime.database, { ...key, nowMs: START_MS + 1000, author: null });
  await resumeMonitor(runtime.database, { ...key, nowMs: START_MS + 2000, author: null });
  await change('up', { atMs: START_MS + 3000, dueAtMs: START_MS + 2500 });
  t.deepEqual(
    (await listDeliveriesTo(chat)).map(({ event }) => event),
    ['monitor.down', 'monitor.up'],
  );
  await pauseMonitor(runtime.database, { ...key, nowMs: START_MS + 4000, author: null });
  await resumeMonitor(runtime.database, { ...key, nowMs: START_MS + 5000, author: null });
  await change('up', { atMs: START_MS + 6000, dueAtMs: START_MS + 5500 });
  t.is((await listDeliveriesTo(chat)).length, 2);
});

/**
 * Ways in which an existing chat starts to be notified of monitors while one is down: the settings before and after.
 */
const LATE_COMERS: readonly [how: string, before: string, then: string][] = [
  ['enabled', 'enabled = false', 'enabled = true'],
  ['connected', `status = 'pending'`, `status = 'connected'`],
  ['routed', 'all_monitors = false', 'all_monitors = true'],
];
for (const [how, before, then] of LATE_COMERS) {
  test(
    `a chat that is ${how} while a monitor is down is not notified of the end of that outage, ` +
      'but of the next outage',
    async (t) => {
      const { runtime, chat, change, listDeliveriesTo } = await prepare(t, 1);
      const set = async (columns: string) =>
        void (await runtime.database.pool.query(`UPDATE channels SET ${columns} WHERE id = $1`, [chat]));
      await set(before);
      await change('down', { atMs: START_MS });
      await set(then);
      await change('up', { atMs: START_MS + 1000 });
      t.deepEqual(await listDeliveriesTo(chat), []);
      await change('down', { atMs: START_MS + 2000 });
      await change('up', { atMs: START_MS + 3000 });
      t.deepEqual(
        (await listDeliveriesTo(chat)).map(({ event }) => event),
        ['monitor.down', 'monitor.up'],
      );
    },
  );
}

test('a chat created during an outage gets "up" only after a "degraded"; a webhook gets all events', async (t) => {
  const { runtime, monitors, chat, change, listDeliveriesTo } = await prepare(t, 2);
  const [first, second] = monitors;
  if (first === undefined || second === undefined) throw new Error('no monitors');
  await change('down', { atMs: START_MS });
  const [late, webhook] = [await addChannel(runtime, 'slack'), await addChannel(runtime, 'webhook')];
  await change('degraded', { atMs: START_MS + 1000, of: [second] });
  await change('up', { atMs: START_MS + 2000 });
  t.deepEqual(
    (await listDeliveriesTo(late)).map(({ event }) => event),
    ['monitor.degraded', 'monitor.up'],
  );
  t.is((await listDeliveriesTo(chat)).length, 5);
  t.deepEqual(
    (await listDeliveriesTo(webhook)).map(({ event }) => event),
    ['monitor.degraded', 'monitor.up', 'monitor.up'],
  );
});

test('a chat notified by a summary gets the recoveries, even if it was disabled and enabled in between', async (t) => {
  const { runtime, monitors, chat, change, listDeliveriesTo } = await prepare(t, 12);
  await change('down', { atMs: START_MS });
  await deliverSummary(runtime, chat, START_MS + 5000);
  const late = await addChannel(runtime, 'slack');
  for (const enabled of [false, true])
    await updateChannel(runtime.database, { tenantId: runtime.tenantId, id: chat, author: null }, { enabled });
  await change('up', { atMs: START_MS + 60_000, of: monitors.slice(0, 3) });
  await change('up', { atMs: START_MS + 120_000, of: monitors.slice(3) });
  t.deepEqual(
    (await listDeliveriesTo(chat)).slice(1).map(({ event }) => event),
    Array.from({ length: 12 }, () => 'monitor.up'),
  );
  t.deepEqual(await listDeliveriesTo(late), []);
});

test('a chat disabled when an outage began is not notified of its end, even after an earlier outage', async (t) => {
  const { runtime, chat, change, listDeliveriesTo } = await prepare(t, 1);
  const key = { tenantId: runtime.tenantId, id: chat };
  await change('down', { atMs: START_MS });
  await updateChannel(runtime.database, { ...key, author: null }, { enabled: false });
  await change('up', { atMs: START_MS + 1000 });
  await change('down', { atMs: START_MS + 2000 });
  await updateChannel(runtime.database, { ...key, author: null }, { enabled: true });
  await change('up', { atMs: START_MS + 3000 });
  t.deepEqual(
    (await listDeliveriesTo(chat)).map(({ event }) => event),
    ['monitor.down'],
  );
});

test('the end of an outage older than the delivery record goes only to chats that existed when it began', async (t) => {
  const { runtime, chat, change, listDeliveriesTo } = await prepare(t, 1);
  await change('down', { atMs: START_MS });
  const late = await addChannel(runtime, 'slack');
  const { pool } = runtime.database;
  await pool.query('DELETE FROM deliveries');
  await pool.query('UPDATE transitions SET at = at - $1, detected_at = detected_at - $1', [40 * 86_400_000]);
  for (const [id, days] of [
    [chat, 41],
    [late, 39],
  ] as const)
    await pool.query('UPDATE channels SET created_at = created_at - $2 WHERE id = $1', [id, days * 86_400]);
  await change('up', { atMs: START_MS + 1000 });
  t.deepEqual(
    (await listDeliveriesTo(chat)).map(({ event }) => event),
    ['monitor.up'],
  );
  t.deepEqual(await listDeliveriesTo(late), []);
});

test('a batch that takes a monitor down and up again notifies a chat of both', async (t) => {
  const { runtime, agent, monitors, chat, listDeliveriesTo } = await prepare(t, 1);
  const evaluate = createEvaluator({
    database: runtime.database,
    now: () => START_MS,
    newId: runtime.newId,
    publicUrl: runtime.publicUrl,
  });
  await evaluate(
    (['down', 'up'] as const).flatMap((verdict, index) =>
      monitors.map((monitor) => resultOf(monitor, agent, { dueAtMs: START_MS - 30_000 + 1000 * index, verdict })),
    ),
  );
  t.deepEqual(
    (await listDeliveriesTo(chat)).map(({ event }) => event),
    ['monitor.down', 'monitor.up'],
  );
});

test('a storm whose transaction fails leaves neither a summary nor a change in one', async (t) => {
  const { runtime, chat, change, listDeliveriesTo } = await prepare(t, 12);
  await runtime.database.pool.query('ALTER TABLE summary_changes ADD CONSTRAINT broken CHECK (at < 0) NOT VALID');
  await t.throwsAsync(change('down', { atMs: START_MS }));
  t.deepEqual(await listDeliveriesTo(chat), []);
  await runtime.database.pool.query('ALTER TABLE summary_changes DROP CONSTRAINT broken');
  await change('down', { atMs: START_MS });
  t.is((await deliverSummary(runtime, chat, START_MS + 5000)).monitors, 12);
});

test('a newer state drops the pending retry to a chat, but not to a webhook', async (t) => {
  const { runtime, monitors, chat, webhook, change, outcomesOf } = await prepare(t, 12);
  const [monitor] = monitors;
  if (monitor === undefined) throw new Error('no monitor');
  await change('down', { atMs: START_MS, of: [monitor] });
  for (const channelId of [chat, webhook]) {
    const claimed = await claimNextDelivery(runtime.database, channelId, { nowMs: START_MS, claimMs: CLAIM_MS });
    const made = {
      deliveryId: claimed?.deliveryId ?? '',
      attempt: 1,
      outcome: 'retry',
      statusCode: 502,
      durationMs: 5,
      error: 'Bad gateway',
      response: null,
      finishedAtMs: START_MS + 10,
    } as const;
    t.true(await recordAttempt(runtime.database, { ...made, nextAttemptAtMs: START_MS + 125_000 }));
  }
  await change('up', { atMs: START_MS + 40_000, of: [monitor] });
  t.deepEqual(await outcomesOf(chat), ['superseded', 'pending']);
  t.deepEqual(await outcomesOf(webhook), ['pending', 'pending']);
});

test('an attempt under way during a newer change is not retried to a chat, but is to a webhook', async (t) => {
  const { runtime, monitors, chat, webhook, change, outcomesOf } = await prepare(t, 2);
  await change('down', { atMs: START_MS });
  const claimed = await claimDeliveries(runtime.database, [chat, chat, webhook], {
    nowMs: START_MS,
    claimMs: CLAIM_MS,
  });
  await change('up', { atMs: START_MS + 3000, of: monitors.slice(0, 1) });
  for (const { claimed: attempt } of claimed) {
    const made = {
      deliveryId: attempt?.deliveryId ?? '',
      attempt: 1,
      outcome: 'retry',
      statusCode: null,
      durationMs: 8000,
      error: 'No answer',
      response: null,
      finishedAtMs: START_MS + 8000,
    } as const;
    t.true(await recordAttempt(runtime.database, { ...made, nextAttemptAtMs: START_MS + 13_000 }));
  }
  // The chat learns that the first monitor is up; that the other one is down is still worth a retry.
  t.deepEqual(await outcomesOf(chat), ['superseded', 'pending', 'pending']);
  t.deepEqual(await outcomesOf(webhook), ['pending', 'pending', 'pending']);
});

test('a claim for a chat reports whether its monitor has a newer change; one for a webhook never does', async (t) => {
  const { runtime, monitors, chat, webhook, change } = await prepare(t, 2);
  const when = { nowMs: START_MS + 3_600_000, claimMs: CLAIM_MS };
  const [first] = monitors;
  await change('down', { atMs: START_MS });
  await change('up', { atMs: START_MS + 3000, of: monitors.slice(0, 1) });
  const claimsOf = async (channelId: string) => {
    const claims: unknown[] = [];
    for (
      let claimed = await claimNextDelivery(runtime.database, channelId, when);
      claimed !== null;
      claimed = await claimNextDelivery(runtime.database, channelId, when)
    ) {
      claims.push([claimed.event, claimed.monitorId === first?.id ? 'first' : 'second', claimed.isOvertaken]);
      const { deliveryId, attempt } = claimed;
      await recordAttempt(runtime.database, {
        deliveryId,
        attempt,
        outcome: 'delivered',
        statusCode: 200,
        durationMs: 5,
        error: null,
        response: null,
        finishedAtMs: START_MS + 5,
        nextAttemptAtMs: null,
      });
    }
    return claims.toSorted();
  };
  t.deepEqual(await claimsOf(chat), [
    ['monitor.down', 'first', true],
    ['monitor.down', 'second', false],
    ['monitor.up', 'first', false],
  ]);
  t.deepEqual(await claimsOf(webhook), [
    ['monitor.down', 'first', false],
    ['monitor.down', 'second', false],
    ['monitor.up', 'first', false],
  ]);
});

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** Sets up monitors that have been up for a long time, with a chat and a webhook for all of them. */
async function prepare(t: ExecutionContext, count: number) {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitors = await addMonitors(runtime, agent, count);
  let steps = 0;
  const change = (
    verdict: Verdict,
    { atMs, of = monitors, dueAtMs }: { atMs: number; of?: readonly Monitor[]; dueAtMs?: number },
  ) => {
    steps += 1;
    const evaluate = createEvaluator({
      database: runtime.database,
      now: () => atMs,
      newId: runtime.newId,
      publicUrl: runtime.publicUrl,
    });
    return evaluate(
      of.map((monitor) => resultOf(monitor, agent, { dueAtMs: dueAtMs ?? START_MS - 60_000 + 10 * steps, verdict })),
    );
  };
  await change('up', { atMs: START_MS - 100_000 });
  const [chat, webhook] = [await addChannel(runtime, 'telegram'), await addChannel(runtime, 'webhook')];
  const rowsOf = async (channelId: string) =>
    (
      await runtime.database.pool.query<{ event: string; outcome: string; due_in: number }>(
        'SELECT event, outcome, next_attempt_at - created_at AS due_in FROM deliveries WHERE channel_id = $1 ' +
          'ORDER BY no',
        [channelId],
      )
    ).rows;
  return {
    runtime,
    agent,
    monitors,
    chat,
    webhook,
    change,
    listDeliveriesTo: async (channelId: string) =>
      (await rowsOf(channelId)).map(({ event, due_in: dueInMs }) => ({ event, dueInMs })),
    outcomesOf: async (channelId: string) => (await rowsOf(channelId)).map(({ outcome }) => outcome),
  };
}

async function addMonitors(runtime: TestRuntime, agent: Agent, count: number): Promise<Monitor[]> {
  const monitors: Monitor[] = [];
  for (let index = 0; index < count; index += 1)
    monitors.push(await runtime.addMonitor([agent], { name: `Shop ${index}`, downAfterFailures: 1 }));
  return monitors;
}

async function addChannel(
  runtime: TestRuntime,
  type: 'telegram' | 'slack' | 'email' | 'webhook',
  tenantId = runtime.tenantId,
): Promise<string> {
  const webhook = type === 'webhook' && { webhook: { url: 'https://hooks.example/', signingSecret: 'whsec_AAAA' } };
  const channel = {
    id: runtime.newId('nch'),
    tenantId,
    type,
    name: 'On call',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    ...webhook,
    nowMs: START_MS,
  } as const;
  return (await createChannel(runtime.database, { ...channel, author: null })).id;
}

/** Delivers the chat's due messages up to its next summary, and returns that. */
async function deliverSummary(runtime: Prepared['runtime'], channelId: string, nowMs: number): Promise<SummaryMessage> {
  for (;;) {
    const claimed = await claimNextDelivery(runtime.database, channelId, { nowMs, claimMs: CLAIM_MS });
    if (claimed === null) throw new Error('There is no summary to be claimed');
    const { deliveryId, attempt, message } = claimed;
    await recordAttempt(runtime.database, {
      deliveryId,
      attempt,
      outcome: 'delivered',
      statusCode: 200,
      durationMs: 5,
      error: null,
      response: null,
      finishedAtMs: nowMs + 5,
      nextAttemptAtMs: null,
    });
    if (message.event === 'summary') return message;
  }
}
