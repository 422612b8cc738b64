import test from 'ava';
import { assign } from '../../agent/assignment.ts';
import { createCheck } from '../../agent/check.ts';
import { resultOf } from '../../agent/result.ts';
import type { AnswerEvidence } from '../../core/failure-evidence.ts';
import type { Observation } from '../../core/observation.ts';
import type { Judgement } from '../../core/verdict.ts';
import { openJudge } from '../../probes/judging/judge.ts';
import { HOSTILE_ASSERTIONS, HOSTILE_BODY } from '../helpers/long-judging.ts';

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

test('a good http check is reported with its status, times and certificate, and without cause or reason', (t) => {
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

test('a bad one is reported with its cause and the reason in a sentence', (t) => {
  t.like(measured(http({ status: 503 }), DOWN), {
    ok: false,
    cause: 'status_503',
    reason: 'HTTP 503 instead of 2xx',
    httpStatus: 503,
  });
  t.is(measured(http({ status: 503 }), DOWN).degraded, undefined);
});

test('a degraded one is ok and says so', (t) => {
  t.like(measured(http(), { verdict: 'degraded', cause: 'slow', reason: 'Slow' }), {
    ok: true,
    degraded: true,
    cause: 'slow',
    reason: 'Slow',
  });
});

test('a no vote is reported as what the agent cannot do, whatever its cause', (t) => {
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
  test(`of ${JSON.stringify(observation)} the detail is ${JSON.stringify(detail)}`, (t) => {
    t.deepEqual(measured(observation as Observation, UP).detail, detail as never);
  });
}

test('the answer that made a check fail goes along, without its status, which has a field of its own', (t) => {
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

const assignment = assign(
  {
    monitorId: 'mon_1',
    sourceKey: 'agt_1',
    type: 'http',
    target: 'http://127.0.0.1:9/',
    intervalSeconds: 60,
    timeoutMs: 5000,
    method: 'GET',
    expectedStatus: '2xx',
    followRedirects: true,
    checkSpec: {},
  },
  { outcome: 'opened', secrets: {} },
);

function checker(overrides: Partial<Parameters<typeof createCheck>[0]> = {}) {
  const crashes: unknown[] = [];
  const check = createCheck({
    probe: () => Promise.resolve(http({ status: 500 })),
    judge: openJudge().judge,
    watchStalls: async (work) => ({ result: await work(), ownTime: { tookMs: 100, stalledMs: 0, longestStallMs: 0 } }),
    selfCheck: null,
    now: () => AT_MS,
    onCrash: (_, error) => void crashes.push(error),
    ...overrides,
  });
  return { check, crashes };
}

test('a check that takes long to judge is no vote, and the service learns where', async (t) => {
  const { judge, close } = openJudge();
  t.teardown(() => close());
  const { check } = checker({ judge, probe: () => Promise.resolve(http({ status: 200, body: HOSTILE_BODY })) });
  const hostile = assignment.target && {
    ...assignment,
    target: { ...assignment.target, checkSpec: { assertions: HOSTILE_ASSERTIONS } },
  };
  const judged = resultOf(await check(hostile ?? assignment));
  t.like(judged, { ok: false, cause: 'unsupported_by_agent', httpStatus: 200 });
  t.regex(judged.reason ?? '', /^The 50 ms of computing that a check has were over at text_body matches/);
});

test('a check is judged by what its monitor expects', async (t) => {
  t.like(await checker().check(assignment), {
    monitorId: 'mon_1',
    startedAtMs: AT_MS,
    judgement: { verdict: 'down', cause: 'status_500' },
  });
});

test(
  'of a failing answer is kept what may be; of a good one, and where the self-check says that it does not count, ' +
    'nothing',
  async (t) => {
    const answer = { status: 500, headers: { server: 'nginx' }, bodyStart: Buffer.from('Oops') };
    const answerOf = async (observation: object, overrides: Partial<Parameters<typeof createCheck>[0]> = {}) =>
      (await checker({ probe: () => Promise.resolve(http(observation)), ...overrides }).check(assignment)).answer;
    t.deepEqual(await answerOf(answer), { status: 500, headers: { server: 'nginx' }, body: 'Oops' });
    t.like(await answerOf({ ...answer, hadSecrets: true }), { body: null, bodyWithheld: 'secrets' });
    t.is(await answerOf({ ...answer, status: 200 }), null);
    t.is(
      await answerOf(answer, { selfCheck: () => Promise.resolve({ verdict: 'none', cause: null, reason: 'Cut off' }) }),
      null,
    );
  },
);

test('a probe that crashes is no vote, and told as our bug', async (t) => {
  const { check, crashes } = checker({ probe: () => Promise.reject(new Error('bug')) });
  t.like(await check(assignment), {
    observation: null,
    judgement: { verdict: 'none', cause: null, reason: 'The check could not be run here' },
  });
  t.is(crashes.length, 1);
});

test('what this agent cannot check is not probed, and no vote with its reason', async (t) => {
  const { check } = checker({ probe: () => Promise.reject(new Error('probed')) });
  t.like(await check({ ...assignment, target: null, inability: 'No key' }), {
    judgement: { verdict: 'none', reason: 'No key' },
  });
});

test('the self-check has the last word on a bad result', async (t) => {
  const { check } = checker({ selfCheck: () => Promise.resolve({ verdict: 'none', cause: null, reason: 'Cut off' }) });
  t.like(await check(assignment), { judgement: { verdict: 'none', reason: 'Cut off' } });
});
