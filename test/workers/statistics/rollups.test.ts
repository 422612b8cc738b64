import test from 'ava';
import { DAY_MS, HOUR_MS } from '../../../core/time.ts';
import { storeResults } from '../../../models/checks/check-results.ts';
import { beginPackingAt } from '../../../models/checks/packed-results.ts';
import { RecentResultsLost, isSteady } from '../../../models/checks/recent-results.ts';
import { deleteMonitor } from '../../../models/monitors/monitor-changes.ts';
import { runOn } from '../../../models/sql.ts';
import { beginRollups, remakeLateHours, rollNextHour, rolledUntilMs } from '../../../models/statistics/rollups.ts';
import { sumTallies } from '../../../models/statistics/statistics.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { rollUp } from '../../../workers/statistics/rollups.ts';
import { maintainPartitions } from '../../../workers/system/retention.ts';
import { readRollups, storeChecks, type ArbitraryCheck } from '../../helpers/arbitrary-checks.ts';
import { openTestRuntime, resultOf } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

/** Midnight UTC, whose day is over. */
const MIDNIGHT = Math.floor(Date.now() / DAY_MS) * DAY_MS - 2 * DAY_MS;
const SETTLED_MS = 90_000;

function upAt(atMs: number): ArbitraryCheck {
  return { monitorNo: 1, agentNo: 1, atMs, verdict: 'up', latencyMs: 20, phases: null };
}

test('the first run starts with the oldest day that has results and continues to the newest full hour', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  // Two months of partitions are needed for data of that age, and a day in between has no partition of results.
  const oldestMs = Date.UTC(2025, 0, 31);
  const newestMs = Date.UTC(2025, 1, 5);
  for (const atMs of [oldestMs, newestMs]) await createPartitions(database, atMs);
  await storeChecks(database, [upAt(oldestMs + 5 * HOUR_MS), upAt(newestMs)], { nowMs: newestMs });
  const nowMs = newestMs + HOUR_MS + SETTLED_MS;
  const did = await rollUp({ ...runtime, now: () => nowMs }, { budgetMs: Infinity });
  // One result was stored long after its hour and recorded as late; its hour had not been rolled up, so remaking it
  // changes nothing.
  t.deepEqual(did, { hours: 5 * 24 + 1, late: 1 });
  t.is(await rolledUntilMs(runOn(database.pool)), newestMs + HOUR_MS);
  t.deepEqual(
    (await readRollups(database, 'hourly_rollups')).map(([key]) => key),
    [`1/1/${oldestMs + 5 * HOUR_MS}`, `1/1/${newestMs}`],
  );
  t.deepEqual(
    (await readRollups(database, 'daily_rollups')).map(([key]) => key),
    [`1/1/${oldestMs}`],
  );
  t.deepEqual(await rollUp({ ...runtime, now: () => nowMs }), { hours: 0, late: 0 });
  t.like(
    runtime.logLines.find(({ msg }) => msg === 'rollups.made'),
    { hours: 5 * 24 + 1, lag_seconds: 0 },
  );
});

test('a run far behind stops at its budget and the next continues; statistics stay complete meanwhile', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const lags: number[] = [];
  const metrics = { ...runtime.metrics, hoursRolled: ({ lagMs }: { lagMs: number }) => void lags.push(lagMs) };
  const fromMs = MIDNIGHT - DAY_MS;
  await createPartitions(database, fromMs);
  await storeChecks(database, [upAt(fromMs), upAt(fromMs + 7 * HOUR_MS), upAt(MIDNIGHT)], { nowMs: MIDNIGHT });
  const nowMs = MIDNIGHT + HOUR_MS + SETTLED_MS;
  const behind = { ...runtime, metrics, now: () => nowMs };
  t.deepEqual(await rollUp(behind, { budgetMs: 0 }), { hours: 0, late: 0 });
  const stopped = AbortSignal.abort();
  t.deepEqual(await rollUp(behind, { signal: stopped }), { hours: 0, late: 0 });
  const sum = async () => (await sumTallies(database, { monitorNos: [1], fromMs, toMs: nowMs, nowMs })).get(1)?.up;
  t.is(await sum(), 3);
  t.deepEqual(await rollUp(behind, { budgetMs: Infinity }), { hours: 25, late: 2 });
  t.is(await sum(), 3);
  t.deepEqual(lags, [24 * HOUR_MS + SETTLED_MS, 24 * HOUR_MS + SETTLED_MS, SETTLED_MS - HOUR_MS]);
});

test('late results, however many, do not hold up new hours', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const fromMs = MIDNIGHT - DAY_MS;
  await createPartitions(database, fromMs);
  await storeChecks(database, [upAt(fromMs)], { nowMs: fromMs });
  await rollUp({ ...runtime, now: () => MIDNIGHT + SETTLED_MS });
  await database.pool.query(
    `INSERT INTO late_hours (at, monitor_no, agent_no)
     SELECT $1::bigint + h * ${HOUR_MS}::bigint, m, 1 FROM generate_series(1, 10000) m, generate_series(0, 23) h`,
    [fromMs],
  );
  const nowMs = MIDNIGHT + HOUR_MS + SETTLED_MS;
  const stopping = new AbortController();
  const rolling = rollUp({ ...runtime, now: () => nowMs }, { budgetMs: Infinity, signal: stopping.signal });
  await until(async () => (await rolledUntilMs(runOn(database.pool))) === MIDNIGHT + HOUR_MS);
  stopping.abort();
  const did = await rolling;
  t.is(did.hours, 1);
  t.true(did.late > 0 && did.late < 240_000, `${did.late}`);
});

test('no hour is rolled up while its results are missing after a PostgreSQL crash', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const run = runOn(database.pool);
  await createPartitions(database, MIDNIGHT);
  await beginPackingAt(run, MIDNIGHT);
  await storeResults(run, [resultOf({ no: 1 }, { no: 1 }, { dueAtMs: MIDNIGHT, verdict: 'up' })], isSteady);
  await beginRollups(run, MIDNIGHT);
  await run('TRUNCATE recent_results, recent_results_whole');
  const nowMs = MIDNIGHT + HOUR_MS + SETTLED_MS;

  await t.throwsAsync(rollNextHour(database, nowMs), { instanceOf: RecentResultsLost });
  await run('INSERT INTO late_hours (at, monitor_no, agent_no) VALUES ($1, 1, 1)', [MIDNIGHT - HOUR_MS]);
  await t.throwsAsync(remakeLateHours(database, nowMs), { instanceOf: RecentResultsLost });

  t.deepEqual(await rollUp({ ...runtime, now: () => nowMs }), { hours: 1, late: 1 });
  t.deepEqual(
    (await readRollups(database, 'hourly_rollups')).map(([key]) => key),
    [`1/1/${MIDNIGHT}`],
  );
});

test('without results roll-ups start with the current hour', async (t) => {
  const runtime = await openTestRuntime(t);
  t.deepEqual(await rollUp({ ...runtime, now: () => MIDNIGHT + HOUR_MS + 1 }), { hours: 0, late: 0 });
  t.is(await rolledUntilMs(runOn(runtime.database.pool)), MIDNIGHT + HOUR_MS);
  t.deepEqual(await rollUp({ ...runtime, now: () => MIDNIGHT + 2 * HOUR_MS + SETTLED_MS }), { hours: 1, late: 0 });
});

test('a clock that is ahead rolls up no hour early', async (t) => {
  const runtime = await openTestRuntime(t);
  await rollUp(runtime);
  t.deepEqual(await rollUp({ ...runtime, now: () => runtime.now() + 3 * DAY_MS }), { hours: 0, late: 0 });
});

test('results evaluated hours late are counted in the next run, even if their monitor was deleted', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, now } = runtime;
  const agent = await runtime.addAgent('paris');
  const [early, lateAtMs] = [9, 5].map((hours) => (Math.floor(now() / HOUR_MS) - hours) * HOUR_MS) as [number, number];
  const monitor = await runtime.addMonitor([agent]);
  const evaluate = createEvaluator({ database, now, newId: runtime.newId, publicUrl: runtime.publicUrl });
  await evaluate([resultOf(monitor, agent, { dueAtMs: early, verdict: 'up' })]);
  await rollUp(runtime);
  await evaluate([
    resultOf(monitor, agent, { dueAtMs: lateAtMs, verdict: 'down' }),
    resultOf(monitor, agent, { dueAtMs: lateAtMs + 60_000, verdict: 'up' }),
  ]);
  await deleteMonitor(database, { tenantId, id: monitor.id, nowMs: now(), author: null });
  await rollUp(runtime);
  const hours = new Map(await readRollups(database, 'hourly_rollups'));
  t.like(hours.get(`${monitor.no}/${agent.no}/${early}`), { up: 1, down: 0 });
  t.like(hours.get(`${monitor.no}/${agent.no}/${lateAtMs}`), {
    up: 1,
    down: 1,
    latency: { buckets: [64], counts: [1] },
  });
});

test('results of the current hour are not late', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database, now } = runtime;
  const agent = await runtime.addAgent('paris');
  const monitor = await runtime.addMonitor([agent]);
  const evaluate = createEvaluator({ database, now, newId: runtime.newId, publicUrl: runtime.publicUrl });
  await evaluate([resultOf(monitor, agent, { dueAtMs: now(), verdict: 'up' })]);
  t.is((await database.pool.query('SELECT FROM late_hours')).rowCount, 0);
});

test('rolled-up results are dropped after 90 days, hours (by month) after 100, and days after 26 months', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const startMs = Date.UTC(2025, 0, 1);
  await createPartitions(database, startMs);
  const at = (days: number) => ({ ...runtime, now: () => startMs + days * DAY_MS });
  const droppedAfter = async (days: number) => (await maintainPartitions(at(days))).dropped;
  t.deepEqual(await droppedAfter(95), []);
  await rollUp(at(0));
  await database.pool.query(`UPDATE service_marks SET at = $1 WHERE name = 'rollups'`, [startMs + 95 * DAY_MS]);
  // Partitions exist for 2024-12-31 to 2025-01-04; after 93 days all but the last are older than 90.
  const raw = await droppedAfter(93);
  t.deepEqual(
    raw,
    ['check_results', 'heartbeat_pings', 'packed_results'].flatMap((table) =>
      ['20241231', '20250101', '20250102', '20250103'].map((day) => `${table}_${day}`),
    ),
  );
  t.deepEqual(
    (await droppedAfter(130)).filter((name) => name.startsWith('hourly')),
    ['hourly_rollups_202412'],
  );
  t.deepEqual(
    (await droppedAfter(131)).filter((name) => name.startsWith('hourly')),
    ['hourly_rollups_202501'],
  );
  t.deepEqual(
    (await droppedAfter(25 * 31)).filter((name) => name.startsWith('daily')),
    [],
  );
  t.deepEqual(
    (await droppedAfter(27 * 31)).filter((name) => name.startsWith('daily')),
    ['daily_rollups_202412', 'daily_rollups_202501'],
  );
});
