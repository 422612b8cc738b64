import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { Registry } from 'prom-client';
import { listProcesses } from '../../../models/system/processes.ts';
import { startEvaluate } from '../../../workers/processes/evaluate.ts';
import { startProcessRecord } from '../../../workers/processes/every-process.ts';
import { serveMetrics } from '../../../workers/system/metrics-server.ts';
import { createWorkerMetrics, EVALUATION_LAG } from '../../../workers/system/metrics.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

test('a worker process is ready until it is stopped, and healthy to its end', async (t) => {
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
  t.is(address.address, '127.0.0.1', 'it listens where it is told to, and nowhere else');
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${address.port}${path}`);
    return { status: response.status, body: await response.json() };
  };
  const ready = { status: 200, body: { status: 'ready', database: true, queue: true } };
  await until(async () => isDeepStrictEqual(await get('/readyz'), ready));
  stopping.abort();
  t.deepEqual(await get('/readyz'), { status: 503, body: { status: 'stopping', database: true, queue: true } });
  t.is((await get('/healthz')).status, 200);
});

test('evaluation lag begins when a batch is complete, however long its results were collected before', async (t) => {
  const runtime = await openTestRuntime(t);
  const registry = new Registry();
  const evaluating = await startEvaluate({ ...runtime, metrics: createWorkerMetrics(registry) });
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

test('operators are shown the lateness of all regions of a process together', async (t) => {
  const runtime = await openTestRuntime(t);
  const registry = new Registry();
  const { checkCompleted } = createWorkerMetrics(registry);
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
