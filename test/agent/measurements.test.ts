import test from 'ava';
import { resultOf } from '../../agent/measurements.ts';
import type { Observation } from '../../core/checks/observation.ts';
import type { Judgement } from '../../core/checks/verdict.ts';
import type { AnswerEvidence } from '../../core/incidents/evidence.ts';

const AT_MS = 1_800_000_000_123;
const TIMINGS = { dnsMs: null, connectMs: 1.234, tlsMs: 20.05, firstByteMs: 2, downloadMs: null };
const UP: Judgement = { verdict: 'up', cause: null, reason: null };
const DOWN: Judgement = { verdict: 'down', cause: 'status_503', reason: 'HTTP 503 instead of 2xx' };

function http(overrides: object = {}): Observation {
  const certificate = { subject: 'a.example', issuer: 'CA', validFrom: 1_700_000_000, validTo: 1_800_864_000 };
  return {
    type: 'http',
    outcome: 'answered',
    startedAt: AT_MS,
    latencyMs: 23.6,
    timings: TIMINGS,
    certificate,
    status: 200,
    headers: {},
    body: null,
    bodyTruncated: false,
    bodyStart: null,
    hadSecrets: false,
    ...overrides,
  } as Observation;
}

const measured = (observation: Observation | null, judgement: Judgement) =>
  resultOf({ monitorId: 'mon_1', startedAtMs: AT_MS, observation, judgement, answer: null });

test('a successful http check is reported with status, timings and certificate, without cause or reason', (t) => {
  t.deepEqual(measured(http(), UP), {
    monitorId: 'mon_1',
    ok: true,
    cause: null,
    latencyMs: 24,
    httpStatus: 200,
    ts: 1_800_000_000.123,
    detail: { timing: { connectMs: 1.2, tlsMs: 20.1, firstByteMs: 2 }, notAfter: 1_800_864_000, daysRemaining: 9 },
  });
});

test('a failed http check is reported with its cause and reason', (t) => {
  t.like(measured(http({ status: 503 }), DOWN), {
    ok: false,
    cause: 'status_503',
    reason: 'HTTP 503 instead of 2xx',
    httpStatus: 503,
  });
  t.is(measured(http({ status: 503 }), DOWN).degraded, undefined);
});

test('a degraded check is reported as ok and degraded', (t) => {
  t.like(measured(http(), { verdict: 'degraded', cause: 'slow', reason: 'Slow' }), {
    ok: true,
    degraded: true,
    cause: 'slow',
    reason: 'Slow',
  });
});

test('a no vote is reported as unsupported_by_agent, regardless of its cause', (t) => {
  const observation: Observation = {
    type: 'icmp',
    outcome: 'unavailable',
    startedAt: AT_MS,
    latencyMs: null,
    reason: 'Not here',
  };
  t.deepEqual(measured(observation, { verdict: 'none', cause: 'icmp_unavailable', reason: 'Not here' }), {
    monitorId: 'mon_1',
    ok: false,
    cause: 'unsupported_by_agent',
    latencyMs: null,
    httpStatus: null,
    ts: 1_800_000_000.123,
    reason: 'Not here',
  });
});

const DETAILS: readonly [observation: object, detail: object | undefined][] = [
  [
    { type: 'icmp', outcome: 'measured', startedAt: AT_MS, latencyMs: 1.26, sent: 4, received: 3 },
    { ping: { sent: 4, received: 3, rttMs: 1.3 } },
  ],
  [
    { type: 'icmp', outcome: 'measured', startedAt: AT_MS, latencyMs: null, sent: 4, received: 0 },
    { ping: { sent: 4, received: 0, rttMs: null } },
  ],
  [
    { type: 'udp', outcome: 'replied', startedAt: AT_MS, dnsMs: 3.14, latencyMs: 2, reply: '' },
    { timing: { dnsMs: 3.1 } },
  ],
  [{ type: 'udp', outcome: 'silent', startedAt: AT_MS, dnsMs: null, latencyMs: null, isRefused: true }, undefined],
  [
    {
      type: 'tcp',
      outcome: 'connected',
      startedAt: AT_MS,
      timings: { ...TIMINGS, tlsMs: null, firstByteMs: null },
      latencyMs: 2,
      answer: null,
    },
    { timing: { connectMs: 1.2 } },
  ],
];
for (const [observation, detail] of DETAILS) {
  test(`the detail of ${JSON.stringify(observation)} is ${JSON.stringify(detail)}`, (t) => {
    t.deepEqual(measured(observation as Observation, UP).detail, detail as never);
  });
}

test('a failed check carries its response, without the status, which has its own field', (t) => {
  const answer = { status: 503, headers: { server: 'nginx' }, body: 'Back soon' };
  const judged = (given: AnswerEvidence | null) =>
    resultOf({
      monitorId: 'mon_1',
      startedAtMs: AT_MS,
      observation: http({ status: 503 }),
      judgement: DOWN,
      answer: given,
    }).detail?.answer;
  t.deepEqual(judged(answer), { headers: { server: 'nginx' }, body: 'Back soon' });
  t.deepEqual(judged({ ...answer, body: null, bodyWithheld: 'secrets' }), {
    headers: { server: 'nginx' },
    bodyWithheld: 'secrets',
  });
  t.is(judged(null), undefined);
});
