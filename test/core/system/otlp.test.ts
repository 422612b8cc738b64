import test from 'ava';
import { traceparentOf } from '../../../core/checks/trace-context.ts';
import type { MonitorType } from '../../../core/monitors/monitor.ts';
import { traceRequestOf, type FailedCheck } from '../../../core/system/otlp.ts';
import { ORIGIN, failedCheck } from '../../helpers/failed-check.ts';

function spansOf(check: FailedCheck) {
  return traceRequestOf([check], ORIGIN).resourceSpans[0].scopeSpans[0].spans;
}

function attributesOf(check: FailedCheck): Record<string, unknown> {
  const pairs = spansOf(check)[0]?.attributes ?? [];
  return Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]));
}

const ofType = (type: MonitorType, target: string) =>
  failedCheck({ monitor: { id: 'mon_1', name: 'x', type, target, method: null }, httpStatus: null, cause: 'timeout' });

test('the span of a failed check describes request and response by the semantic conventions', (t) => {
  t.like(attributesOf(failedCheck()), {
    'http.request.method': 'GET',
    'http.response.status_code': '503',
    'error.type': '503',
    'server.address': 'shop.example',
    'server.port': '8443',
    'spotcheck.tenant.id': 'ten_1',
    'spotcheck.monitor.id': 'mon_1',
    'spotcheck.source': 'frankfurt',
    'spotcheck.verdict': 'down',
    'spotcheck.cause': 'status_503',
  });
  t.deepEqual(spansOf(failedCheck())[0]?.status, { code: 2, message: 'HTTP 503 instead of 2xx' });
});

test('a span contains no credentials, query or fragment of a URL', (t) => {
  t.is(attributesOf(failedCheck())['url.full'], 'https://shop.example:8443/a');
  t.notRegex(JSON.stringify(spansOf(failedCheck())), /s3cret|u:p/);
  const address = attributesOf(ofType('http', 'HTTP://[2001:db8::1]?a'));
  t.like(address, { 'server.address': '2001:db8::1', 'server.port': '80', 'error.type': 'timeout' });
});

test('the span of a check other than http names its target', (t) => {
  t.like(attributesOf(ofType('udp', '[2001:db8::1]:53')), { 'server.address': '2001:db8::1', 'server.port': '53' });
  t.like(attributesOf(ofType('icmp', '2001:db8::1')), { 'server.address': '2001:db8::1' });
  t.like(attributesOf(ofType('vendor', 'https://status.example/?a=b')), {
    'spotcheck.target': 'https://status.example/',
  });
  t.is(spansOf(ofType('tcp', 'db.example:5432'))[0]?.name, 'tcp check');
});

test('the steps are consecutive child spans, and those that did not happen are left out', (t) => {
  const [check, ...steps] = spansOf(failedCheck());
  t.deepEqual(
    steps.map(({ name, startTimeUnixNano, endTimeUnixNano }) => [name, startTimeUnixNano, endTimeUnixNano]),
    [
      ['dns', '1763721000123500000', '1763721000127500000'],
      ['connect', '1763721000127500000', '1763721000145500000'],
      ['first byte', '1763721000145500000', '1763721000214500000'],
    ],
  );
  t.true(steps.every(({ parentSpanId, traceId }) => parentSpanId === check?.spanId && traceId === check?.traceId));
  t.is(new Set([check, ...steps].map((span) => span?.spanId)).size, 4);
});

test('the traceparent header names the trace and its span', (t) => {
  const { ids } = failedCheck();
  t.is(traceparentOf(ids), '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01');
});
