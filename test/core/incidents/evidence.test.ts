import test from 'ava';
import { assert, integer, property } from 'fast-check';
import type { HttpAnswered } from '../../../core/checks/http/observation.ts';
import type { Observation } from '../../../core/checks/observation.ts';
import type { Verdict, Vote } from '../../../core/checks/verdict.ts';
import {
  cleanAnswer,
  extractAnswerEvidence,
  isFirstFailure,
  readTimings,
  roundTimings,
  storesTimings,
  timingsOf,
  toFailureEvidence,
  writeTimings,
} from '../../../core/incidents/evidence.ts';
import type { CheckTarget, TransportSpec } from '../../../core/monitors/monitor.ts';
import { httpTarget } from '../../helpers/check-target.ts';

const NONE = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, downloadMs: null };
const WINDOW_MS = 600_000;

test('timings are rounded to whole milliseconds, and there are none if no step happened', (t) => {
  t.deepEqual(roundTimings({ dnsMs: 1.4, connectMs: 0.2, tlsMs: null, firstByteMs: 99.5 }), {
    ...NONE,
    dnsMs: 1,
    connectMs: 0,
    firstByteMs: 100,
  });
  t.is(roundTimings(NONE), null);
  t.is(roundTimings({}), null);
});

test('invalid timings are dropped, and longer ones are capped at 600 s', (t) => {
  t.is(roundTimings({ dnsMs: '5', connectMs: -1, tlsMs: Number.NaN, firstByteMs: {}, other: 4 }), null);
  t.deepEqual(roundTimings({ tlsMs: 9e12 }), { ...NONE, tlsMs: 600_000 });
});

test('timings are read as they were written', (t) => {
  for (const timings of [
    { ...NONE, connectMs: 0, firstByteMs: 8 },
    { dnsMs: 4, connectMs: 11, tlsMs: 23, firstByteMs: 22, downloadMs: 2 },
  ])
    t.deepEqual(readTimings(writeTimings(timings)), timings);
  t.is(writeTimings({ ...NONE, dnsMs: 4, downloadMs: 600_000 }), '4 - - - 600000');
});

test('an observation has the timings of its protocol', (t) => {
  t.deepEqual(
    timingsOf({ type: 'udp', startedAt: 0, dnsMs: 2.6, outcome: 'silent', latencyMs: null, isRefused: false }),
    { ...NONE, dnsMs: 3 },
  );
  t.deepEqual(
    timingsOf({
      type: 'tcp',
      startedAt: 0,
      timings: { ...NONE, connectMs: 7.2 },
      outcome: 'connected',
      latencyMs: 7,
      answer: null,
    }),
    { ...NONE, connectMs: 7 },
  );
  t.is(
    timingsOf({
      type: 'icmp',
      outcome: 'unavailable',
      startedAt: 0,
      latencyMs: null,
      reason: 'Not here',
    } satisfies Observation),
    null,
  );
  t.is(timingsOf(null), null);
});

test('a failure without timings and response stores no evidence', (t) => {
  t.is(toFailureEvidence({ phases: null, answer: null }), null);
  t.deepEqual(toFailureEvidence({ phases: { ...NONE, dnsMs: 1 }, answer: null }), {
    phases: { ...NONE, dnsMs: 1 },
    answer: null,
  });
});

test('results other than up always keep their timings', (t) => {
  for (const verdict of ['down', 'degraded', 'none'] as const) t.true(storesTimings({ verdict, dueAtMs: 599_999 }, 1));
});

test('only the first success in every ten minutes keeps its timings, and every one at longer intervals', (t) => {
  assert(
    property(integer({ min: 1, max: 86_400 }), integer({ min: 0, max: 86_400_000 }), (intervalSeconds, offsetMs) => {
      const everyMs = intervalSeconds * 1000;
      const dues = Array.from(
        { length: Math.ceil((6 * WINDOW_MS) / everyMs) + 2 },
        (_, tick) => 1_800_000_000_000 + (offsetMs % everyMs) + tick * everyMs,
      );
      const stored = dues.filter((dueAtMs) => storesTimings({ verdict: 'up', dueAtMs }, intervalSeconds));
      if (everyMs >= WINDOW_MS) return stored.length === dues.length;
      const byWindow = Map.groupBy(dues, (dueAtMs) => Math.floor(dueAtMs / WINDOW_MS));
      // The first window may have begun before the first due time.
      return [...byWindow]
        .slice(1)
        .every(
          ([slot, inWindow]) =>
            stored.filter((dueAtMs) => Math.floor(dueAtMs / WINDOW_MS) === slot).join() === String(inWindow[0]),
        );
    }),
  );
  t.pass();
});

const NO_TIMINGS = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, downloadMs: null };
const TARGET = httpTarget({ target: 'http://shop.example/' });

type Given = {
  headers?: HttpAnswered['headers'];
  body?: string | Uint8Array | null;
  hadSecrets?: boolean;
  target?: CheckTarget;
};

function evidenceOf({ headers = {}, body = null, hadSecrets = false, target = TARGET }: Given = {}) {
  const bodyStart = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const observation = {
    type: 'http',
    outcome: 'answered',
    startedAt: 0,
    latencyMs: 1,
    timings: NO_TIMINGS,
    certificate: null,
    status: 503,
    headers,
    body: null,
    bodyTruncated: false,
    bodyStart,
    hadSecrets,
  } as const;
  return extractAnswerEvidence({ target, observation });
}

test('a response is stored with its status, headers and the start of its body', (t) => {
  t.deepEqual(evidenceOf({ headers: { server: 'nginx', 'x-trace': ['a', 'b'] }, body: 'Sorry,\n\tback soon: ü' }), {
    status: 503,
    headers: { server: 'nginx', 'x-trace': 'a, b' },
    body: 'Sorry,\n\tback soon: ü',
  });
  t.is(evidenceOf()?.body, null);
  t.is(evidenceOf({ body: '' })?.body, '');
});

const NEVER_STORED = [
  'set-cookie',
  'cookie',
  'authorization',
  'proxy-authorization',
  'www-authenticate',
  'x-auth-user',
  'x-api-key',
  'x-amz-security-token',
  'x-csrf',
  'x-session-id',
  'my-secret',
  'x-signature',
  'x-password',
  'x-passphrase',
  `x-${'long-'.repeat(20)}token`,
  'x-pass',
  'x-db-pass',
  'x-sid',
  'x-otp',
  'x-pin',
  'x-sig',
  'x-hmac',
  'x-ticket',
];
for (const name of NEVER_STORED) {
  test(`the header ${name} is never stored`, (t) => {
    t.deepEqual(evidenceOf({ headers: { [name]: 'x', [name.toUpperCase()]: 'x' } })?.headers, {});
  });
}

test('at most 30 headers of 200 characters are stored, without control characters', (t) => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x-${index}`, 'v']));
  t.is(Object.keys(evidenceOf({ headers: many })?.headers ?? {}).length, 30);
  const long = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`x-${index}`, 'v'.repeat(5000)]));
  const stored = evidenceOf({ headers: long })?.headers ?? {};
  t.is(stored['x-0']?.length, 200);
  t.true(JSON.stringify(stored).length < 2500);
  t.is(evidenceOf({ headers: { 'x-odd': 'a\u0000\u001b[31mb' } })?.headers['x-odd'], 'a [31mb');
});

test('a URL in a header loses its credentials, query and fragment', (t) => {
  t.is(
    evidenceOf({ headers: { location: 'https://me:pw@shop.example/login?token=1#x' } })?.headers['location'],
    'https://shop.example/login',
  );
  t.is(evidenceOf({ headers: { location: '//me@shop.example/a' } })?.headers['location'], '//shop.example/a');
  t.is(evidenceOf({ headers: { location: '/login?next=%2F' } })?.headers['location'], '/login');
});

test('URLs in any part of any header lose their credentials and query', (t) => {
  const headers = {
    link: '<https://me:pw@shop.example/p>; rel=next, <https://me:pw@shop.example/q>',
    refresh: '5; url=https://me:p@w@shop.example/',
    location: String.raw`https:\\me:pw@shop.example/`,
    'x-original': 'GET https://me:pw@shop.example/login?token=1 "/a?b=c"',
  };
  t.deepEqual(evidenceOf({ headers })?.headers, {
    link: '<https://shop.example/p>; rel=next, <https://shop.example/q>',
    refresh: '5; url=https://shop.example/',
    location: 'https://shop.example/',
    'x-original': 'GET https://shop.example/login "/a"',
  });
});

const SHOWN: [name: string, value: string, shown: string][] = [
  ['location', '/login;jsessionid=0123456789ABCDEF0123', '/login'],
  ['location', '/a;PHPSESSID=1/b;v=2;sid=3?x', '/a/b;v=2'],
  ['x-original', 'GET /a;access_token=1/b;sid=2', 'GET /a/b'],
  ['link', '<https://me:pa?ss@host/>', '<https://'],
  ['content-location', 'https://me:pa#ss@h/', 'https://'],
  ['x-url', 'https://me:pa?ss@host/a b', 'https:// b'],
  ['x-url', 'https://good.example?email=a@evil.example/x', 'https://'],
  ['x-url', 'https://shop.example/?email=a@evil.example/x', 'https://shop.example/'],
  ['hx-redirect', 'https://app.example/cb#access_token=abcdef', 'https://app.example/cb'],
  ['x-next', 'login?email=a', 'login'],
  ['origin-agent-cluster', '?1', '?1'],
  ['deprecation', '?1', '?1'],
  ['priority', 'u=1, i=?0', 'u=1, i=?0'],
  ['x-message', 'Why?Because', 'Why?Because'],
  ['content-disposition', 'attachment; filename="a?b.txt"', 'attachment; filename="a?b.txt"'],
  ['x-e', 'Really?', 'Really?'],
];
for (const [name, value, shown] of SHOWN)
  test(`${name}: ${value} is stored as ${shown}`, (t) =>
    t.deepEqual(evidenceOf({ headers: { [name]: value } })?.headers, { [name]: shown }));

const WITH_CREDENTIAL = [
  'Authorization: Bearer abc',
  'authorization:abc',
  'basic bWU6cHc=',
  'Basic YTpi',
  'Basic token abcdef0123',
  'the bearer token abcdef0123',
  'Bearer abcdefghi',
  'Bearer:abcdefghi',
  'Token abcdef0123',
  'Digest username="me", response="6629fae"',
  'NTLM TlRMTVNTUAAB',
  'Negotiate YIIJvwYGKwYB',
  'id=eyJhbGciOiJIUzI1NiJ9.e30.x',
  'id_eyJhbGciOiJIUzI1NiJ9.e30.sig',
  'Cookie: sid=abc123',
  'Cookie: a',
  '{"Set-Cookie":"sid=abcdef"}',
  '{"access_token": "abcdef"}',
  'token=abcdef password=hunter2',
  'PHPSESSID=abc',
  'a;token="abcdef"',
  'password: hunter2',
];
for (const value of WITH_CREDENTIAL)
  test(`the value ${value} is never stored`, (t) =>
    t.deepEqual(evidenceOf({ headers: { 'x-a': value } })?.headers, {}));

const WITHOUT_CREDENTIAL = {
  'x-a': 'a basic page',
  'x-reason': 'invalid_token: the bearer token expired',
  'x-error': 'Session expired (token invalid), bearer authentication is required.',
  'x-basic': 'basic authentication required',
  'x-bypass-cache': '1',
  'x-compass': 'north',
  vary: 'Cookie, Authorization',
  'cache-control': 'no-cache="Set-Cookie", max-age=1',
  'access-control-allow-headers': 'authorization, x-api-key',
  'permissions-policy': 'publickey-credentials-get=(self), otp-credentials=()',
  'server-timing': 'auth;dur=53',
  'content-security-policy': "default-src 'self';base-uri 'self';img-src 'self' data:;upgrade-insecure-requests",
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
};
for (const [name, value] of Object.entries(WITHOUT_CREDENTIAL))
  test(`${name}: ${value} is stored`, (t) =>
    t.deepEqual(evidenceOf({ headers: { [name]: value } })?.headers, { [name]: value }));

test('a header of a megabyte of slashes and queries is stored in under 2 s of CPU time', (t) => {
  const before = process.threadCpuUsage().user;
  for (const piece of ['/', '//a', '?', '?a', '@', 'eyJ-', 'basic ', '/?//', ';key', '//?@', 'a'])
    for (const name of ['link', 'x-odd']) evidenceOf({ headers: { [name]: piece.repeat(1_000_000 / piece.length) } });
  t.true((process.threadCpuUsage().user - before) / 1000 < 2000);
});

test('a body that is not text by its content type or its bytes is withheld', (t) => {
  const withheld = { body: null, bodyWithheld: 'not_text' };
  t.like(evidenceOf({ headers: { 'content-type': 'image/png' }, body: 'PNG' }), withheld);
  t.like(evidenceOf({ headers: { 'content-type': 'application/octet-stream' }, body: 'x' }), withheld);
  t.like(evidenceOf({ headers: { 'content-type': 'text/plain' }, body: Uint8Array.of(0x61, 0xff, 0x61) }), withheld);
  t.like(evidenceOf({ body: 'a\0b' }), withheld);
});

test('text is recognized by its content type or else its bytes, and Latin-1 is decoded if declared', (t) => {
  for (const type of [
    'text/html',
    'application/json; charset=utf-8',
    'application/problem+json',
    'application/xml',
    'APPLICATION/JSON',
  ]) {
    t.is(evidenceOf({ headers: { 'content-type': type }, body: '{}' })?.body, '{}', type);
  }
  t.is(evidenceOf({ body: 'bare' })?.body, 'bare');
  t.is(
    evidenceOf({ headers: { 'content-type': 'text/plain; charset=iso-8859-1' }, body: Uint8Array.of(0xfc) })?.body,
    'ü',
  );
});

test('a partial character at the end is dropped, and control characters are replaced', (t) => {
  const text = new TextEncoder().encode('ü'.repeat(600));
  t.is(evidenceOf({ body: text.subarray(1).subarray(1, 1024) })?.body, 'ü'.repeat(511));
  t.is(evidenceOf({ body: 'a\u001b[31mb\r\n' })?.body, 'a\uFFFD[31mb\r\n');
});

test('a check with secrets stores only headers whose format cannot carry one, and no body', (t) => {
  const harmless = {
    'retry-after': '5',
    'content-type': 'text/html; charset=utf-8',
    'content-length': '99',
    age: '0',
    date: 'Sat, 21 Nov 2026 20:00:00 GMT',
    'content-encoding': 'gzip',
    'transfer-encoding': 'chunked',
    connection: 'close',
  };
  const free = {
    server: 'nginx',
    via: 'hidden',
    location: '/x/hidden',
    allow: 'hid',
    'x-served-by': 'hidd',
    'x-cache': 'HIT',
    etag: 'x',
    'cache-control': 'no-store',
    link: '</hidden>',
  };
  t.deepEqual(evidenceOf({ headers: { ...harmless, ...free }, body: 'hidden', hadSecrets: true }), {
    status: 503,
    headers: harmless,
    body: null,
    bodyWithheld: 'secrets',
  });
});

test('a harmless header is not stored if it is malformed or repeats a secret', (t) => {
  const target = { ...TARGET, secrets: { secretHeaders: { 'X-Pin': '4711' } } };
  const headers = {
    'content-type': 'text/plain; boundary=hidden',
    age: 'hidden',
    date: 'hidden',
    'content-length': '14711',
    'retry-after': 'Bearer hidden',
    connection: 'hidden',
    'content-encoding': 'hidden',
  };
  t.deepEqual(evidenceOf({ headers, hadSecrets: true, target })?.headers, {});
});

function transportTarget(type: 'tcp' | 'udp', transport: TransportSpec): CheckTarget {
  return { ...TARGET, type, checkSpec: { transport } };
}

test('up to 1024 characters of a tcp or udp response are stored unless it is secret or not text', (t) => {
  const tcp = (text: string, transport: TransportSpec = {}) =>
    extractAnswerEvidence({
      target: transportTarget('tcp', transport),
      observation: {
        type: 'tcp',
        startedAt: 0,
        timings: NO_TIMINGS,
        outcome: 'connected',
        latencyMs: 1,
        answer: { text, bytes: text, byteLength: 1, end: 'closed' },
      },
    });
  const udp = (reply: string) =>
    extractAnswerEvidence({
      target: transportTarget('udp', {}),
      observation: {
        type: 'udp',
        startedAt: 0,
        dnsMs: null,
        outcome: 'replied',
        latencyMs: 1,
        reply,
        replyBytes: reply,
      },
    });
  t.deepEqual(tcp('421 busy\r\n'), { status: null, headers: {}, body: '421 busy\r\n' });
  t.is(tcp('x'.repeat(4096))?.body?.length, 1024);
  t.deepEqual(tcp('421 busy', { payloadSecret: true }), {
    status: null,
    headers: {},
    body: null,
    bodyWithheld: 'secrets',
  });
  t.deepEqual(udp('a\uFFFDb'), { status: null, headers: {}, body: null, bodyWithheld: 'not_text' });
  t.is(udp('pong')?.body, 'pong');
});

test('there is no response evidence without a response', (t) => {
  t.is(extractAnswerEvidence({ target: TARGET, observation: null }), null);
  t.is(
    extractAnswerEvidence({
      target: TARGET,
      observation: {
        type: 'http',
        outcome: 'failed',
        startedAt: 0,
        latencyMs: 1,
        timings: NO_TIMINGS,
        certificate: null,
        cause: 'timeout',
        reason: 'x',
      },
    }),
    null,
  );
});

test("a response reported by an agent is sanitized like the service's own", (t) => {
  const clean = (reported: unknown, hasSecrets = false) => cleanAnswer(reported, { status: 502, hasSecrets });
  t.deepEqual(
    clean({ headers: { Server: 'nginx', 'Set-Cookie': 'a=b', 'x-n': 5, location: '/a?b' }, body: 'Bad\u001b gateway' }),
    { status: 502, headers: { server: 'nginx', 'x-n': '', location: '/a' }, body: 'Bad\uFFFD gateway' },
  );
  t.is(clean({ body: 'x'.repeat(99_999) })?.body?.length, 1024);
  t.deepEqual(clean({ headers: { server: 'hidden', 'retry-after': '5' }, body: 'hidden' }, true), {
    status: 502,
    headers: { 'retry-after': '5' },
    body: null,
    bodyWithheld: 'secrets',
  });
  t.deepEqual(clean({ bodyWithheld: 'secrets' }), { status: 502, headers: {}, body: null, bodyWithheld: 'secrets' });
  t.deepEqual(clean({ body: 'a\0b' }), { status: 502, headers: {}, body: null, bodyWithheld: 'not_text' });
  t.deepEqual(clean({ headers: ['x'], body: 7, bodyWithheld: 'because' }), { status: 502, headers: {}, body: null });
});

test('a malformed agent response is dropped', (t) => {
  for (const odd of [null, undefined, 'text', 5, []]) t.is(cleanAnswer(odd, { status: null, hasSecrets: false }), null);
});

const FIRSTS: readonly [Vote, Verdict | null, boolean][] = [
  ['up', null, false],
  ['none', null, false],
  ['down', null, true],
  ['down', 'up', true],
  ['down', 'degraded', true],
  ['down', 'down', false],
  ['degraded', null, true],
  ['degraded', 'degraded', false],
  ['degraded', 'down', false],
];
for (const [verdict, vote, isFirst] of FIRSTS) {
  test(`${verdict} from a source that votes ${vote} ${isFirst ? 'can be' : 'is not'} its first failure`, (t) => {
    t.is(isFirstFailure(verdict, vote), isFirst);
  });
}
