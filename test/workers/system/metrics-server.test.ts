import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { Registry } from 'prom-client';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { runOn } from '../../../models/sql.ts';
import { listProcesses } from '../../../models/system/processes.ts';
import { startEvaluate } from '../../../workers/processes/evaluate.ts';
import { showServiceMetrics, startProcessRecord } from '../../../workers/processes/every-process.ts';
import { serveMetrics } from '../../../workers/system/metrics-server.ts';
import { createWorkerMetrics, EVALUATION_LAG, registerServiceMetrics } from '../../../workers/system/metrics.ts';
import { claimNextDelivery } from '../../helpers/deliveries.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

test('a worker process is ready until it is stopping, and stays healthy', async (t) => {
  const runtime = await openTestRuntime(t);
  const stopping = new AbortController();
  const server = await serveMetrics(runtime, {
    registry: new Registry(),
    port: 0,
    host: '127.0.0.1',
    stopping: stopping.signal,
  });
  t.teardown(server.stop);
  const address = runtime.logLines.find(({ msg }) => msg === 'metrics.listening')?.['address'] as {
    address: string;
    port: number;
  };
  t.is(address.address, '127.0.0.1', 'listens on the given host only');
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${address.port}${path}`);
    return { status: response.status, body: await response.json() };
  };
  const ready = { status: 200, body: { status: 'ready', database: true, queue: true } };
  await until(async () => isDeepStrictEqual(await get('/readyz'), ready));
  stopping.abort();
  const isStopping = { status: 503, body: { status: 'stopping', database: true, queue: true } };
  t.is((await get('/readyz')).status, 503);
  // If PostgreSQL answers slowly, `database` is false for once.
  await until(async () => isDeepStrictEqual(await get('/readyz'), isStopping));
  t.is((await get('/healthz')).status, 200);
});

test('evaluation lag counts from the completion of a batch, not from its oldest result', async (t) => {
  const runtime = await openTestRuntime(t);
  const registry = new Registry();
  const evaluating = await startEvaluate({
    ...runtime,
    metrics: createWorkerMetrics(registry, () => Promise.resolve(null)),
  });
  t.teardown(evaluating.stop);
  const valueOf = async (end: 'sum' | 'count') =>
    (await registry.getSingleMetric(EVALUATION_LAG)?.get())?.values.find(
      (value) => 'metricName' in value && value.metricName === `${EVALUATION_LAG}_${end}`,
    )?.value ?? 0;
  const nowMs = Date.now();
  const measured = {
    checksVersion: 1,
    verdict: 'up',
    cause: null,
    reason: null,
    latencyMs: 5,
    httpStatus: 200,
  } as const;
  const result = { ...measured, monitorNo: 1, agentNo: 1, phases: null, answer: null, dueAtMs: nowMs - 3_600_000 };
  await runtime.queues.enqueueResults([{ ...result, finishedAtMs: nowMs - 3_600_000 }], nowMs);
  await until(async () => (await valueOf('count')) === 1);
  t.true((await valueOf('sum')) < 3600);
});

test('operators see the lateness of all regions of a process combined', async (t) => {
  const runtime = await openTestRuntime(t);
  const registry = new Registry();
  const { checkCompleted } = createWorkerMetrics(registry, () => Promise.resolve(null));
  for (const region of ['hanoi', 'hanoi', 'paris'])
    checkCompleted({ type: 'http', verdict: 'up', region, latenessMs: 9 });
  const recorded = startProcessRecord(runtime, { kind: 'spotcheck', version: '1.0.0', registry });
  t.teardown(recorded.stop);
  const [shown] = await until(async () => {
    const processes = await listProcesses(runtime.database, Date.now());
    return processes.length > 0 && processes;
  });
  t.deepEqual(shown?.figures?.lateness, { count: 3, p50: 0.01, p99: 0.01 });
});

test('the overdue count excludes deliveries in flight, waiting in order, on time or paused', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, now } = runtime;
  const registry = new Registry();
  showServiceMetrics(runtime, registry);
  const read = async () => [
    await gaugeOf(registry, 'spotcheck_deliveries_overdue'),
    Math.floor((await gaugeOf(registry, 'spotcheck_delivery_oldest_overdue_seconds')) / 3600),
  ];
  t.deepEqual(await read(), [0, 0]);
  const message = buildTestMessage({ nowMs: now(), publicUrl: runtime.publicUrl });
  const addChannel = async (id: string, hoursDue: readonly number[]) => {
    await createChannel(database, {
      id,
      tenantId,
      type: 'webhook',
      name: id,
      status: 'connected',
      allMonitors: true,
      monitorIds: [],
      webhook: { url: 'https://hooks.example/in', signingSecret: 'whsec_c2VjcmV0' },
      nowMs: now(),
      author: null,
    });
    await insertDeliveries(
      runOn(database.pool),
      hoursDue.map((hours, index) => ({
        id: `dlv_${id}_${index}`,
        tenantId,
        channelId: id,
        monitorId: 'mon_1',
        message,
        createdAtMs: now() - hours * 3_600_000,
      })),
    );
  };
  await addChannel('nch_under_way', [5, 4]);
  await claimNextDelivery(database, 'nch_under_way', { nowMs: now(), claimMs: 600_000 });
  // The second delivery waits for the first, which is not due yet.
  await addChannel('nch_in_order', [-1, 4]);
  await addChannel('nch_in_time', [0]);
  await addChannel('nch_in_pause', [3]);
  await database.pool.query("UPDATE channels SET quiet_until = $1 WHERE id = 'nch_in_pause'", [now() + 600_000]);
  t.deepEqual(await read(), [0, 0]);
  await addChannel('nch_overdue', [2]);
  await addChannel('nch_overdue_too', [1]);
  t.deepEqual(await read(), [2, 2]);
});

test('overdue metrics are absent, not 0, while they cannot be read', async (t) => {
  const registry = new Registry();
  let isAway = true;
  registerServiceMetrics(registry, {
    readOverdue: () =>
      isAway ? Promise.reject(new Error('away')) : Promise.resolve({ deliveries: 7, oldestDueAtMs: 1 }),
    readLastGaps: () => Promise.resolve([]),
  });
  const series = async () => (await registry.metrics()).match(/^spotcheck_deliver\w+overdue\w* /gm);
  t.is(await series(), null);
  isAway = false;
  t.is((await series())?.length, 2);
  isAway = true;
  t.is(await series(), null);
});

test('the end of the newest service gap is exported even if it precedes the start', async (t) => {
  const runtime = await openTestRuntime(t);
  const registry = new Registry();
  await runtime.database.pool.query(
    `INSERT INTO service_gaps (kind, started_at, ended_at)
     VALUES ('checks', 1000, 9000), ('checks', 10000, 20000), ('evaluation', 5000, NULL)`,
  );
  await runtime.database.pool.query('INSERT INTO overload_gaps (started_at, ended_at) VALUES (1000, 3000)');
  showServiceMetrics({ ...runtime, now: () => 60_000 }, registry);
  const values = (await registry.getSingleMetric('spotcheck_service_gap_last_timestamp_seconds')?.get())?.values ?? [];
  t.deepEqual(
    values.map(({ labels, value }) => [labels['kind'], value]),
    [
      ['clock', 0],
      ['checks', 20],
      ['evaluation', 60],
      ['overload', 3],
    ],
  );
});

test('counters used by alerts exist at 0 from the start, so that the first event is a change', async (t) => {
  const registry = new Registry();
  createWorkerMetrics(registry, () => Promise.resolve(null));
  const text = await registry.metrics();
  for (const line of [
    'spotcheck_chores_total{chore="reconcile",outcome="failed"} 0',
    'spotcheck_delivery_attempts_total{outcome="failed"} 0',
    'spotcheck_queue_workers_reopened_total{queue="deliver"} 0',
    'spotcheck_service_gaps_total{kind="checks"} 0',
  ])
    t.true(text.split('\n').includes(line), line);
});

async function gaugeOf(registry: Registry, name: string): Promise<number> {
  return (await registry.getSingleMetric(name)?.get())?.values[0]?.value ?? Number.NaN;
}
