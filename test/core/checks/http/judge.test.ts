import test from 'ava';
import { needsBody, type HttpExpectation } from '../../../../core/checks/http/judge.ts';
import type { HttpAnswered, HttpObservation } from '../../../../core/checks/http/observation.ts';
import type { Judgement } from '../../../../core/checks/verdict.ts';
import type { Assertion } from '../../../../core/monitors/monitor.ts';
import { judgeHttp } from '../../../helpers/judge.ts';

const STARTED_AT = 1_800_000_000_000;
const DAY_SECONDS = 86_400;

const search = (pattern: string, text: string): boolean => new RegExp(pattern).test(text);

function answer(overrides: Partial<HttpAnswered> = {}): HttpAnswered {
  return {
    type: 'http',
    outcome: 'answered',
    startedAt: STARTED_AT,
    latencyMs: 120,
    timings: { dnsMs: null, connectMs: 1, tlsMs: null, firstByteMs: 1, downloadMs: 1 },
    certificate: null,
    status: 200,
    headers: {},
    body: null,
    bodyTruncated: false,
    bodyStart: null,
    hadSecrets: false,
    ...overrides,
  };
}

function certificate(days: number) {
  return { subject: 'a', issuer: 'b', validFrom: 0, validTo: STARTED_AT / 1000 + days * DAY_SECONDS };
}

function judge(expectation: Partial<HttpExpectation>, observation: HttpObservation): Judgement {
  return judgeHttp({
    target: { expectedStatus: '2xx', bodyMatch: null, checkSpec: {}, ...expectation },
    observation,
    search,
  });
}

function judgeAssertions(assertions: Assertion[], overrides: Partial<HttpAnswered>): Judgement {
  return judge({ checkSpec: { assertions } }, answer(overrides));
}

const UP: Judgement = { verdict: 'up', cause: null, reason: null };

test('an expected status without further conditions is up', (t) => {
  t.deepEqual(judge({}, answer()), UP);
  t.deepEqual(judge({ expectedStatus: '4xx' }, answer({ status: 404 })), UP);
  t.deepEqual(judge({ expectedStatus: null }, answer({ status: 204 })), UP);
});

test('an unexpected status is down, and the reason names both', (t) => {
  t.deepEqual(judge({}, answer({ status: 503 })), {
    verdict: 'down',
    cause: 'status_503',
    reason: 'HTTP 503 instead of 2xx',
  });
  t.deepEqual(judge({ expectedStatus: '200,301' }, answer({ status: 302 })), {
    verdict: 'down',
    cause: 'status_302',
    reason: 'HTTP 302 instead of 200,301',
  });
  t.like(judge({ expectedStatus: null }, answer({ status: 301 })), { cause: 'status_301' });
});

test('body_match is a case-sensitive substring, and empty or null matches any body', (t) => {
  t.deepEqual(judge({ bodyMatch: 'All good' }, answer({ body: 'So: All good.' })), UP);
  t.deepEqual(judge({ bodyMatch: '' }, answer({ body: null })), UP);
  t.deepEqual(judge({ bodyMatch: 'All good' }, answer({ body: 'all good' })), {
    verdict: 'down',
    cause: 'body_mismatch',
    reason: 'The body does not contain "All good"',
  });
  t.like(judge({ bodyMatch: 'x' }, answer({ body: null })), { cause: 'body_mismatch' });
});

test('a failure before the response is down with the cause of that failure', (t) => {
  const failed = { ...answer(), outcome: 'failed', cause: 'conn_refused', reason: 'Connection refused' } as const;
  t.deepEqual(judge({ expectedStatus: '5xx' }, failed), {
    verdict: 'down',
    cause: 'conn_refused',
    reason: 'Connection refused',
  });
});

for (const cause of ['blocked_target', 'unsupported'] as const) {
  test(`${cause} is no vote`, (t) => {
    t.like(judge({}, { ...answer(), outcome: 'failed', cause, reason: 'why' }), { verdict: 'none', cause });
  });
}

const JSON_BODY =
  '{"status":"ok","n":3,"big":12345678901234567890,"text":"3.0","null":null,"list":[1,"a"],"no":false,"exp":1e21,' +
  '"deep": { "n": [9007199254740993, 1e21, 2.0, 7], "s": "\\u0041 1e5" },' +
  '"point":2.0e0,"huge":1e400,"hash":"12e4","third":0.3333333333333333333333}';

// [path, op, value, whether it holds]; each row covers a line of D-22.
const ON_JSON: [string, string, string | undefined, boolean][] = [
  ['$.status', 'exists', undefined, true],
  ['$.null', 'exists', undefined, true],
  ['$.gone', 'exists', undefined, false],
  ['$.gone', 'not_equals', 'x', false],
  ['$.gone', 'lt', '5', false],
  ['$.gone', 'contains', '', false],
  ['$.status', 'equals', 'ok', true],
  ['$.status', 'equals', 'OK', false],
  ['$.status', 'not_equals', 'down', true],
  ['$.status', 'not_equals', 'ok', false],
  ['$.null', 'equals', 'null', true],
  ['$.null', 'not_equals', '', true],
  ['$.n', 'equals', '3', true],
  ['$.n', 'equals', '3.00', true],
  ['$.n', 'equals', '3 ', false],
  ['$.text', 'equals', '3', true],
  ['$.text', 'not_equals', '3', false],
  ['$.list', 'equals', '[1,"a"]', true],
  ['$.list', 'equals', '[1, "a"]', false],
  ['$.list[1]', 'equals', 'a', true],
  ['$.no', 'equals', 'false', true],
  ['$.n', 'gt', '2.5', true],
  ['$.n', 'gt', '3', false],
  ['$.n', 'lt', '10', true],
  ['$.n', 'lt', '-10', false],
  ['$.status', 'gt', '1', false],
  ['$.big', 'equals', '12345678901234567890', true],
  ['$.big', 'equals', '12345678901234567891', false],
  ['$.big', 'gt', '12345678901234567889', true],
  ['$.deep', 'contains', '9007199254740993', true],
  ['$.deep', 'equals', '{"n":[9007199254740993,1e21,2.0,7],"s":"A 1e5"}', true],
  ['$.deep.n', 'matches', '^\\[9007199254740993,1e21,2\\.0,7]$', true],
  ['$.exp', 'equals', '1e21', true],
  ['$.exp', 'equals', '1000000000000000000000', true],
  ['$.exp', 'equals', '1E+21', true],
  ['$.exp', 'lt', '1000000000000000000001', true],
  ['$.point', 'equals', '2.0e0', true],
  ['$.point', 'equals', '2', true],
  ['$.point', 'matches', '^2\\.0e0$', true],
  ['$.huge', 'equals', '1e400', true],
  ['$.huge', 'gt', '1e399', true],
  ['$.third', 'equals', '0.3333333333333333333333', true],
  ['$.third', 'equals', '0.3333333333333333', false],
  ['$.hash', 'equals', '12e4', true],
  ['$.hash', 'equals', '120000', false],
  ['$.n', 'equals', '0.3e1', true],
  ['$.status', 'lt', '1', false],
  ['$.n', 'gt', 'a', false],
  ['$.status', 'contains', 'k', true],
  ['$.status', 'contains', 'x', false],
  ['$.list', 'contains', '"a"', true],
  ['$.status', 'matches', '^o', true],
  ['$.status', 'matches', '^k', false],
];

for (const [path, op, value, holds] of ON_JSON) {
  test(`json_body ${path} ${op} ${value ?? ''} ${holds ? 'holds' : 'fails'}`, (t) => {
    const assertion: Assertion = { source: 'json_body', op, path, ...(value !== undefined && { value }) };
    const judgement = judgeAssertions([assertion], { body: JSON_BODY });
    if (holds) t.deepEqual(judgement, UP);
    else t.like(judgement, { verdict: 'down', cause: `assert_json_body_${op}` });
  });
}

const ON_HEADERS: [string, string, string | undefined, boolean][] = [
  ['Server', 'exists', undefined, true],
  ['SERVER', 'equals', 'nginx', true],
  ['X-Gone', 'exists', undefined, false],
  ['X-Gone', 'not_equals', 'x', false],
  ['constructor', 'exists', undefined, false],
  ['__proto__', 'exists', undefined, false],
  ['X-Count', 'equals', '10', true],
  ['X-Count', 'gt', '9', true],
  ['X-Id', 'equals', '12345678901234567891', false],
  ['X-Id', 'equals', '12345678901234567890', true],
  ['Set-Cookie', 'contains', 'b=2', true],
  ['Server', 'matches', 'n.*x', true],
];

for (const [name, op, value, holds] of ON_HEADERS) {
  test(`header ${name} ${op} ${value ?? ''} ${holds ? 'holds' : 'fails'}`, (t) => {
    const headers = {
      server: 'nginx',
      'x-count': '10.0',
      'x-id': '12345678901234567890',
      'set-cookie': ['a=1', 'b=2'],
    };
    const judgement = judgeAssertions([{ source: 'header', op, name, ...(value !== undefined && { value }) }], {
      headers,
    });
    if (holds) t.deepEqual(judgement, UP);
    else t.like(judgement, { verdict: 'down', cause: `assert_header_${op}` });
  });
}

test('text_body assertions apply to the raw text and are case-sensitive', (t) => {
  const body = 'Hello world';
  t.deepEqual(judgeAssertions([{ source: 'text_body', op: 'contains', value: 'world' }], { body }), UP);
  t.deepEqual(judgeAssertions([{ source: 'text_body', op: 'not_contains', value: 'World' }], { body }), UP);
  t.like(judgeAssertions([{ source: 'text_body', op: 'not_contains', value: 'world' }], { body }), {
    cause: 'assert_text_body_not_contains',
  });
  t.like(judgeAssertions([{ source: 'text_body', op: 'matches', value: '^world' }], { body }), {
    cause: 'assert_text_body_matches',
  });
});

test('a body that is not JSON or was truncated fails with that reason', (t) => {
  const exists: Assertion = { source: 'json_body', op: 'exists', path: '$' };
  t.like(judgeAssertions([exists], { body: '<html>' }), { verdict: 'down', reason: 'The body is not JSON' });
  t.like(judgeAssertions([exists], { body: '' }), { verdict: 'down', reason: 'The body is not JSON' });
  t.like(judgeAssertions([exists], { body: '{"a":', bodyTruncated: true }), {
    reason: 'The body is too long to be read as JSON',
  });
});

test('a slow response degrades, also at exactly the limit', (t) => {
  const limit: Assertion = { source: 'response_time', op: 'lt', value: '200' };
  t.deepEqual(judgeAssertions([limit], { latencyMs: 199.9 }), UP);
  t.deepEqual(judgeAssertions([limit], { latencyMs: 200 }), {
    verdict: 'degraded',
    cause: 'slow',
    reason: 'The response took 200 ms, expected less than 200 ms',
  });
});

test('a certificate that expires soon, or a missing one, degrades', (t) => {
  const soon: Assertion = { source: 'cert_expiry', op: 'gt', value: '14' };
  t.deepEqual(judgeAssertions([soon], { certificate: certificate(14.5) }), UP);
  t.deepEqual(judgeAssertions([soon], { certificate: certificate(3.9) }), {
    verdict: 'degraded',
    cause: 'cert_expiring',
    reason: 'The certificate expires in 3 days, expected more than 14 days',
  });
  t.like(judgeAssertions([soon], { certificate: null }), {
    verdict: 'degraded',
    cause: 'cert_expiring',
    reason: 'There is no certificate: the response came without TLS',
  });
});

test("the opposite comparisons degrade with the assertion's own cause", (t) => {
  t.like(judgeAssertions([{ source: 'response_time', op: 'gt', value: '500' }], {}), {
    verdict: 'degraded',
    cause: 'assert_response_time_gt',
  });
  const lt: Assertion = { source: 'cert_expiry', op: 'lt', value: '90' };
  t.like(judgeAssertions([lt], { certificate: certificate(100) }), {
    verdict: 'degraded',
    cause: 'assert_cert_expiry_lt',
  });
});

test('status is judged first, then body_match, then content assertions in order, then what degrades', (t) => {
  const assertions: Assertion[] = [
    { source: 'response_time', op: 'lt', value: '1' },
    { source: 'text_body', op: 'contains', value: 'first' },
    { source: 'header', op: 'exists', name: 'X-Second' },
    { source: 'cert_expiry', op: 'gt', value: '1' },
  ];
  const target = { bodyMatch: 'needle', checkSpec: { assertions } };
  t.like(judge(target, answer({ status: 500, body: '' })), { cause: 'status_500' });
  t.like(judge(target, answer({ body: '' })), { cause: 'body_mismatch' });
  t.like(judge(target, answer({ body: 'needle' })), { verdict: 'down', cause: 'assert_text_body_contains' });
  t.like(judge(target, answer({ body: 'needle first' })), { verdict: 'down', cause: 'assert_header_exists' });
  t.like(judge(target, answer({ body: 'needle first', headers: { 'x-second': '' } })), {
    verdict: 'degraded',
    cause: 'slow',
  });
  t.like(judge(target, answer({ body: 'needle first', headers: { 'x-second': '' }, latencyMs: 0.5 })), {
    verdict: 'degraded',
    cause: 'cert_expiring',
  });
});

test('a reason never repeats the content of a body or header', (t) => {
  const secret = 'hunter2';
  const overrides = { body: `{"echo":"${secret}"}`, headers: { 'x-echo': secret } };
  for (const op of ['equals', 'gt', 'contains', 'matches']) {
    const judgements = [
      judgeAssertions([{ source: 'json_body', op, path: '$.echo', value: '1' }], overrides),
      judgeAssertions([{ source: 'header', op, name: 'X-Echo', value: '1' }], overrides),
      judgeAssertions([{ source: 'text_body', op: 'contains', value: 'gone' }], overrides),
    ];
    for (const { verdict, reason } of judgements) {
      t.is(verdict, 'down');
      t.false(reason?.includes(secret));
    }
  }
});

test('a long value is truncated in the reason', (t) => {
  const { reason } = judgeAssertions([{ source: 'text_body', op: 'contains', value: 'x'.repeat(1_000) }], { body: '' });
  t.true((reason?.length ?? 0) < 100);
  t.true(reason?.endsWith('..."'));
});

test('a reason is well-formed text on one line, whatever value the monitor expects', (t) => {
  const value = `line\none\u0000${'x'.repeat(50)}😀`;
  const { reason } = judgeAssertions([{ source: 'text_body', op: 'contains', value }], { body: '' });
  t.notRegex(reason ?? '', /[\n\0]/);
  t.true(reason?.isWellFormed());
});

test('only body_match and body assertions need the body', (t) => {
  const none = { expectedStatus: null, bodyMatch: null, checkSpec: {} };
  t.false(needsBody(none));
  t.false(needsBody({ ...none, bodyMatch: '' }));
  t.true(needsBody({ ...none, bodyMatch: 'x' }));
  for (const [source, needed] of [
    ['text_body', true],
    ['json_body', true],
    ['header', false],
    ['response_time', false],
    ['cert_expiry', false],
  ] as const) {
    t.is(needsBody({ ...none, checkSpec: { assertions: [{ source, op: 'lt' }] } }), needed, source);
  }
});
