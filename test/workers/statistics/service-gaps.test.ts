import test from 'ava';
import { Registry } from 'prom-client';
import { runOn } from '../../../models/sql.ts';
import { listServiceGaps, pageServiceGaps, watchService } from '../../../models/statistics/service-gaps.ts';
import { upsertActivity } from '../../../models/system/service-marks.ts';
import { startCheck } from '../../../workers/processes/check.ts';
import { startEvaluate } from '../../../workers/processes/evaluate.ts';
import { ThrottledRecorder } from '../../../workers/runtime.ts';
import { createWorkerMetrics } from '../../../workers/system/metrics.ts';
import { sweep } from '../../../workers/system/sweep.ts';
import { listQueueBackends } from '../../helpers/queue-backend.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';
import { startTarget } from '../../helpers/target.ts';
import { until } from '../../helpers/until.ts';

const SECOND = 1000;

/** Sweeps every ten seconds, from one second of a simulated time to another; `each` runs at each of those seconds. */
async function sweepFrom(
  runtime: TestRuntime,
  startMs: number,
  {
    from,
    to,
    each = async () => undefined,
  }: { from: number; to: number; each?: (nowMs: number, second: number) => Promise<unknown> },
) {
  for (let second = from; second <= to; second += 10) {
    await each(startMs + second * SECOND, second);
    await sweep({ ...runtime, now: () => startMs + second * SECOND });
  }
}

/** Returns all gaps, in seconds of the simulated time. */
async function gapsOf(runtime: TestRuntime, startMs: number) {
  const gaps = await pageServiceGaps(runOn(runtime.database.pool), {
    fromMs: 0,
    toMs: Number.MAX_SAFE_INTEGER,
    limit: 100,
  });
  const second = (ms: number | null) => (ms === null ? null : (ms - startMs) / SECOND);
  return gaps.toReversed().map(({ kind, startMs: from, endMs }) => [kind, second(from), second(endMs)]);
}

const checked = (runtime: TestRuntime) => (nowMs: number) => upsertActivity(runtime.database, 'checks', nowMs);

test('an hour with the whole service stopped is one gap, logged and counted once by concurrent sweeps', async (t) => {
  const runtime = await openTestRuntime(t);
  const registry = new Registry();
  const counted = { ...runtime, metrics: createWorkerMetrics(registry, () => Promise.resolve(null)) };
  const startMs = Date.now();
  const valueOf = async (name: string, kind: string) =>
    (await registry.getSingleMetric(name)?.get())?.values.find(({ labels }) => labels['kind'] === kind)?.value;
  t.deepEqual(
    [
      await valueOf('spotcheck_service_gaps_total', 'checks'),
      await valueOf('spotcheck_service_gap_seconds_total', 'evaluation'),
    ],
    [0, 0],
  );
  await sweepFrom(counted, startMs, { from: 0, to: 100 });
  const back = { ...counted, now: () => startMs + 3700 * SECOND };
  await Promise.all([
    sweep(back),
    sweep(back),
    sweep({ ...back, ...runtime.open(), now: back.now, metrics: counted.metrics }),
  ]);
  await sweepFrom(counted, startMs, { from: 3710, to: 3900 });
  t.deepEqual(await gapsOf(runtime, startMs), [['clock', 100, 3700]]);
  t.deepEqual(
    [
      await valueOf('spotcheck_service_gaps_total', 'clock'),
      await valueOf('spotcheck_service_gap_seconds_total', 'clock'),
    ],
    [1, 3600],
  );
  const endings = runtime.logLines.filter(({ msg }) => msg === 'service.gap_ended');
  t.is(endings.length, 1);
  t.like(endings[0], {
    kind: 'clock',
    started_at: startMs + 100 * SECOND,
    ended_at: startMs + 3700 * SECOND,
    duration_ms: 3_600_000,
  });
});

test('a restart of less than a minute is no gap, and neither is a clock that is set back', async (t) => {
  const runtime = await openTestRuntime(t);
  const startMs = Date.now();
  await sweepFrom(runtime, startMs, { from: 0, to: 100 });
  await sweepFrom(runtime, startMs, { from: 158, to: 200 });
  await sweepFrom(runtime, startMs, { from: -3600, to: -3500 });
  await sweepFrom(runtime, startMs, { from: 210, to: 300 });
  t.deepEqual(await gapsOf(runtime, startMs), []);
});

test('checks that stop while the rest works are a gap from the last check until the next one', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  await runtime.addMonitor([agent], { intervalSeconds: 60 });
  await runtime.database.pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');
  const startMs = Date.now();
  await sweepFrom(runtime, startMs, { from: 0, to: 300, each: checked(runtime) });
  await sweepFrom(runtime, startMs, { from: 310, to: 480 });
  t.deepEqual(await gapsOf(runtime, startMs), []);
  await sweepFrom(runtime, startMs, { from: 490, to: 900 });
  t.deepEqual(await gapsOf(runtime, startMs), [['checks', 300, null]]);
  t.deepEqual(
    await listServiceGaps(runOn(runtime.database.pool), {
      fromMs: startMs,
      toMs: startMs + 900 * SECOND,
      nowMs: startMs + 900 * SECOND,
    }),
    [{ kind: 'checks', startMs: startMs + 300 * SECOND, endMs: startMs + 900 * SECOND }],
  );
  await sweepFrom(runtime, startMs, { from: 910, to: 1200, each: checked(runtime) });
  t.deepEqual(await gapsOf(runtime, startMs), [['checks', 300, 910]]);
});

test('a region that is gone and monitors just added cause no gap of checks', async (t) => {
  const runtime = await openTestRuntime(t);
  const [gone, here] = [await runtime.addAgent('gone'), await runtime.addAgent('here')];
  const startMs = Date.now();
  const beat = (nowMs: number) =>
    runtime.database.pool.query(`UPDATE agents SET last_seen_at = $1 WHERE no = $2`, [
      Math.floor(nowMs / SECOND),
      here.no,
    ]);
  await sweepFrom(runtime, startMs, { from: 0, to: 1000, each: beat });
  await runtime.addMonitor([gone], { intervalSeconds: 10 });
  await runtime.addMonitor([here], { intervalSeconds: 3600 });
  await sweepFrom(runtime, startMs, { from: 1010, to: 2000, each: beat });
  t.deepEqual(await gapsOf(runtime, startMs), []);
  const { rows } = await runtime.database.pool.query(
    `SELECT at, interval_seconds FROM service_marks WHERE name = 'due'`,
  );
  t.deepEqual(rows, [{ at: startMs + 1010 * SECOND, interval_seconds: 3600 }]);
  await runtime.addMonitor([here], { intervalSeconds: 30 });
  await sweepFrom(runtime, startMs, { from: 2010, to: 2120, each: beat });
  t.deepEqual(
    await gapsOf(runtime, startMs),
    [],
    "the last check is half an hour old, and the new monitor's first one is due",
  );
  await sweepFrom(runtime, startMs, { from: 2130, to: 2200, each: beat });
  t.deepEqual(await gapsOf(runtime, startMs), [['checks', 2010, null]]);
  await runtime.database.pool.query('DELETE FROM monitors');
  await runtime.database.pool.query('UPDATE schedule_phases SET monitors = 0');
  await sweepFrom(runtime, startMs, { from: 2210, to: 2300, each: beat });
  t.deepEqual(await gapsOf(runtime, startMs), [['checks', 2010, 2210]]);
});

for (const backend of listQueueBackends()) {
  test(
    `${backend.name}: results waiting for a stopped evaluator are a gap from when they were queued, ` +
      'interrupted by a stop of the whole service',
    async (t) => {
      const runtime = await openTestRuntime(t, backend);
      const startMs = Date.now();
      await sweepFrom(runtime, startMs - 100 * SECOND, {
        from: 0,
        to: 100,
        each: (nowMs) => upsertActivity(runtime.database, 'evaluation', nowMs),
      });
      await runtime.queues.enqueueResults([]);
      const queuedMs = (await runtime.queues.oldestResultsAtMs()) ?? 0;
      const queued = (queuedMs - startMs) / SECOND;
      await sweepFrom(runtime, startMs, { from: 10, to: 300 });
      t.deepEqual(await gapsOf(runtime, startMs), [['evaluation', queued, null]]);
      await sweepFrom(runtime, startMs, { from: 1000, to: 1200 });
      t.deepEqual(await gapsOf(runtime, startMs), [
        ['evaluation', queued, 300],
        ['clock', 300, 1000],
        ['evaluation', 1000, null],
      ]);
      await upsertActivity(runtime.database, 'evaluation', startMs + 1204 * SECOND);
      await sweepFrom(runtime, startMs, { from: 1210, to: 1220 });
      t.deepEqual((await gapsOf(runtime, startMs)).at(-1), ['evaluation', 1000, 1204]);
    },
  );

  test(`${backend.name}: completed checks and evaluated batches are recorded`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    const agent = await runtime.addAgent('local');
    const target = await startTarget(t);
    const recordedAt = async (name: string) =>
      (await runtime.database.pool.query<{ at: number }>('SELECT at FROM service_marks WHERE name = $1', [name]))
        .rows[0]?.at ?? 0;
    const startMs = Date.now();
    const evaluating = await startEvaluate(runtime);
    t.teardown(() => evaluating.stop());
    const monitor = await runtime.addMonitor([agent], { intervalSeconds: 3600, target: target.url('/') });
    await runtime.queues.enqueueResults([
      {
        ...resultOf(monitor, agent, { dueAtMs: startMs - 60_000, verdict: 'up' }),
        answer: null,
        finishedAtMs: startMs,
      },
    ]);
    await until(async () => (await recordedAt('evaluation')) >= startMs);
    t.is(await recordedAt('checks'), 0);
    const checking = await startCheck(runtime, { region: 'local', version: '0.1.0', allowPrivateNetwork: true });
    t.teardown(() => checking.stop());
    await runtime.queues.applyScheduleChange(runtime.scheduleChanges.at(-1) ?? t.fail(), await runtime.listRegions());
    await until(async () => (await recordedAt('checks')) >= startMs);
    t.pass();
  });
}

test('windows are half open, and concurrent polls record a gap once', async (t) => {
  const { database } = await openTestRuntime(t);
  const run = runOn(database.pool);
  await run(
    `INSERT INTO service_gaps (kind, started_at, ended_at)
     VALUES ('clock', 1000, 2000), ('checks', 1500, 3000), ('evaluation', 2500, NULL)`,
  );
  const kinds = async (fromMs: number, toMs: number) =>
    (await listServiceGaps(run, { fromMs, toMs, nowMs: 4000 })).map(({ kind }) => kind);
  t.deepEqual(await kinds(0, 1000), []);
  t.deepEqual(await kinds(0, 1001), ['clock']);
  t.deepEqual(await kinds(1999, 2500), ['clock', 'checks']);
  t.deepEqual(await kinds(2000, 2501), ['checks', 'evaluation']);
  t.deepEqual(await kinds(3000, 9000), ['evaluation']);
  t.deepEqual(await kinds(4000, 9000), [], 'a gap that lasts ends now');
  await watchService(database, { nowMs: 10_000, oldestResultsAtMs: null });
  const steps = await Promise.all(
    [80_000, 80_001, 80_002].map((nowMs) => watchService(database, { nowMs, oldestResultsAtMs: null })),
  );
  t.is(steps.flatMap(({ ended }) => ended.filter(({ kind }) => kind === 'clock')).length, 1);
});

test('an activity is recorded every ten seconds, but at once after a failure or a clock set back', async (t) => {
  const recorded: [string, number][] = [];
  const failures: unknown[] = [];
  let isAway = false;
  const activities = new ThrottledRecorder<string>({
    store: async (name, nowMs) => {
      if (isAway) throw new Error('away');
      recorded.push([name, nowMs]);
    },
    onFailure: (error) => void failures.push(error),
  });
  for (const second of [100, 101, 109, 110, 111]) await activities.record('checks', second * SECOND);
  await activities.record('evaluation', 111 * SECOND);
  t.deepEqual(recorded, [
    ['checks', 100_000],
    ['checks', 110_000],
    ['evaluation', 111_000],
  ]);
  isAway = true;
  await activities.record('checks', 121 * SECOND);
  isAway = false;
  await activities.record('checks', 122 * SECOND);
  await activities.record('checks', 50 * SECOND);
  t.deepEqual(recorded.slice(3), [
    ['checks', 122_000],
    ['checks', 50_000],
  ]);
  t.is(failures.length, 1);
});
