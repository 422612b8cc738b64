import test, { type ExecutionContext } from 'ava';
import type { ChannelType } from '../../../core/alerts/channel.ts';
import { isChatOnly } from '../../../core/alerts/envelope.ts';
import type { ReportMessage } from '../../../core/statistics/reports/message.ts';
import { dateOf } from '../../../core/statistics/reports/periods.ts';
import { createTenant } from '../../../models/accounts/tenants.ts';
import { createChannel, updateChannel } from '../../../models/alerts/channels.ts';
import { insertTransitions } from '../../../models/incidents/history.ts';
import { deleteMonitor } from '../../../models/monitors/monitor-changes.ts';
import { listReports } from '../../../models/statistics/reports.ts';
import { makeReport, makeReports } from '../../../workers/statistics/reports.ts';
import { sweep } from '../../../workers/system/sweep.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

const DAY_MS = 86_400_000;
/** A Monday that is also the first of a month. */
const MONDAY_MS = Date.UTC(2026, 5, 1);

type Office = {
  runtime: TestRuntime;
  make: (nowMs: number, signal?: AbortSignal) => Promise<number>;
  made: (tenantId?: string) => Promise<string[]>;
  rolledUntil: (ms: number) => Promise<void>;
};

/** Records a sweep of the service itself, for which reports wait. */
async function recordSweep({ database }: TestRuntime, atMs: number): Promise<void> {
  await database.pool.query(
    `INSERT INTO service_marks (name, at, resumed_at) VALUES ('sweep', $1, $1)
     ON CONFLICT (name) DO UPDATE SET at = $1`,
    [atMs],
  );
}

/**
 * Sets up a tenant that is `days` old on June 1, 2026, with a monitor that has been up since then. All its checks are
 * rolled up.
 */
async function openOffice(t: ExecutionContext, { days = 400, monitors = 1 } = {}): Promise<Office> {
  const runtime = await openTestRuntime(t);
  const { pool } = runtime.database;
  const createdAt = MONDAY_MS / 1000 - days * 86_400;
  await pool.query('UPDATE tenants SET created_at = $1', [createdAt]);
  for (let index = 0; index < monitors; index += 1)
    await runtime.addMonitor([], { name: `Shop ${index}`, slaTarget: 99.9 });
  await pool.query('UPDATE monitors SET created_at = $1', [createdAt]);
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM monitors');
  await insertTransitions(
    async (sql, bind = []) => (await pool.query(sql, [...bind])).rows,
    rows.map(({ id }) => ({
      monitorId: id,
      tenantId: runtime.tenantId,
      sequence: 1,
      from: 'pending' as const,
      to: 'up' as const,
      atMs: createdAt * 1000,
      detectedAtMs: createdAt * 1000,
      cause: null,
      reason: null,
      evidence: {},
    })),
  );
  const rolledUntil = async (ms: number) =>
    void (await pool.query(
      `INSERT INTO service_marks (name, at, resumed_at) VALUES ('rollups', $1, $1) ON CONFLICT (name) DO UPDATE
       SET at = $1`,
      [ms],
    ));
  await rolledUntil(MONDAY_MS + 3_600_000);
  return {
    runtime,
    rolledUntil,
    make: async (nowMs, signal) => {
      await recordSweep(runtime, nowMs);
      return (await makeReports({ ...runtime, now: () => nowMs }, signal && { signal })).reports;
    },
    made: async (tenantId = runtime.tenantId) =>
      (await listReports(runtime.database, { tenantId })).reports.map(
        ({ period, periodStart }) => `${period} ${dateOf(periodStart)}`,
      ),
  };
}

async function addChat(
  runtime: TestRuntime,
  {
    type = 'telegram',
    wantsReports = true,
    status = 'connected',
    reportTimezone = null,
  }: {
    type?: ChannelType;
    wantsReports?: boolean;
    status?: 'connected' | 'pending';
    reportTimezone?: string | null;
  } = {},
): Promise<string> {
  const webhook = { url: 'https://receiver.example/hook', signingSecret: `whsec_${'A'.repeat(44)}` };
  const channel = {
    id: runtime.newId('nch'),
    tenantId: runtime.tenantId,
    type,
    name: 'Chat',
    status,
    allMonitors: true,
    monitorIds: [],
    wantsReports,
    reportTimezone,
    ...(type === 'email' && { address: 'oncall@customer.example' }),
    ...(type === 'webhook' && { webhook }),
    nowMs: 0,
  } as const;
  return (await createChannel(runtime.database, { ...channel, author: null })).id;
}

async function listDeliveriesTo(runtime: TestRuntime): Promise<{ channel_id: string; message: ReportMessage }[]> {
  return (
    await runtime.database.pool.query<{ channel_id: string; message: ReportMessage }>(
      'SELECT channel_id, message FROM deliveries ORDER BY no',
    )
  ).rows;
}

test('weekly and monthly reports are made once, as soon as their period has ended and not before', async (t) => {
  const { make, made } = await openOffice(t, { days: 2 });
  t.is(await make(MONDAY_MS - 1), 0);
  t.is(await make(MONDAY_MS + 40_000), 2);
  t.deepEqual((await made()).toSorted(), ['month 2026-05-01', 'week 2026-05-25']);
  t.is(await make(MONDAY_MS + 340_000), 0);
  t.is(await make(MONDAY_MS + 7 * DAY_MS - 1), 0);
});

test("an account's reports start with the period in which it was created", async (t) => {
  const { make, made } = await openOffice(t, { days: 40 });
  t.is(await make(MONDAY_MS + 40_000), 2 + 6);
  // April 22 was a Wednesday.
  t.deepEqual((await made()).toReversed(), [
    'week 2026-04-20',
    'month 2026-04-01',
    'week 2026-04-27',
    'week 2026-05-04',
    'week 2026-05-11',
    'week 2026-05-18',
    'week 2026-05-25',
    'month 2026-05-01',
  ]);
});

test('after a downtime all missed reports are made, oldest first, up to 13 months and 53 weeks', async (t) => {
  const { runtime, make, made } = await openOffice(t, { days: 800 });
  t.is(await make(MONDAY_MS + 9 * DAY_MS), 13 + 53);
  const order = await runtime.database.pool.query<{ period_end: number }>('SELECT period_end FROM reports ORDER BY id');
  t.deepEqual(
    order.rows,
    order.rows.toSorted((a, b) => a.period_end - b.period_end),
  );
  t.is((await made()).length, 66);
});

test('three concurrent chores in separate processes make and send each report once', async (t) => {
  const { runtime } = await openOffice(t, { days: 60 });
  await addChat(runtime);
  const now = () => MONDAY_MS + 40_000;
  await recordSweep(runtime, now());
  const results = await Promise.all(
    [runtime, runtime.open(), runtime.open()].map((one) => makeReports({ ...one, now })),
  );
  t.is(
    results.reduce((sum, { reports }) => sum + reports, 0),
    2 + 9,
  );
  t.is((await listDeliveriesTo(runtime)).length, 2);
});

test('a chore that lost its lock makes no second report and keeps the first', async (t) => {
  const { runtime, make, made } = await openOffice(t, { days: 2 });
  await make(MONDAY_MS + 40_000);
  const [first] = (await listReports(runtime.database, { tenantId: runtime.tenantId })).reports;
  const window = { period: first!.period, startSeconds: first!.periodStart, endSeconds: first!.periodEnd };
  t.deepEqual(await makeReport(runtime, { tenantId: runtime.tenantId, window, nowMs: MONDAY_MS, isNotified: true }), {
    isMade: false,
    deliveries: [],
  });
  t.is((await made()).length, 2);
  t.is((await listReports(runtime.database, { tenantId: runtime.tenantId })).reports[0]?.id, first?.id);
});

test('a report waits up to six hours for the roll-ups of its period', async (t) => {
  const { make, made, rolledUntil } = await openOffice(t, { days: 10 });
  await rolledUntil(MONDAY_MS - 3_600_000);
  // The previous week is rolled up.
  t.is(await make(MONDAY_MS + 3 * 3_600_000), 1);
  t.deepEqual(await made(), ['week 2026-05-18']);
  t.is(await make(MONDAY_MS + 6 * 3_600_000 - 1), 0);
  t.is(await make(MONDAY_MS + 6 * 3_600_000), 2);
});

test('a report covers existing monitors created before its period ended; without any there is none', async (t) => {
  const { runtime, make, made } = await openOffice(t, { days: 10, monitors: 3 });
  const { pool } = runtime.database;
  const {
    rows: [first, second],
  } = await pool.query<{ id: string }>('SELECT id FROM monitors ORDER BY created_at, id');
  await pool.query('UPDATE monitors SET created_at = $2 WHERE id = $1', [first?.id, MONDAY_MS / 1000]);
  await deleteMonitor(runtime.database, {
    tenantId: runtime.tenantId,
    id: second!.id,
    nowMs: MONDAY_MS,
    author: null,
  });
  const empty = runtime.newId('ten');
  await createTenant(runtime.database, {
    id: empty,
    name: empty,
    plan: 'pro',
    nowMs: MONDAY_MS - 100 * DAY_MS,
    author: null,
  });
  t.is(await make(MONDAY_MS + 40_000), 3);
  t.deepEqual(await made(empty), []);
  for (const { content } of (await listReports(runtime.database, { tenantId: runtime.tenantId })).reports)
    t.deepEqual(
      content.monitors.map(({ name }) => name),
      ['Shop 2'],
    );
});

test('a report with more monitors than one batch contains all of them, in order of creation', async (t) => {
  const { runtime, make } = await openOffice(t, { days: 2, monitors: 3 });
  await runtime.database.pool.query(
    `INSERT INTO monitors (id, tenant_id, name, type, interval_seconds, timeout_ms, follow_redirects,
     down_after_failures, up_after_successes, down_min_sources, state_since, created_at, updated_at)
     SELECT 'mon_' || lpad(n::text, 4, '0'), $1, 'Many', 'http', 60, 5000, true, 2, 1, 1, 0, 1000000 + n / 7, 0
       FROM generate_series(1, 447) n`,
    [runtime.tenantId],
  );
  await make(MONDAY_MS + 40_000);
  const [report] = (await listReports(runtime.database, { tenantId: runtime.tenantId })).reports;
  const ids = report?.content.monitors.map(({ id }) => id) ?? [];
  t.is(new Set(ids).size, 450);
  t.deepEqual(
    ids.slice(0, 447),
    Array.from({ length: 447 }, (_, index) => `mon_${String(index + 1).padStart(4, '0')}`),
  );
});

test('connected and enabled chats that want reports are notified, and no others', async (t) => {
  const { runtime, make } = await openOffice(t, { days: 2 });
  const [telegram, slack] = [await addChat(runtime), await addChat(runtime, { type: 'slack' })];
  await addChat(runtime, { wantsReports: false });
  await addChat(runtime, { status: 'pending' });
  const disabled = await addChat(runtime);
  await updateChannel(runtime.database, { tenantId: runtime.tenantId, id: disabled, author: null }, { enabled: false });
  // Even settings that no input accepts must do no harm.
  await addChat(runtime, { type: 'webhook' });
  t.is(await make(MONDAY_MS + 40_000), 2);
  const deliveries = await listDeliveriesTo(runtime);
  t.deepEqual(deliveries.map(({ channel_id: id }) => id).toSorted(), [telegram, telegram, slack, slack].toSorted());
  const message = deliveries.find(({ message: { report } }) => report.period === 'week')?.message;
  if (message === undefined) throw new Error('No chat was notified of the week');
  t.true(isChatOnly(message));
  const { rows } = await runtime.database.pool.query<{ id: string }>(`SELECT id FROM reports WHERE period = 'week'`);
  t.like(message, {
    event: 'report',
    event_at: MONDAY_MS / 1000,
    monitors: 1,
    uptime_percent: 100,
    incidents: 0,
    sla_met: 1,
    sla_missed: 0,
    url: `${runtime.publicUrl}/reports/${rows[0]?.id}`,
  });
});

test('an email channel gets weeks and months of its own time zone, once, or of UTC by default', async (t) => {
  const { runtime, make, made } = await openOffice(t, { days: 40 });
  const tokyo = await addChat(runtime, { type: 'email', reportTimezone: 'Asia/Tokyo' });
  const again = await addChat(runtime, { type: 'email', reportTimezone: 'Asia/Tokyo' });
  const utc = await addChat(runtime, { type: 'email' });
  await addChat(runtime, { type: 'email', reportTimezone: 'Asia/Tokyo', wantsReports: false });
  await addChat(runtime, { type: 'email', reportTimezone: 'America/New_York', status: 'pending' });
  // Creates the reports due before the tested day.
  await make(MONDAY_MS - 4 * DAY_MS);
  await runtime.database.pool.query('DELETE FROM deliveries');
  const midnightMs = MONDAY_MS - 9 * 3_600_000;
  t.is(await make(midnightMs - 1000), 0);
  t.is(await make(midnightMs), 2);
  for (const open of [runtime, runtime.open()])
    t.is((await makeReports({ ...open, now: () => midnightMs + 60_000 })).reports, 0);
  const inTokyo = await listDeliveriesTo(runtime);
  t.deepEqual(inTokyo.map(({ channel_id: id }) => id).toSorted(), [tokyo, tokyo, again, again].toSorted());
  const week = inTokyo.find(({ message: { report } }) => report.period === 'week')?.message;
  t.like(week, {
    report: {
      id: null,
      timezone: 'Asia/Tokyo',
      period_start: midnightMs / 1000 - 7 * 86_400,
      period_end: midnightMs / 1000,
    },
    uptime_percent: 100,
    url: `${runtime.publicUrl}/reports`,
  });
  t.false((await made()).includes('month 2026-05-01'));
  await runtime.database.pool.query('DELETE FROM deliveries');
  t.is(await make(MONDAY_MS + 40_000), 2);
  t.deepEqual(
    (await listDeliveriesTo(runtime)).map(({ channel_id: id }) => id),
    [utc, utc],
  );
});

test('after a downtime only the newest week and the newest month are sent', async (t) => {
  const { runtime, make } = await openOffice(t, { days: 120 });
  await addChat(runtime);
  t.true((await make(MONDAY_MS + 3 * DAY_MS)) > 10);
  t.deepEqual(
    (await listDeliveriesTo(runtime)).map(
      ({ message: { report } }) => `${report.period} ${dateOf(report.period_start)}`,
    ),
    ['week 2026-05-25', 'month 2026-05-01'],
  );
});

test('after a downtime no report is made before the sweep has recorded the gap', async (t) => {
  const { runtime, make } = await openOffice(t, { days: 9 });
  const restartedMs = MONDAY_MS + 2 * DAY_MS;
  const stoppedMs = MONDAY_MS - DAY_MS;
  await recordSweep(runtime, stoppedMs);
  t.deepEqual(await makeReports({ ...runtime, now: () => restartedMs }), { reports: 0, isUnfinished: true });
  await sweep({ ...runtime, now: () => restartedMs });
  t.is((await makeReports({ ...runtime, now: () => restartedMs })).reports > 0, true);
  const { rows } = await runtime.database.pool.query(
    `SELECT content -> 'monitors' -> 0 AS monitor, details -> 'service_gaps' AS gaps FROM reports
     WHERE period_start = $1`,
    [MONDAY_MS / 1000 - 7 * 86_400],
  );
  t.like(rows[0].monitor, { unknown_seconds: 86_400 });
  t.like(rows[0].gaps, [{ kind: 'clock', from: stoppedMs / 1000, to: MONDAY_MS / 1000 }]);
  t.is(await make(restartedMs), 0);
});

test('with the queue unreachable reports and deliveries are still stored', async (t) => {
  const { runtime } = await openOffice(t, { days: 2 });
  await addChat(runtime);
  runtime.queues.enqueueAttempts = () => Promise.reject(new Error('away'));
  await recordSweep(runtime, MONDAY_MS + 40_000);
  t.is((await makeReports({ ...runtime, now: () => MONDAY_MS + 40_000 })).reports, 2);
  t.is((await listDeliveriesTo(runtime)).length, 2);
});

test('an account whose report fails late each time does not hold up other accounts', async (t) => {
  const { runtime, rolledUntil, made } = await openOffice(t, { days: 2 });
  const { pool } = runtime.database;
  const later = runtime.newId('ten');
  await pool.query(
    `INSERT INTO tenants (id, name, plan, created_at) SELECT $1, 'Later', plan, created_at + 1 FROM tenants
     WHERE id = $2`,
    [later, runtime.tenantId],
  );
  await runtime.addMonitor([], { name: 'Later' });
  await pool.query(
    `UPDATE monitors SET created_at = (SELECT min(created_at) FROM monitors),
       tenant_id = CASE name WHEN 'Later' THEN $1 ELSE tenant_id END`,
    [later],
  );
  await pool.query(
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF NEW.tenant_id = '${runtime.tenantId}' THEN RAISE 'refused'; END IF; RETURN NEW; END $$`,
  );
  await pool.query('CREATE TRIGGER fail BEFORE INSERT ON reports FOR EACH ROW EXECUTE FUNCTION fail()');
  await rolledUntil(MONDAY_MS + 3_600_000);
  // A failure takes half a minute, and a round starts nothing after less than that.
  let nowMs = MONDAY_MS + 40_000;
  const log = Object.assign(Object.create(runtime.log), { error: () => (nowMs += 30_000) }) as typeof runtime.log;
  await until(async () => {
    await recordSweep(runtime, nowMs);
    await makeReports({ ...runtime, log, now: () => nowMs }).catch(() => undefined);
    nowMs += 300_000;
    return (await made(later)).length > 0;
  });
  t.deepEqual(await made(), []);
});

test('a stopping process makes no further reports, and the next run makes them', async (t) => {
  const { make } = await openOffice(t, { days: 60 });
  t.is(await make(MONDAY_MS + 40_000, AbortSignal.abort()), 0);
  t.is(await make(MONDAY_MS + 340_000), 2 + 9);
});

test('a failing report holds up later ones of its own account, so that it is not skipped, and no others', async (t) => {
  const { runtime, make, made } = await openOffice(t, { days: 20 });
  const other = runtime.newId('ten');
  await createTenant(runtime.database, {
    id: other,
    name: other,
    plan: 'pro',
    nowMs: MONDAY_MS - 2 * DAY_MS,
    author: null,
  });
  const { pool } = runtime.database;
  await pool.query(
    `INSERT INTO monitors (id, tenant_id, name, type, interval_seconds, timeout_ms, follow_redirects,
     down_after_failures, up_after_successes, down_min_sources, state_since, created_at, updated_at)
    VALUES ('mon_other', $1, 'Other', 'http', 60, 5000, true, 2, 1, 1, 0, 0, 0)`,
    [other],
  );
  await pool.query(
    `ALTER TABLE reports ADD CONSTRAINT broken CHECK (tenant_id <> '${runtime.tenantId}'
     OR period_start <> ${Date.UTC(2026, 4, 18) / 1000})`,
  );
  await t.throwsAsync(make(MONDAY_MS + 40_000), { message: /broken/ });
  t.deepEqual(await made(), ['week 2026-05-11']);
  t.is((await made(other)).length, 2);
  await pool.query('ALTER TABLE reports DROP CONSTRAINT broken');
  t.is(await make(MONDAY_MS + 340_000), 3);
});

test('a chore with nothing to do makes two queries, for UTC and for other time zones', async (t) => {
  const { runtime, make } = await openOffice(t, { days: 60 });
  await make(MONDAY_MS + 40_000);
  const { pool } = runtime.database;
  let queries = 0;
  const counted = new Proxy(pool, {
    get: (target, name) =>
      name === 'query'
        ? (...given: Parameters<typeof pool.query>) => ((queries += 1), target.query(...given))
        : Reflect.get(target, name),
  });
  t.is(
    (
      await makeReports({
        ...runtime,
        database: { ...runtime.database, pool: counted },
        now: () => MONDAY_MS + 340_000,
      })
    ).reports,
    0,
  );
  t.is(queries, 2);
});
