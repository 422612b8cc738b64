import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { Counter, Histogram, Registry } from 'prom-client';
import { startTelemetry, type TelemetryOptions } from '../../telemetry/start.ts';
import { failedCheck } from '../helpers/failed-check.ts';
import { startOtlpReceiver, type OtlpReceiver } from '../helpers/otlp-receiver.ts';
import { until } from '../helpers/until.ts';

type Settings = TelemetryOptions['settings'];

/** Starts the telemetry of a process with two metrics, and sends it to the test's collector. */
function start(t: ExecutionContext, { url }: OtlpReceiver, different: Partial<Settings> = {}) {
  const registry = new Registry();
  const logLines: Record<string, unknown>[] = [];
  const telemetry = startTelemetry({
    settings: {
      traces: { url: `${url}/v1/traces`, headers: { 'X-Key': 's3cret' } },
      metrics: { url: `${url}/v1/metrics`, headers: {} },
      protocol: 'http/json',
      compression: 'none',
      timeoutMs: 60_000,
      metricIntervalMs: 200,
      resource: { 'service.name': 'spotcheck' },
      ...different,
    },
    role: 'check',
    region: 'frankfurt',
    version: '0.1.0',
    registry,
    log: pino({ level: 'info' }, { write: (line: string) => void logLines.push(JSON.parse(line)) }),
  });
  t.teardown(telemetry.stop);
  const read = async (name: string) => await registry.getSingleMetricAsString(name);
  return { telemetry, registry, logLines, read };
}

test('the metrics of the registry are exported at the interval with their names and resource attributes', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const { registry } = start(t, receiver);
  new Counter({ name: 'things_total', help: 'Things', labelNames: ['kind'], registers: [registry] }).inc(
    { kind: 'a' },
    3,
  );
  new Histogram({ name: 'took_seconds', help: 'Took', buckets: [0.1, 1], registers: [registry] }).observe(0.5);
  await until(() => receiver.metrics().some(({ name }) => name === 'took_seconds'));

  const metricOf = (wanted: string) => receiver.metrics().findLast(({ name }) => name === wanted);
  const things = metricOf('things_total');
  t.like(things, { description: 'Things', sum: { aggregationTemporality: 2, isMonotonic: true } });
  t.like(things && 'sum' in things && things.sum.dataPoints[0], {
    asDouble: 3,
    attributes: [{ key: 'kind', value: { stringValue: 'a' } }],
  });
  const took = metricOf('took_seconds');
  const point = took && 'histogram' in took ? took.histogram.dataPoints[0] : undefined;
  t.like(point, { count: '1', sum: 0.5, bucketCounts: ['0', '1', '0'], explicitBounds: [0.1, 1] });
  t.true(BigInt(point?.startTimeUnixNano ?? 0) < BigInt(point?.timeUnixNano ?? 0));
  t.deepEqual(
    new Set(receiver.metrics().map(({ name }) => name)),
    new Set((await registry.getMetricsAsJSON()).map(({ name }) => name)),
  );
  t.like(receiver.resource('metrics'), {
    'service.name': 'spotcheck',
    'service.version': '0.1.0',
    'spotcheck.role': 'check',
    'spotcheck.region': 'frankfurt',
  });
  t.regex(String(receiver.resource('metrics')['service.instance.id']), /^[\da-f-]{36}$/);
});

test('spans are sent as gzipped protobuf if configured, with the configured headers', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const { telemetry, read } = start(t, receiver, { metrics: null, protocol: 'http/protobuf', compression: 'gzip' });
  telemetry.recordFailedCheck?.(failedCheck());
  const [arrival] = await until(() => receiver.arrivals.length > 0 && receiver.arrivals);
  t.like(arrival?.headers, {
    'content-type': 'application/x-protobuf',
    'content-encoding': 'gzip',
    'x-key': 's3cret',
  });
  t.true(arrival?.body.includes(Buffer.from('0123456789abcdef0123456789abcdef', 'hex')));
  await until(async () => (await read('spotcheck_otlp_spans_total')).includes('{outcome="sent"} 1'));
});

test('an overloaded collector is retried, one that refuses is not, and both are counted', async (t) => {
  const receiver = await startOtlpReceiver(t);
  receiver.answer = { status: 503, headers: { 'Retry-After': '0' } };
  const { telemetry, logLines, read } = start(t, receiver, { metrics: null });
  telemetry.recordFailedCheck?.(failedCheck());
  await until(() => receiver.arrivals.length >= 2);
  receiver.answer = { status: 200 };
  await until(async () => (await read('spotcheck_otlp_spans_total')).includes('{outcome="sent"} 1'));
  const told = logLines.map(({ msg, signal, reason }) => [msg, signal, reason]);
  t.deepEqual(told, [
    ['telemetry.failed', 'traces', 'The collector responded with 503'],
    ['telemetry.restored', 'traces', undefined],
  ]);

  receiver.answer = { status: 500 };
  telemetry.recordFailedCheck?.(failedCheck());
  await until(async () => (await read('spotcheck_otlp_spans_total')).includes('{outcome="refused"} 1'));
  t.regex(await read('spotcheck_otlp_exports_total'), /signal="traces",outcome="failed"\} \d/);
  t.false(JSON.stringify(logLines).includes('s3cret'));
});

test('a partial success with rejected spans is a failure, an empty one is not', async (t) => {
  const bodies = {
    'http/protobuf': { whole: '\x0a\x00', part: '\x0a\x02\x08\x01' },
    'http/json': { whole: '{"partialSuccess":{}}', part: '{"partialSuccess":{"rejectedSpans":"1"}}' },
  };
  for (const protocol of ['http/protobuf', 'http/json'] as const) {
    const receiver = await startOtlpReceiver(t);
    const { telemetry, read } = start(t, receiver, { metrics: null, protocol });
    const exports = async (outcome: string, times: number) =>
      (await read('spotcheck_otlp_exports_total')).includes(`{signal="traces",outcome="${outcome}"} ${times}`);
    receiver.answer = { status: 200, body: bodies[protocol].whole };
    telemetry.recordFailedCheck?.(failedCheck());
    await until(() => exports('accepted', 1));
    receiver.answer = { status: 200, body: bodies[protocol].part };
    telemetry.recordFailedCheck?.(failedCheck());
    await until(() => exports('failed', 1));
    t.true((await read('spotcheck_otlp_spans_total')).includes('{outcome="sent"} 2'));
  }
});

test('after a collector timeout spans and metrics are sent once it responds again', async (t) => {
  const receiver = await startOtlpReceiver(t);
  receiver.answer = null;
  const { telemetry, registry, logLines, read } = start(t, receiver, { timeoutMs: 1000 });
  telemetry.recordFailedCheck?.(failedCheck());
  await until(() => new Set(logLines.map(({ signal }) => signal)).size === 2);
  new Counter({ name: 'late_total', help: 'Late', registers: [registry] }).inc();
  receiver.answer = { status: 200 };
  await until(() => receiver.metrics().some(({ name }) => name === 'late_total'));
  await until(async () => (await read('spotcheck_otlp_spans_total')).includes('{outcome="sent"} 1'));
  const restored = () => logLines.filter(({ msg }) => msg === 'telemetry.restored').map(({ signal }) => signal);
  // Metrics are sent again and again, and may time out again.
  await until(() => new Set(restored()).size === 2);
  t.true(receiver.spans().some(({ name }) => name === 'GET'));
});

test('without a trace endpoint failed checks are not recorded, and the last metrics are sent on stop', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const { telemetry } = start(t, receiver, { traces: null, metricIntervalMs: 3_600_000 });
  t.is(telemetry.recordFailedCheck, null);
  t.deepEqual(receiver.arrivals, []);
  await telemetry.stop();
  t.deepEqual(
    receiver.arrivals.map(({ path }) => path),
    ['/v1/metrics'],
    'the last metrics are sent at the end',
  );
});
