import test from 'ava';
import { startHttpServer } from '../helpers/http-server.ts';
import { startOtlpReceiver } from '../helpers/otlp-receiver.ts';
import { newPreparedDataDir, startService } from '../helpers/running-service.ts';
import { PATIENTLY } from '../helpers/story.ts';
import { until } from '../helpers/until.ts';

test("the request to a failing target, the check's span and its incident share one trace", async (t) => {
  const collector = await startOtlpReceiver(t);
  const carried: string[] = [];
  const { port } = await startHttpServer(t, (request, response) => {
    carried.push(String(request.headers['traceparent']));
    response.writeHead(503).end('closed');
  });
  const { program, url, call } = await startService(t, {
    DATA_DIR: await newPreparedDataDir(t),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_EXPORTER_OTLP_HEADERS: 'X-Key=s3cret-of-the-operator',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    TRACE_URL: 'https://traces.example/trace/{trace_id}',
  });
  const created = await call('POST', '/monitors', {
    name: 'Shop',
    target: `http://127.0.0.1:${port}/health?key=s3cret-in-the-query`,
    ...PATIENTLY,
    check_spec: { request: { traceparent: true, secretHeaders: { 'X-Token': 's3cret-of-the-owner' } } },
  });
  t.is(created.status, 201, JSON.stringify(created.json));
  const [opened] = await until(async () => {
    const { incidents } = (await call('GET', '/incidents')).json;
    return incidents.length > 0 && incidents;
  });
  const { json: incident } = await call('GET', `/incidents/${String(opened?.['id'])}`);

  const traceId = String(incident['trace_id']);
  t.regex(traceId, /^[0-9a-f]{32}$/);
  t.is(incident['trace_url'], `https://traces.example/trace/${traceId}`);
  const span = await until(() =>
    collector.spans().find((sent) => sent.traceId === traceId && sent.parentSpanId === undefined),
  );
  t.true(carried.includes(`00-${traceId}-${span.spanId}-01`), carried.join('\n'));
  t.is(new Set(carried).size, carried.length, 'each check has its own trace');
  const attributes = Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
  t.like(attributes, {
    'url.full': `http://127.0.0.1:${port}/health`,
    'server.port': String(port),
    'http.response.status_code': '503',
    'spotcheck.monitor.id': created.json['id'],
    'spotcheck.source': 'local',
  });
  t.true(collector.spans().some(({ name, parentSpanId }) => name === 'connect' && parentSpanId === span.spanId));
  t.like(collector.resource('traces'), { 'service.name': 'spotcheck', 'deployment.environment.name': 'test' });
  t.is(collector.resource('traces')['spotcheck.role'], 'all');

  const exposed = await (await fetch(new URL('/metrics', url))).text();
  const hasValue = (name: string) => new RegExp(`^${name}(?:_bucket|_sum|_count)?[{ ](?!.*Nan$)`, 'm').test(exposed);
  const shown = [...exposed.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name).filter(hasValue);
  t.true(shown.includes('spotcheck_checks_total') && shown.includes('spotcheck_transitions_total'));
  await until(() => {
    const sent = new Set(collector.metrics().map(({ name }) => name));
    return shown.every((name) => sent.has(name));
  });

  t.is(await program.stop(), 0);
  const everything = collector.arrivals.map(({ body }) => body.toString()).join('') + program.output();
  t.notRegex(everything, /s3cret/);
  t.is(collector.arrivals[0]?.headers['x-key'], 's3cret-of-the-operator');
});
