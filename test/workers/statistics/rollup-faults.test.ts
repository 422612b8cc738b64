import test from 'ava';
import { Registry } from 'prom-client';
import { DAY_MS, HOUR_MS } from '../../../core/time.ts';
import { runOn } from '../../../models/sql.ts';
import { rolledUntilMs, unrolledSinceMs } from '../../../models/statistics/rollups.ts';
import { sumTallies } from '../../../models/statistics/statistics.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
import { rollUp } from '../../../workers/statistics/rollups.ts';
import { createWorkerMetrics } from '../../../workers/system/metrics.ts';
import { maintainPartitions } from '../../../workers/system/retention.ts';
import { readRollups, storeChecks, type ArbitraryCheck } from '../../helpers/arbitrary-checks.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';

/** Midnight UTC, whose day is over. */
const MIDNIGHT = Math.floor(Date.now() / DAY_MS) * DAY_MS - 2 * DAY_MS;
const SETTLED_MS = 90_000;
const MINUTE_MS = 60_000;

function upAt(monitorNo: number, atMs: number, dnsMs: number | null = null): ArbitraryCheck {
  const phases = dnsMs === null ? null : { dnsMs, connectMs: 3, tlsMs: null, firstByteMs: null, downloadMs: null };
  return { monitorNo, agentNo: 1, atMs, verdict: 'up', latencyMs: 20, phases };
}

/** Runs the chore until every hour that has ended by a time is rolled up. */
async function rollUntil(runtime: TestRuntime, nowMs: number): Promise<void> {
  await rollUp({ ...runtime, now: () => nowMs }, { budgetMs: Infinity });
}

/** Puts times into a result that overflow the columns for sums. */
async function poison({ database }: TestRuntime, monitorNo: number, phases = '99999999999 - - - -'): Promise<void> {
  await database.pool.query(
    `UPDATE check_results SET detail = jsonb_build_object('phases', $2::text) WHERE monitor_no = $1`,
    [monitorNo, phases],
  );
}

test('timing sums beyond the integer range are exact in hours, days and statistics over both', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const hours = [0, 1, 2];
  const checks = hours.flatMap((hour) =>
    Array.from({ length: 4000 }, (_, index) => upAt(1, MIDNIGHT + hour * HOUR_MS + index * 900, 600_000)),
  );
  await storeChecks(database, [...checks, upAt(2, MIDNIGHT, 7)], { nowMs: MIDNIGHT });
  const meanOf = async (monitorNo: number, fromMs: number, toMs: number) => {
    const tally = (
      await sumTallies(database, { monitorNos: [monitorNo], fromMs, toMs, nowMs: MIDNIGHT + 2 * DAY_MS })
    ).get(monitorNo);
    return [tally?.timingChecks.dnsMs, tally?.timings.dnsMs, tally?.timings.connectMs];
  };
  await rollUntil(runtime, MIDNIGHT + 2 * HOUR_MS + SETTLED_MS);
  t.is(await rolledUntilMs(runOn(database.pool)), MIDNIGHT + 2 * HOUR_MS);
  t.deepEqual(await meanOf(1, MIDNIGHT, MIDNIGHT + HOUR_MS), [4000, 600_000, 3]);
  t.deepEqual(
    await meanOf(1, MIDNIGHT, MIDNIGHT + 3 * HOUR_MS),
    [12_000, 600_000, 3],
    'two hours that are rolled up and one that is not',
  );
  await rollUntil(runtime, MIDNIGHT + DAY_MS + SETTLED_MS);
  t.deepEqual(await meanOf(1, MIDNIGHT, MIDNIGHT + DAY_MS), [12_000, 600_000, 3]);
  t.deepEqual(await meanOf(2, MIDNIGHT, MIDNIGHT + DAY_MS), [1, 7, 3]);
});

test('a source that cannot be rolled up is set aside and retried with growing delays; others go on', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const registry = new Registry();
  const counted = { ...runtime, metrics: createWorkerMetrics(registry, () => Promise.resolve(null)) };
  const valueOf = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
  const all = Array.from({ length: 9 }, (_, index) => index + 1);
  const poisoned = [3, 8];
  await storeChecks(
    database,
    all.map((monitorNo) => upAt(monitorNo, MIDNIGHT + monitorNo * MINUTE_MS, 5)),
    { nowMs: MIDNIGHT },
  );
  for (const monitorNo of poisoned) await poison(runtime, monitorNo);
  const rolledMonitors = async () =>
    (await readRollups(database, 'hourly_rollups')).map(([key]) => Number(key.split('/')[0]));
  const waiting = async () =>
    (await database.pool.query('SELECT monitor_no, attempts, retry_at FROM set_aside_hours ORDER BY monitor_no')).rows;

  const nowMs = MIDNIGHT + 3 * HOUR_MS;
  await rollUntil({ ...runtime, ...counted }, nowMs);
  t.is(await rolledUntilMs(runOn(database.pool)), MIDNIGHT + 2 * HOUR_MS);
  t.deepEqual(
    await rolledMonitors(),
    all.filter((monitorNo) => !poisoned.includes(monitorNo)),
  );
  t.deepEqual(
    await waiting(),
    poisoned.map((monitor_no) => ({ monitor_no, attempts: 1, retry_at: nowMs + MINUTE_MS })),
  );
  t.deepEqual(
    runtime.logLines
      .filter(({ msg }) => msg === 'rollups.set_aside')
      .map(({ monitor_no }) => Number(monitor_no))
      .toSorted(),
    poisoned,
  );
  t.deepEqual([await valueOf('spotcheck_rollup_failures_total'), await valueOf('spotcheck_rollups_set_aside')], [2, 2]);

  await poison(runtime, 3, '5 3 - - -');
  await rollUntil({ ...runtime, ...counted }, nowMs + MINUTE_MS - 1);
  t.is((await waiting()).length, 2, 'nothing is retried before it is due');
  await rollUntil({ ...runtime, ...counted }, nowMs + MINUTE_MS);
  t.deepEqual(await waiting(), [{ monitor_no: 8, attempts: 2, retry_at: nowMs + MINUTE_MS + 2 * MINUTE_MS }]);
  t.deepEqual(
    await rolledMonitors(),
    all.filter((monitorNo) => monitorNo !== 8),
  );
  t.deepEqual([await valueOf('spotcheck_rollup_failures_total'), await valueOf('spotcheck_rollups_set_aside')], [3, 1]);

  await database.pool.query('UPDATE set_aside_hours SET attempts = 30');
  await rollUntil(runtime, nowMs + DAY_MS / 4);
  t.deepEqual(await waiting(), [{ monitor_no: 8, attempts: 31, retry_at: nowMs + DAY_MS / 2 }], 'at most six hours');
});

test('a late hour that cannot be recomputed holds up neither other late hours nor the next hour', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  await storeChecks(database, [upAt(1, MIDNIGHT), upAt(2, MIDNIGHT)], { nowMs: MIDNIGHT });
  await rollUntil(runtime, MIDNIGHT + HOUR_MS + SETTLED_MS);
  await storeChecks(
    database,
    [1, 2, 3].map((monitorNo) => upAt(monitorNo, MIDNIGHT + MINUTE_MS)),
    { nowMs: MIDNIGHT + HOUR_MS + SETTLED_MS },
  );
  await poison(runtime, 2);
  await storeChecks(database, [upAt(4, MIDNIGHT + HOUR_MS)], { nowMs: MIDNIGHT + HOUR_MS });
  await rollUntil(runtime, MIDNIGHT + 2 * HOUR_MS + SETTLED_MS);
  const counts = (await readRollups(database, 'hourly_rollups')).map(([key, { up }]) => [key, up]);
  t.deepEqual(counts, [
    [`1/1/${MIDNIGHT}`, 2],
    [`2/1/${MIDNIGHT}`, 1],
    [`3/1/${MIDNIGHT}`, 1],
    [`4/1/${MIDNIGHT + HOUR_MS}`, 1],
  ]);
  // Another late result of the hour waits along with it.
  await storeChecks(database, [upAt(2, MIDNIGHT + 2 * MINUTE_MS)], { nowMs: MIDNIGHT + 2 * HOUR_MS + SETTLED_MS });
  t.deepEqual(await rollUp({ ...runtime, now: () => MIDNIGHT + 2 * HOUR_MS + SETTLED_MS }), { hours: 0, late: 0 });
  await poison(runtime, 2, '5 3 - - -');
  t.deepEqual(await rollUp({ ...runtime, now: () => MIDNIGHT + 2 * HOUR_MS + SETTLED_MS + MINUTE_MS }), {
    hours: 0,
    late: 1,
  });
  t.like(new Map(await readRollups(database, 'hourly_rollups')).get(`2/1/${MIDNIGHT}`), { up: 3 });
  t.deepEqual((await database.pool.query('SELECT FROM late_hours UNION ALL SELECT FROM set_aside_hours')).rowCount, 0);
});

test('a failure not caused by a single source sets no source aside', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  await storeChecks(database, [upAt(1, MIDNIGHT), upAt(2, MIDNIGHT)], { nowMs: MIDNIGHT });
  await database.pool.query('ALTER TABLE hourly_rollups RENAME COLUMN none TO nothing');
  await t.throwsAsync(rollUp({ ...runtime, now: () => MIDNIGHT + HOUR_MS + SETTLED_MS }), { code: '42703' });
  await database.pool.query('ALTER TABLE hourly_rollups RENAME COLUMN nothing TO none');
  t.is((await database.pool.query('SELECT FROM set_aside_hours')).rowCount, 0);
  t.deepEqual(await rollUp({ ...runtime, now: () => MIDNIGHT + HOUR_MS + SETTLED_MS }), { hours: 1, late: 0 });
});

test('the roll-up lag is correct before the first run, while runs fail and between runs', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const registry = new Registry();
  const metrics = createWorkerMetrics(registry, () => unrolledSinceMs(runOn(database.pool)));
  const lagHours = async () =>
    ((await registry.getSingleMetric('spotcheck_rollup_lag_seconds')?.get())?.values[0]?.value ?? Number.NaN) / 3600;
  t.is(await lagHours(), 0, 'no checks yet');
  const oldestMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS;
  await createPartitions(database, oldestMs);
  await storeChecks(database, [upAt(1, oldestMs + MINUTE_MS)], { nowMs: oldestMs });
  const [sinceMs, beforeMs] = [oldestMs + HOUR_MS, Date.now()];
  const lagMs = Math.round((await lagHours()) * HOUR_MS);
  t.true(lagMs >= beforeMs - sinceMs && lagMs <= Date.now() - sinceMs, `${lagMs} ms`);
  await database.pool.query('ALTER TABLE hourly_rollups RENAME COLUMN none TO nothing');
  await t.throwsAsync(rollUp({ ...runtime, metrics }));
  t.true((await lagHours()) >= 4);
  await database.pool.query('ALTER TABLE hourly_rollups RENAME COLUMN nothing TO none');
  await rollUp({ ...runtime, metrics });
  t.true((await lagHours()) < 1);
  await database.pool.query(`UPDATE service_marks SET at = at - $1 WHERE name = 'rollups'`, [10 * HOUR_MS]);
  t.true((await lagHours()) >= 9, 'whichever process made the last run');
});

test('results past their retention wait a week for failing roll-ups, and no longer', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const startMs = MIDNIGHT - 100 * DAY_MS;
  await createPartitions(database, startMs);
  await storeChecks(database, [upAt(1, startMs)], { nowMs: startMs });
  await database.pool.query('ALTER TABLE hourly_rollups RENAME COLUMN none TO nothing');
  await t.throwsAsync(rollUp({ ...runtime, now: () => MIDNIGHT }));
  const droppedAt = async (nowMs: number) =>
    (await maintainPartitions({ ...runtime, now: () => nowMs })).dropped.filter((name) =>
      name.startsWith('check_results'),
    );
  // The day before has no results, and ended before the roll-ups start.
  t.is((await droppedAt(MIDNIGHT + 7 * DAY_MS)).length, 1);
  await t.throwsAsync(rollUp({ ...runtime, now: () => MIDNIGHT + 7 * DAY_MS }));
  t.is((await droppedAt(MIDNIGHT + 7 * DAY_MS + 1)).length, 4);

  await database.pool.query('ALTER TABLE hourly_rollups RENAME COLUMN nothing TO none');
  await rollUp(runtime, { budgetMs: 1 });
  t.is((await database.pool.query(`SELECT FROM service_marks WHERE name = 'rollups_failing'`)).rowCount, 0);
});
