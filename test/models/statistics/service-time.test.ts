import test, { type ExecutionContext } from 'ava';
import { openSummary } from '../../../core/incidents/storm.ts';
import { BELIEVED_AFTER_MS } from '../../../core/system/service-clock.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { insertParentHolds } from '../../../models/alerts/parent-holds.ts';
import { upsertGroups } from '../../../models/alerts/summaries.ts';
import { takePings } from '../../../models/heartbeats/heartbeats.ts';
import { recordPingAvailability, takeMissed } from '../../../models/heartbeats/watch.ts';
import { runOn } from '../../../models/sql.ts';
import {
  correctTime,
  isTimeUncertain,
  readTime,
  recordAgreement,
  settleAfterRest,
  settleTime,
} from '../../../models/statistics/service-time.ts';
import { watchHeartbeats } from '../../../workers/heartbeats/watch.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { retainHistory } from '../../../workers/system/retention.ts';
import { sweep } from '../../../workers/system/sweep.ts';
import { FAIL, SUCCESS, addHeartbeat } from '../../helpers/heartbeats.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';

const HOUR_MS = 3_600_000;

/**
 * Creates a service whose time has been this far ahead of PostgreSQL's clock for more than a minute. The clock was set
 * back by that much, or forward if `aheadMs` is negative.
 */
async function serviceAhead(t: ExecutionContext, aheadMs: number) {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const realMs = Math.round((await readTime(database)).databaseMs);
  await database.pool.query(`INSERT INTO service_marks (name, at, resumed_at) VALUES ('time', $1, $2)`, [
    realMs - BELIEVED_AFTER_MS,
    realMs - BELIEVED_AFTER_MS + aheadMs,
  ]);
  const settle = async () => await settleTime(database, await readTime(database));
  return { runtime, realMs, serviceMs: realMs + aheadMs, settle };
}

const evaluatorAt = (runtime: TestRuntime, nowMs: number) =>
  createEvaluator({ database: runtime.database, now: () => nowMs, newId: runtime.newId, publicUrl: runtime.publicUrl });

const rowsOf = async <Row extends object>(
  { database }: TestRuntime,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> => (await database.pool.query<Row>(text, values)).rows;

for (const backMs of [7000, 300_000, 86_400_000]) {
  test(`with the clock set ${backMs / 1000} s back, results of repeated moments are stored and decide`, async (t) => {
    const { runtime, realMs, serviceMs, settle } = await serviceAhead(t, backMs);
    const agent = await runtime.addAgent('local');
    const monitor = await runtime.addMonitor([agent]);
    const at = (ms: number, verdict: 'up' | 'down') => resultOf(monitor, agent, { dueAtMs: ms, verdict });
    await evaluatorAt(
      runtime,
      serviceMs,
    )([at(realMs - 60_000, 'up'), at(serviceMs - 5000, 'down'), at(serviceMs - 2000, 'down')]);
    t.deepEqual(await rowsOf(runtime, 'SELECT state FROM monitors'), [{ state: 'down' }]);

    t.like(await settle(), { byMs: -backMs });
    const laterMs = realMs + 60_000;
    t.deepEqual(await rowsOf(runtime, 'SELECT 1 FROM check_results WHERE due_at > $1', [laterMs]), []);
    t.deepEqual(
      await rowsOf(
        runtime,
        'SELECT 1 FROM transitions WHERE detected_at > $1 UNION ALL SELECT 1 FROM incidents WHERE detected_at > ' +
          '$1 UNION ALL SELECT 1 FROM monitors WHERE state_since > $1',
        [laterMs],
      ),
      [],
    );
    const outcome = await evaluatorAt(runtime, laterMs)([at(laterMs - 1000, 'up')]);
    t.is(outcome.stored, 1);
    t.deepEqual(
      outcome.transitions.map(({ change }) => [change.from, change.to]),
      [['down', 'up']],
    );
    const [incident] = await rowsOf<{ started_at: number; detected_at: number; resolved_at: number }>(
      runtime,
      'SELECT started_at, detected_at, resolved_at FROM incidents',
    );
    t.true(
      incident !== undefined &&
        incident.started_at <= incident.detected_at &&
        incident.detected_at <= incident.resolved_at,
      JSON.stringify(incident),
    );
  });
}

test('with the clock set back, a pinged heartbeat is not missed, and a silent one is missed on time', async (t) => {
  const { runtime, realMs, serviceMs, settle } = await serviceAhead(t, 300_000);
  const { database } = runtime;
  await recordPingAvailability(database, () => serviceMs);
  const [pinged, silent] = [await addHeartbeat(runtime, serviceMs), await addHeartbeat(runtime, serviceMs)];
  for (const { token } of [pinged, silent]) await takePings(database, [{ token, ping: SUCCESS }], serviceMs);
  await settle();
  // Interval and grace add up to ninety seconds, counted from now at the latest.
  const ends = Date.now() + 100_000;
  for (let nowMs = realMs + 1000; nowMs < ends; nowMs += 2000) {
    t.like(await takePings(database, [{ token: pinged.token, ping: SUCCESS }], nowMs), [{ outcome: 'taken' }]);
    await recordPingAvailability(database, () => nowMs);
    if (nowMs < realMs + 80_000) t.is(await takeMissed(runOn(database.pool), 10), 0);
  }
  await recordPingAvailability(database, () => ends + 1000);
  t.is(await takeMissed(runOn(database.pool), 10), 1);
});

test('with the clock set back, a heartbeat with a schedule waits for its next run by the current time', async (t) => {
  const { runtime, realMs, serviceMs, settle } = await serviceAhead(t, 3 * 86_400_000);
  // The next run is half a day away, so that none comes while the test runs.
  const nextMs = Math.floor(realMs / HOUR_MS) * HOUR_MS + 12 * HOUR_MS;
  const cron = `0 ${new Date(nextMs).getUTCHours()} * * *`;
  const schedule = { cron, timezone: 'UTC', early_seconds: 0 };
  const { token } = await addHeartbeat(runtime, serviceMs, { heartbeat: { schedule }, heartbeatGraceSeconds: 60 });
  await takePings(runtime.database, [{ token, ping: SUCCESS }], serviceMs);
  await settle();
  t.deepEqual(await rowsOf(runtime, 'SELECT due_at FROM heartbeats'), [{ due_at: nextMs + 60_000 }]);
});

test('with the clock set back, heartbeat pings that were received before are still decided', async (t) => {
  const { runtime, realMs, serviceMs, settle } = await serviceAhead(t, 300_000);
  const { database } = runtime;
  const { monitor, token } = await addHeartbeat(runtime, serviceMs, { heartbeat: { failEnabled: true } });
  const round = (nowMs: number) =>
    watchHeartbeats({
      database,
      metrics: runtime.metrics,
      now: () => nowMs,
      evaluate: evaluatorAt(runtime, nowMs),
      announce: () => undefined,
    });
  await recordPingAvailability(database, () => serviceMs);
  await takePings(database, [{ token, ping: SUCCESS }], serviceMs);
  await round(serviceMs);
  await takePings(database, [{ token, ping: FAIL }], serviceMs + 500);
  await settle();
  await round(realMs + 10_000);
  t.deepEqual(await rowsOf(runtime, 'SELECT state FROM monitors WHERE no = $1', [monitor.no]), [{ state: 'down' }]);
  t.like(await takePings(database, [{ token, ping: SUCCESS }], realMs + 20_000), [{ outcome: 'taken' }]);
  await round(realMs + 20_000);
  t.deepEqual(await rowsOf(runtime, 'SELECT state FROM monitors WHERE no = $1', [monitor.no]), [{ state: 'up' }]);
});

test('with the clock set back, empty columns stay empty, and planned times move by the same amount', async (t) => {
  const { runtime, realMs, serviceMs, settle } = await serviceAhead(t, 300_000);
  const agent = await runtime.addAgent('local');
  await rowsOf(runtime, 'UPDATE agents SET last_seen_at = $1', [Math.floor(serviceMs / 1000)]);
  const monitor = await runtime.addMonitor([agent]);
  await evaluatorAt(
    runtime,
    serviceMs,
  )([
    resultOf(monitor, agent, { dueAtMs: serviceMs - 1000, verdict: 'down' }),
    resultOf(monitor, agent, { dueAtMs: serviceMs - 500, verdict: 'down' }),
  ]);
  await rowsOf(runtime, `INSERT INTO registry_turns (server, held_until, free_at) VALUES ('whois.example', $1, $1)`, [
    serviceMs + 1000,
  ]);
  await settle();
  t.deepEqual(
    await rowsOf(runtime, 'SELECT offline_at, behind_at, held_until FROM agents'),
    await rowsOf(runtime, 'SELECT NULL AS offline_at, NULL AS behind_at, NULL AS held_until FROM agents'),
  );
  t.deepEqual(await rowsOf(runtime, 'SELECT resolved_at, acknowledged_at FROM incidents'), [
    { resolved_at: null, acknowledged_at: null },
  ]);
  t.deepEqual(await rowsOf(runtime, 'SELECT held_until FROM registry_turns'), [{ held_until: realMs + 1000 }]);
});

test('with the clock set back, future rows are dated now, and reports of future periods are deleted', async (t) => {
  const { runtime, realMs, serviceMs, settle } = await serviceAhead(t, 8 * 86_400_000);
  const { tenantId } = runtime;
  const agent = await runtime.addAgent('local');
  await runtime.addMonitor([agent]);
  const [realAt, serviceAt] = [realMs, serviceMs].map((ms) => Math.floor(ms / 1000));
  await rowsOf(runtime, 'UPDATE monitors SET created_at = $1', [serviceAt]);
  await rowsOf(
    runtime,
    `INSERT INTO zone_reports (tenant_id, timezone, period, period_start, period_end, created_at)
     VALUES ($1, 'Europe/Berlin', 'week', $2::bigint - 604800, $2, $3),
       ($1, 'Europe/Berlin', 'week', $3, $3 + 604800, $3)`,
    [tenantId, realAt, (realAt ?? 0) + 86_400],
  );
  await settle();
  // The step took a few seconds at most.
  t.deepEqual(await rowsOf(runtime, 'SELECT created_at < $1::bigint + 3600 AS now FROM monitors', [realAt]), [
    { now: true },
  ]);
  t.deepEqual(await rowsOf(runtime, 'SELECT period_end FROM zone_reports'), [{ period_end: realAt }]);
});

test('with the clock set back, an alert group closes on time, and a parent hold starts by now', async (t) => {
  const { runtime, realMs, serviceMs, settle } = await serviceAhead(t, 300_000);
  const delivery = { id: 'dlv_1', tenantId: runtime.tenantId, monitorId: null, createdAtMs: serviceMs };
  const channelId = runtime.newId('nch');
  await createChannel(runtime.database, {
    id: channelId,
    tenantId: runtime.tenantId,
    type: 'telegram',
    name: 'On call',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    nowMs: serviceMs,
    author: null,
  });
  const message = openSummary({ openedAtMs: serviceMs, publicUrl: runtime.publicUrl });
  await insertDeliveries(runOn(runtime.database.pool), [{ ...delivery, channelId, message }]);
  const group = { id: 'dlv_1', channelId, key: 'down timeout', openedAtMs: serviceMs, newestId: 'dlv_1' };
  const open = { newestDueAtMs: serviceMs, openUntilMs: serviceMs + 10_000, deliveryIds: ['dlv_1'] };
  await upsertGroups(runOn(runtime.database.pool), [{ ...group, ...open }]);
  const hold = { deliveryId: 'dlv_1', monitorId: 'mon_1', sequence: 1, parentId: 'mon_2', sinceMs: serviceMs };
  await insertParentHolds(runOn(runtime.database.pool), [hold]);
  await settle();
  t.deepEqual(await rowsOf(runtime, 'SELECT opened_at, newest_due_at, open_until FROM alert_groups'), [
    { opened_at: realMs, newest_due_at: realMs, open_until: realMs + 10_000 },
  ]);
  t.deepEqual(await rowsOf(runtime, 'SELECT 1 FROM parent_holds WHERE since > $1', [realMs + 60_000]), []);
});

test('with the clock set forward, the skipped time is one clock gap, and nothing is deleted for a day', async (t) => {
  const { runtime, realMs, serviceMs, settle } = await serviceAhead(t, -366 * 24 * HOUR_MS);
  await sweep({ ...runtime, now: () => serviceMs });
  await rowsOf(runtime, `INSERT INTO domains (name, next_look_at) VALUES ('old.example', $1)`, [serviceMs]);
  t.deepEqual(
    await retainHistory({ ...runtime, now: () => serviceMs }),
    { held: true },
    'not before the time is settled',
  );
  t.like(await settle(), { byMs: 366 * 24 * HOUR_MS });
  await sweep({ ...runtime, now: () => realMs + 5000 });
  const gaps = await rowsOf<{ kind: string; ms: number }>(
    runtime,
    'SELECT kind, ended_at - started_at AS ms FROM service_gaps',
  );
  t.deepEqual(
    gaps.map(({ kind, ms }) => [kind, Math.round(ms / HOUR_MS)]),
    [['clock', 366 * 24]],
  );
  t.deepEqual(await retainHistory({ ...runtime, now: () => realMs + 23 * HOUR_MS }), { held: true });
  t.like(await retainHistory({ ...runtime, now: () => realMs + 25 * HOUR_MS }), { domains: 1 });
});

test('of processes that notice a clock step only one corrects the time, and only one settles it', async (t) => {
  const { database, now } = await openTestRuntime(t);
  const reading = await readTime(database);
  const corrected = await Promise.all([1, 2, 3].map(() => correctTime(database, { reading, correctionMs: 300_000 })));
  t.is(corrected.filter(Boolean).length, 1);
  const observed = await readTime(database);
  t.is(observed.correctionMs, 300_000);
  t.true(await isTimeUncertain(database, { nowMs: now(), jumpWindowMs: 0 }));
  const settled = await Promise.all([1, 2, 3].map(() => settleTime(database, observed)));
  t.deepEqual(
    settled.filter((one) => one !== null),
    [{ byMs: -300_000 }],
  );
  t.is((await readTime(database)).correctionMs, 0);
  t.false(await isTimeUncertain(database, { nowMs: now(), jumpWindowMs: 0 }));
});

test('a clock that was set back while no process ran is detected from the marks, once', async (t) => {
  const runtime = await openTestRuntime(t);
  const reading = await readTime(runtime.database);
  await recordAgreement(runtime.database, { ...reading, databaseMs: reading.databaseMs + HOUR_MS });
  const found = await readTime(runtime.database);
  const settings = await Promise.all([1, 2].map(() => settleAfterRest(runtime.database, found)));
  const byMs = settings.filter((one) => one !== null).map((one) => one.byMs);
  t.is(byMs.length, 1);
  t.true(Math.abs((byMs[0] ?? 0) + HOUR_MS) < 60_000, `${byMs[0]}`);
});
