import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { ChannelRule } from '../../../core/alerts/rules.ts';
import type { WebhookFormat } from '../../../core/alerts/webhook.ts';
import type { Verdict } from '../../../core/checks/verdict.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { findDrill, listDrills, startDrill } from '../../../models/alerts/drills.ts';
import { findNextMonthly } from '../../../models/alerts/monthly-drills.ts';
import { muteMonitor } from '../../../models/alerts/mutes.ts';
import { countAlerts } from '../../../models/monitors/monitor-overview.ts';
import { inTransaction } from '../../../models/sql.ts';
import { generateSigningSecret } from '../../../notifications/webhook/signature.ts';
import { evaluateDrills, mendDrills } from '../../../workers/alerts/drills.ts';
import { beginMonthlyDrills } from '../../../workers/alerts/monthly-drills.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { announce } from '../../../workers/incidents/record-changes.ts';
import { startCheck } from '../../../workers/processes/check.ts';
import { startDeliver } from '../../../workers/processes/deliver.ts';
import { startEvaluate } from '../../../workers/processes/evaluate.ts';
import { TestAuthority } from '../../helpers/certificates.ts';
import { listQueueBackends, type QueueBackend } from '../../helpers/queue-backend.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';
import { startReceiver, type Receiver } from '../../helpers/webhook-receiver.ts';

const DELIVER = {
  allowPrivateNetwork: true,
  webhookTimeoutSeconds: 60,
  deliveryRetrySeconds: [600],
  telegram: { botToken: null, botName: null, apiUrl: 'https://api.telegram.org' },
  slack: { apiUrl: 'https://slack.com/api' },
  mail: null,
};

let authority: TestAuthority;

test.before(async () => {
  authority = await TestAuthority.create();
  authority.trust();
});

type Started = Awaited<ReturnType<typeof prepare>>;

/** Sets up a monitor that is up from one location, and functions that run drills of it. */
async function prepare(t: ExecutionContext, backend?: QueueBackend) {
  const runtime = await openTestRuntime(t, backend);
  const { database, tenantId, newId } = runtime;
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent], { name: 'Shop', downAfterFailures: 1 });
  await database.pool.query('UPDATE monitor_sources SET look_at = NULL');
  let lastMs = runtime.now() - 60_000;
  /** Evaluates and announces the result of a real check, like its process. */
  const change = async (verdict: Verdict) => {
    lastMs += 1000;
    await announce(runtime, await createEvaluator(runtime)([resultOf(monitor, agent, { dueAtMs: lastMs, verdict })]));
  };
  await change('up');
  const addWebhook = async (url: string, more: { rules?: ChannelRule[]; format?: WebhookFormat } = {}) => {
    const id = newId('nch');
    await createChannel(database, {
      id,
      tenantId,
      type: 'webhook',
      name: 'Pager',
      status: 'connected',
      allMonitors: true,
      monitorIds: [],
      webhook: { url, signingSecret: generateSigningSecret(randomBytes), ...(more.format && { format: more.format }) },
      ...(more.rules && { rules: more.rules }),
      nowMs: 0,
      author: null,
    });
    return id;
  };
  const tryToBegin = async () =>
    await startDrill(database, {
      id: newId('drl'),
      incidentId: newId('inc'),
      tenantId,
      monitorId: monitor.id,
      isMonthly: false,
      requestKey: null,
      nowMs: runtime.now(),
      author: null,
    });
  const begin = async () => {
    const started = await tryToBegin();
    if (!('drill' in started)) throw new Error(JSON.stringify(started));
    return started.drill;
  };
  /** Starts a drill like the API. */
  const drill = async () => {
    const begun = await begin();
    const answers = begun.monitor.sources.map(({ agentNo }) => ({
      drillId: begun.id,
      agentNo,
      verdict: 'down' as const,
    }));
    await runtime.queues.enqueueDrill(answers, await runtime.listRegions());
    return begun;
  };
  const read = async (id: string) => {
    const found = await findDrill(database, { tenantId, id });
    if (found === null) throw new Error(`There is no drill ${id}`);
    return found;
  };
  return { runtime, agent, monitor, change, addWebhook, tryToBegin, begin, drill, read };
}

async function startAll(t: ExecutionContext, runtime: TestRuntime): Promise<void> {
  const processes = [
    await startCheck(runtime, { region: 'local', version: '0.1.0', allowPrivateNetwork: true }),
    await startEvaluate(runtime),
    startDeliver(runtime, DELIVER),
  ];
  t.teardown(async () => {
    for (const process of processes) await process.stop();
  });
}

/** Makes the drill's end due: runs its job now, and updates its row. */
async function hasten({ runtime }: Started, id: string): Promise<void> {
  await runtime.database.pool.query('UPDATE drills SET ends_at = $2 WHERE id = $1', [id, runtime.now()]);
  for (const job of await runtime.queues.checkQueue('local').getDelayed())
    if (job.name === 'drill') await job.promote();
}

async function moveBack({ database }: TestRuntime, id: string, ms: number): Promise<void> {
  await database.pool.query('UPDATE drills SET started_at = started_at - $2, ends_at = ends_at - $2 WHERE id = $1', [
    id,
    ms,
  ]);
}

const eventsOf = ({ received }: Receiver) => received.map(({ event }) => event);

/** Returns all values that a drill must not change. */
async function countsOf({ runtime: { database, tenantId, now }, monitor }: Started) {
  const { rows } = await database.pool.query<Record<string, unknown>>(
    `SELECT m.state, m.state_since, m.sequence, m.updated_at, (SELECT count(*)::int FROM incidents) AS incidents,
       (SELECT count(*)::int FROM transitions) AS transitions,
       (SELECT count(*)::int FROM check_results) + (SELECT count(*)::int FROM recent_results) AS results,
       (SELECT count(*)::int FROM incident_evidence) AS evidence,
       (SELECT json_agg(s.state) FROM monitor_sources s) AS sources
     FROM monitors m WHERE m.id = $1`,
    [monitor.id],
  );
  return { ...rows[0], alerts: await countAlerts(database, { tenantId, sinceMs: now() - 3_600_000 }) };
}

for (const backend of listQueueBackends()) {
  test(`${backend.name}: a drill reaches receivers like an outage, ends by itself, and counts nowhere`, async (t) => {
    const started = await prepare(t, backend);
    const { runtime, monitor, addWebhook, drill, read } = started;
    const receiver = await startReceiver(t, authority);
    const channelId = await addWebhook(receiver.url);
    const before = await countsOf(started);
    await startAll(t, runtime);
    const { id, incidentId } = await drill();
    await until(() => receiver.received.length === 1);
    await until(async () => (await read(id)).deliveries[0]?.deliveredAtMs);
    const alerted = await read(id);
    t.is(alerted.status, 'alerted');
    t.is((alerted.endsAtMs ?? 0) - (alerted.alertedAtMs ?? 0), 30_000);
    const down = receiver.received[0]?.json as Record<string, Record<string, unknown>> | undefined;
    t.deepEqual(down?.['drill'], { id, ends_at: Math.floor((alerted.endsAtMs ?? 0) / 1000) });
    t.is(down?.['monitor']?.['id'], monitor.id);
    t.is(down?.['detail']?.['incident_id'], incidentId);
    t.regex(String(down?.['reason']), /^This is a drill/);
    t.deepEqual(await countsOf(started), before);

    await until(async () =>
      (await runtime.queues.checkQueue('local').getDelayed()).some(({ name }) => name === 'drill'),
    );
    await hasten(started, id);
    await until(() => receiver.received.length === 2);
    await until(async () => (await read(id)).deliveries[1]?.deliveredAtMs);
    const ended = await read(id);
    t.is(ended.status, 'ended');
    t.deepEqual(eventsOf(receiver), ['monitor.down', 'monitor.up']);
    t.regex(String(receiver.received[1]?.json['reason']), /^The drill has ended/);
    t.deepEqual(await countsOf(started), before);
    const [first] = ended.deliveries;
    const moments = [
      ended.startedAtMs,
      ended.answers[0]?.atMs,
      ended.alertedAtMs,
      first?.writtenAtMs,
      first?.begunAtMs,
      first?.deliveredAtMs,
    ].map((atMs) => atMs ?? Number.NaN);
    t.deepEqual(
      moments,
      moments.toSorted((a, b) => a - b),
    );
    t.is(first?.channelId, channelId);
    t.deepEqual(
      runtime.logLines.filter(({ level }) => level === 'error'),
      [],
    );
  });
}

test('of two concurrent drills the second is refused with the id of the first', async (t) => {
  const { runtime, monitor, addWebhook, tryToBegin } = await prepare(t);
  const { database } = runtime;
  await addWebhook('https://hooks.example/');
  const isWaiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  const starting = await inTransaction(database, async (run) => {
    await run('SELECT FROM monitors WHERE id = $1 FOR NO KEY UPDATE', [monitor.id]);
    const both = [tryToBegin(), tryToBegin()];
    await until(async () => (await database.pool.query(isWaiting)).rowCount === 2);
    return both;
  });
  const started = await Promise.all(starting);
  const begun = started.flatMap((one) => ('drill' in one ? [one.drill.id] : []));
  t.is(begun.length, 1);
  t.deepEqual(
    started.flatMap((one) => ('refusal' in one ? [one.refusal] : [])),
    [{ running: begun[0] }],
  );
});

test('a real outage during a drill is alerted at once, stays open, and is not resolved by the drill', async (t) => {
  const started = await prepare(t);
  const { runtime, change, addWebhook, drill, read } = started;
  const [plain, pager] = [await startReceiver(t, authority), await startReceiver(t, authority)];
  await addWebhook(plain.url);
  await addWebhook(`${pager.url}?routing_key=key`, { format: { preset: 'pagerduty' } });
  await startAll(t, runtime);
  const { id, incidentId } = await drill();
  await until(() => plain.received.length === 1 && pager.received.length === 1);
  await change('down');
  await until(() => plain.received.length === 2 && pager.received.length === 2);
  t.false('drill' in (plain.received[1]?.json ?? {}));
  await hasten(started, id);
  await until(async () => (await read(id)).status === 'ended');
  await until(() => pager.received.length === 3);
  t.deepEqual(
    pager.received.map(({ json }) => [json['event_action'], String(json['dedup_key']).endsWith(incidentId)]),
    [
      ['trigger', true],
      ['trigger', false],
      ['resolve', true],
    ],
  );
  t.deepEqual(
    (await read(id)).skipped.map(({ event, reason }) => [event, reason]),
    [['monitor.up', 'outage']],
  );
  const { rows } = await runtime.database.pool.query('SELECT m.state, i.resolved_at FROM monitors m, incidents i');
  t.deepEqual(rows, [{ state: 'down', resolved_at: null }]);
  await change('up');
  await until(() => plain.received.length === 3);
  t.deepEqual(eventsOf(plain), ['monitor.down', 'monitor.down', 'monitor.up']);
  t.false('drill' in (plain.received[2]?.json ?? {}));
});

test('a drill that ends while an outage is being written skips webhooks that go by the last event', async (t) => {
  const { runtime, agent, change, addWebhook, begin, read } = await prepare(t);
  const { database, now } = runtime;
  await addWebhook('https://hooks.example/');
  const { id } = await begin();
  const answer = (verdict: 'down' | 'up') =>
    evaluateDrills(runtime, [{ drillId: id, agentNo: agent.no, verdict, finishedAtMs: now() }]);
  await answer('down');
  t.is((await read(id)).status, 'alerted');
  const isWaiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  const countWaiting = async () => (await database.pool.query(isWaiting)).rowCount;
  const both = await inTransaction(database, async (run) => {
    // The evaluator has locked the monitor when it writes the incident.
    await run('LOCK TABLE incidents IN SHARE MODE');
    const outage = change('down');
    await until(async () => (await countWaiting()) === 1);
    const end = answer('up');
    await until(async () => (await countWaiting()) === 2 || (await read(id)).status === 'ended');
    return [outage, end];
  });
  await Promise.all(both);
  const { status, skipped, deliveries } = await read(id);
  t.is(status, 'ended');
  t.deepEqual(
    skipped.map(({ event, reason }) => [event, reason]),
    [['monitor.up', 'outage']],
  );
  t.deepEqual(
    deliveries.map(({ event }) => event),
    ['monitor.down'],
  );
});

test('a drill whose jobs were lost continues, and one that no location answers fails after a minute', async (t) => {
  const started = await prepare(t);
  const { runtime, addWebhook, begin, read } = started;
  const receiver = await startReceiver(t, authority);
  await addWebhook(receiver.url);
  const { id, startedAtMs } = await begin();
  t.deepEqual(await mendDrills({ ...runtime, now: () => startedAtMs }), { late: 0, ended: 0 });
  await moveBack(runtime, id, 6000);
  t.deepEqual(await mendDrills(runtime), { late: 1, ended: 0 });
  await startAll(t, runtime);
  await until(() => receiver.received.length === 1);
  await until(async () => (await runtime.queues.checkQueue('local').getDelayed()).length > 0);
  // The job that ends the drill is lost with the queue.
  for (const job of await runtime.queues.checkQueue('local').getDelayed()) await job.remove();
  await moveBack(runtime, id, 36_000);
  t.deepEqual(await mendDrills(runtime), { late: 1, ended: 0 });
  await until(() => receiver.received.length === 2);
  t.is((await read(id)).status, 'ended');
  t.deepEqual(await mendDrills(runtime), { late: 0, ended: 0 });

  const silent = await begin();
  await moveBack(runtime, silent.id, 61_000);
  t.deepEqual(await mendDrills(runtime), { late: 1, ended: 1 });
  t.is((await read(silent.id)).status, 'failed');
  t.deepEqual((await read(silent.id)).deliveries, []);
  t.is((await begin()).status, 'failing', 'another drill may start');
});

test('a drill ends even without a check process and after its monitor was deleted', async (t) => {
  const started = await prepare(t);
  const { runtime, monitor, addWebhook, drill, read } = started;
  const receiver = await startReceiver(t, authority);
  await addWebhook(receiver.url);
  const check = await startCheck(runtime, { region: 'local', version: '0.1.0', allowPrivateNetwork: true });
  const evaluate = await startEvaluate(runtime);
  const deliver = startDeliver(runtime, DELIVER);
  t.teardown(() => deliver.stop());
  const { id } = await drill();
  await until(() => receiver.received.length === 1);
  await check.stop();
  await evaluate.stop();
  await runtime.database.pool.query('DELETE FROM monitors WHERE id = $1', [monitor.id]);
  await moveBack(runtime, id, 61_000);
  t.deepEqual(await mendDrills(runtime), { late: 1, ended: 1 });
  await until(() => receiver.received.length === 2);
  t.is((await read(id)).status, 'ended');
  t.regex(String(receiver.received[1]?.json['reason']), /The monitor was deleted meanwhile$/);
});

test('a drill skips channels silenced by quiet hours, rules or a mute, and ignores delays', async (t) => {
  const started = await prepare(t);
  const { runtime, monitor, addWebhook, drill, read } = started;
  const receiver = await startReceiver(t, authority);
  const always = { timezone: 'UTC', hours: 'Mo-Su 00:00-24:00', mode: 'defer' as const };
  const quiet = await addWebhook(receiver.url, { rules: [{ quiet: always }] });
  const other = await addWebhook(receiver.url, { rules: [{ tags: ['other'] }] });
  const late = await addWebhook(receiver.url, { rules: [{ after_seconds: 900, unless_acknowledged: true }] });
  const following = await addWebhook(receiver.url);
  await runtime.database.pool.query('UPDATE channels SET follows_maintenance = true WHERE id = $1', [following]);
  const untilMs = runtime.now() + 3_600_000;
  await muteMonitor(
    runtime.database,
    { tenantId: runtime.tenantId, id: monitor.id, author: null },
    { untilMs, nowMs: runtime.now() },
  );
  await startAll(t, runtime);
  const { id } = await drill();
  await until(async () => (await read(id)).deliveries[0]?.deliveredAtMs);
  const { deliveries, skipped } = await read(id);
  t.deepEqual(
    deliveries.map(({ channelId }) => channelId),
    [late],
  );
  t.deepEqual(
    new Map(skipped.map(({ channelId, reason }) => [channelId, reason])),
    new Map([
      [quiet, 'quiet_hours'],
      [other, 'rules'],
      [following, 'mute'],
    ]),
  );
});

test('an undelivered start message of a drill is not retried after the drill has ended', async (t) => {
  const started = await prepare(t);
  const { runtime, addWebhook, drill, read } = started;
  const receiver = await startReceiver(t, authority);
  receiver.answer.status = 503;
  await addWebhook(`${receiver.url}?routing_key=key`, { format: { preset: 'pagerduty' } });
  await startAll(t, runtime);
  const { id } = await drill();
  await until(async () => (await read(id)).deliveries[0]?.lastError);
  t.is((await read(id)).deliveries[0]?.outcome, 'pending', 'it is retried until the drill ends');
  receiver.answer.status = 202;
  await hasten(started, id);
  await until(() => receiver.received.length === 2);
  await runtime.database.pool.query(`UPDATE deliveries SET next_attempt_at = $1 WHERE outcome = 'pending'`, [
    runtime.now(),
  ]);
  await runtime.queues.enqueueAttempts(
    (await read(id)).deliveries.map((delivery) => ({
      deliveryId: delivery.id,
      channelId: delivery.channelId,
      attempt: 9,
      dueAtMs: runtime.now(),
    })),
  );
  await until(async () => (await read(id)).deliveries.every(({ outcome }) => outcome !== 'pending'));
  t.deepEqual(
    (await read(id)).deliveries.map(({ outcome }) => outcome),
    ['superseded', 'delivered'],
  );
  t.is(receiver.received.length, 2);
});

test('a monthly drill starts a month after it was enabled, once per month, and no sooner', async (t) => {
  const started = await prepare(t);
  const { runtime, monitor, addWebhook } = started;
  const { database, tenantId } = runtime;
  await addWebhook('https://127.0.0.1:9/');
  const set = (isMonthly: boolean) =>
    database.pool.query('UPDATE monitors SET monthly_drill = $2 WHERE id = $1', [monitor.id, isMonthly]);
  const startMs = Date.parse('2031-01-31T10:00:00Z');
  const round = (atMs: number) => beginMonthlyDrills({ ...runtime, now: () => atMs });
  const drills = async () => await listDrills(database, { tenantId, monitorId: monitor.id, limit: 20 });
  const next = async () => await findNextMonthly(database, { tenantId, monitorId: monitor.id });
  t.deepEqual(await round(startMs), { planned: 0, begun: 0 });
  await set(true);
  t.deepEqual(await round(startMs), { planned: 1, begun: 0 });
  t.is(await next(), Date.parse('2031-02-28T10:00:00Z'));
  t.deepEqual(await round(startMs + 28 * 86_400_000 - 1), { planned: 0, begun: 0 });
  const dueMs = startMs + 28 * 86_400_000;
  const rounds = await Promise.all([round(dueMs), round(dueMs)]);
  t.is(rounds[0].begun + rounds[1].begun, 1);
  t.deepEqual(
    (await drills()).map(({ isMonthly, status, startedAtMs }) => [isMonthly, status, startedAtMs]),
    [[true, 'failing', dueMs]],
  );
  t.is(await next(), Date.parse('2031-03-31T10:00:00Z'));
  const { rows } = await database.pool.query('SELECT actor_name, action FROM audit_log WHERE tenant_id = $1', [
    tenantId,
  ]);
  t.deepEqual(rows, [{ actor_name: 'Spotcheck', action: 'monitor.drilled' }]);
  await set(false);
  await round(dueMs);
  t.is(await next(), null);
  t.deepEqual((await database.pool.query('SELECT * FROM monthly_drills')).rows, []);
});

test('a monthly drill that a crash prevented starts an hour later, not a month later', async (t) => {
  const { runtime, monitor, addWebhook } = await prepare(t);
  const { database, tenantId } = runtime;
  await addWebhook('https://127.0.0.1:9/');
  await database.pool.query('UPDATE monitors SET monthly_drill = true');
  const startMs = Date.parse('2031-01-31T10:00:00Z');
  await beginMonthlyDrills({ ...runtime, now: () => startMs });
  const dueMs = startMs + 28 * 86_400_000;
  const newId = () => {
    throw new Error('killed');
  };
  await t.throwsAsync(beginMonthlyDrills({ ...runtime, newId, now: () => dueMs }), { message: 'killed' });
  t.is(await findNextMonthly(database, { tenantId, monitorId: monitor.id }), dueMs + 3_600_000);
  t.like(await beginMonthlyDrills({ ...runtime, now: () => dueMs + 3_600_000 }), { begun: 1 });
  t.is(await findNextMonthly(database, { tenantId, monitorId: monitor.id }), Date.parse('2031-03-31T10:00:00Z'));
});

test('a monthly drill and the date of the next one are committed together', async (t) => {
  const { runtime, monitor, addWebhook } = await prepare(t);
  const { database, tenantId } = runtime;
  await addWebhook('https://127.0.0.1:9/');
  await database.pool.query('UPDATE monitors SET monthly_drill = true');
  const startMs = Date.parse('2031-01-31T10:00:00Z');
  await beginMonthlyDrills({ ...runtime, now: () => startMs });
  const dueMs = startMs + 28 * 86_400_000;
  // Statements in the drill's transaction after the one that starts it see the next month.
  await database.pool.query(
    `CREATE FUNCTION fail_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF (SELECT next_at FROM monthly_drills) < ${dueMs + 2 * 3_600_000} THEN RAISE 'killed'; END IF;
       RETURN NULL; END $$`,
  );
  await database.pool.query(
    `CREATE CONSTRAINT TRIGGER late AFTER INSERT ON drills DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
     EXECUTE FUNCTION fail_late()`,
  );
  t.like(await beginMonthlyDrills({ ...runtime, now: () => dueMs }), { begun: 1 });
  t.is(await findNextMonthly(database, { tenantId, monitorId: monitor.id }), Date.parse('2031-03-31T10:00:00Z'));
});

test('a monthly drill waits for an outage to end, skips a pause, and obeys the daily limit', async (t) => {
  const started = await prepare(t);
  const { runtime, monitor, change, addWebhook } = started;
  const { database, tenantId } = runtime;
  await addWebhook('https://127.0.0.1:9/');
  await database.pool.query('UPDATE monitors SET monthly_drill = true');
  const startMs = Date.parse('2031-01-15T10:00:00Z');
  const round = (atMs: number) => beginMonthlyDrills({ ...runtime, now: () => atMs });
  const next = async () => await findNextMonthly(database, { tenantId, monitorId: monitor.id });
  await round(startMs);
  const [february, march] = [Date.parse('2031-02-15T10:00:00Z'), Date.parse('2031-03-15T10:00:00Z')];
  await change('down');
  t.is((await round(february)).begun, 0);
  t.is(await next(), february + 3_600_000);
  await change('up');
  await database.pool.query('UPDATE monitors SET enabled = false');
  t.is((await round(february + 3_600_000)).begun, 0);
  t.is(await next(), march);
  await database.pool.query('UPDATE monitors SET enabled = true');
  await database.pool.query(
    `INSERT INTO drills (id, tenant_id, monitor_id, monitor, incident_id, is_monthly, started_at, ended_at)
     SELECT 'drl_' || n, $1, 'mon_gone', '{}', 'inc_' || n, true, $2, $2 FROM generate_series(1, 50) n`,
    [tenantId, march - 3_600_000],
  );
  t.is((await round(march)).begun, 0);
  t.is(await next(), march, 'it is still due');
  t.is((await round(march + 23 * 3_600_000)).begun, 1);
});
