import { connect, type Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import anyTest, { type TestFn } from 'ava';
import { createApiToken, generateToken, revokeApiToken } from '../../../models/accounts/api-tokens.ts';
import { until } from '../../helpers/until.ts';
import { agentCaller } from '../agents/agent-caller.ts';
import { isError, withApiServer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const REFUSED_AUTHORIZATIONS: [string, Record<string, string>][] = [
  ['no header', {}],
  ['another scheme', { Authorization: 'Basic c3BrX2E6Yg==' }],
  ['no token', { Authorization: 'Bearer ' }],
  ['an unknown token', { Authorization: `Bearer ${generateToken('spk')}` }],
  ["an agent's token", { Authorization: `Bearer ${generateToken('spa')}` }],
  ['a malformed token', { Authorization: "Bearer spk_'; DROP TABLE tenants" }],
];
for (const [what, headers] of REFUSED_AUTHORIZATIONS) {
  test(`${what} is a 401 that says how to authenticate`, async (t) => {
    const answer = await t.context.api.anonymous('GET', '/v1/monitors', undefined, headers);
    isError(t, answer, { status: 401, error: /Authorization/ });
    t.regex(answer.headers.get('www-authenticate') ?? '', /^Bearer realm="spotcheck"/);
    t.is(answer.headers.get('ratelimit-limit'), '600');
  });
}

test('an Authorization header without "Bearer" is not called an unknown token', async (t) => {
  const { anonymous, account } = t.context.api;
  const { ownerToken } = await account();
  for (const wrong of [ownerToken, `Token ${ownerToken}`, `Basic ${btoa(`x:${ownerToken}`)}`]) {
    const answer = await anonymous('GET', '/v1/monitors', undefined, { Authorization: wrong });
    isError(t, answer, {
      status: 401,
      error: 'the Authorization header must be "Bearer spk_...", got one without "Bearer"',
    });
    t.is(answer.headers.get('www-authenticate'), 'Bearer realm="spotcheck"');
  }
  const person = await anonymous('GET', '/v1/session', undefined, { Authorization: `Basic ${btoa('anyone:x')}` });
  isError(t, person, { status: 401, error: 'you are not signed in, or your session has ended: sign in' });
});

test('a token is refused from the second of its expiry on, and once it is revoked', async (t) => {
  const { database, makeId, anonymous, account } = t.context.api;
  const { tenantId } = await account();
  const issue = async (expiresAt: number | null) => {
    const token = generateToken('spk');
    const id = makeId('tok');
    await createApiToken(
      database,
      { id, tenantId, name: 'x', token, scopes: ['read'], expiresAt, nowMs: Date.now(), author: null },
      10,
    );
    return { id, headers: { Authorization: `Bearer ${token}` } };
  };
  const now = Math.floor(Date.now() / 1000);
  const expired = await issue(now);
  const lasting = await issue(now + 3600);
  isError(t, await anonymous('GET', '/v1/monitors', undefined, expired.headers), {
    status: 401,
    error: /unknown, expired or revoked/,
  });
  t.is((await anonymous('GET', '/v1/monitors', undefined, lasting.headers)).status, 200);
  await revokeApiToken(database, { id: lasting.id, nowMs: Date.now(), author: null });
  isError(t, await anonymous('GET', '/v1/monitors', undefined, lasting.headers), {
    status: 401,
    error: /unknown, expired or revoked/,
  });
});

test('the authentication scheme is case-insensitive', async (t) => {
  const { ownerToken } = await t.context.api.account();
  t.is(
    (await t.context.api.anonymous('GET', '/v1/monitors', undefined, { Authorization: `bearer ${ownerToken}` })).status,
    200,
  );
});

test('unknown paths below /v1 and elsewhere are a 404 with the usual error body', async (t) => {
  const { owner } = await t.context.api.account();
  isError(t, await owner('GET', '/v1/nothing'), { status: 404, error: 'there is no endpoint at this path' });
  isError(t, await owner('GET', '/v1/monitors/a/b/c'), { status: 404, error: 'there is no endpoint at this path' });
  isError(t, await t.context.api.anonymous('GET', '/nothing'), {
    status: 404,
    error: 'there is no endpoint at this path',
  });
});

test('paths are case-sensitive, so that none bypasses the validator', async (t) => {
  const { owner } = await t.context.api.account();
  for (const path of ['/V1/monitors', '/v1/Monitors', '/V1/monitors?limit=x'])
    isError(t, await owner('GET', path), { status: 404, error: 'there is no endpoint at this path' });
  for (const path of ['/V1/monitors', '/v1/MONITORS', '/V1/channels'])
    isError(t, await owner('POST', path, 'null'), { status: 404, error: 'there is no endpoint at this path' });
});

test('a wrong method is a 405 that lists the allowed ones', async (t) => {
  const { owner } = await t.context.api.account();
  const answer = await owner('PUT', '/v1/monitors', {});
  isError(t, answer, { status: 405, error: 'PUT is not allowed here, only GET, POST' });
  t.is(answer.headers.get('allow'), 'GET, POST');
  t.is((await owner('DELETE', '/v1/overview')).headers.get('allow'), 'GET');
  t.is((await owner('POST', '/v1/monitors/mon_1')).headers.get('allow'), 'GET, PATCH, DELETE');
});

test('HEAD returns the headers of GET without the body, even to a read-only token', async (t) => {
  const { reader } = await t.context.api.account();
  const whole = await reader('GET', '/v1/overview');
  const head = await reader('HEAD', '/v1/overview');
  t.like(head, { status: 200, text: '' });
  t.is(head.headers.get('content-length'), whole.headers.get('content-length'));
  t.is((await reader('HEAD', '/v1/monitors/mon_1')).status, 404);
});

test('a malformed, oversized, mistyped or missing body is refused with its own status', async (t) => {
  const { owner } = await t.context.api.account();
  isError(t, await owner('POST', '/v1/monitors', '{"name":'), {
    status: 400,
    error: 'the body must be valid JSON',
  });
  isError(t, await owner('POST', '/v1/monitors', JSON.stringify({ name: 'x'.repeat(262_144) })), {
    status: 413,
    error: 'the body must be at most 262144 bytes',
  });
  isError(t, await owner('POST', '/v1/monitors', 'name=x', { 'Content-Type': 'application/x-www-form-urlencoded' }), {
    status: 415,
    error: 'Content-Type must be application/json, got application/x-www-form-urlencoded',
  });
  for (const coding of ['rot13', 'zstd', 'ZSTD'])
    isError(t, await owner('POST', '/v1/monitors', '{}', { 'Content-Encoding': coding }), {
      status: 415,
      error: 'Content-Encoding must be gzip, deflate or br, or absent',
    });
  isError(t, await owner('POST', '/v1/monitors', '{}', { 'Content-Encoding': 'gzip' }), {
    status: 400,
    error: /must match its Content-Encoding/,
  });
  isError(t, await owner('POST', '/v1/monitors'), { status: 400, error: 'the body is required' });
  isError(t, await owner('PATCH', '/v1/monitors/mon_1'), { status: 400, error: 'the body is required' });
  for (const body of ['null', '[]', '7', '"x"', 'true'])
    isError(t, await owner('POST', '/v1/monitors', body), { status: 400, error: /^the body must be an object, got / });
});

test('incomplete compressed bodies are limited per caller and account, and refused without a caller', async (t) => {
  const { api } = t.context;
  const { hostname, port } = new URL(api.url);
  const account = await api.account();
  const agents = [];
  for (const name of ['one', 'two', 'three']) agents.push(await agentCaller(api, account, name));
  const body = gzipSync('{}');
  const common = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
  const sent = async (path: string, token?: string) => {
    const headers = { ...common, ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
    const answer = await fetch(`${api.url}${path}`, { method: 'POST', headers, body });
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() };
  };
  const hold = (path: string, token: string) => {
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    t.teardown(() => socket.destroy());
    const lines = Object.entries({ ...common, Host: 'a', Authorization: `Bearer ${token}`, 'Content-Length': 1000 });
    socket.write(`POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
    socket.write(body.subarray(0, 10));
    return socket;
  };
  for (const path of ['/v1/session', '/connect/watch', '/connect/open-id/logout']) {
    const { status, text } = await sent(path);
    t.is(status, 415, `${path}: ${text}`);
    t.regex(text, /Content-Encoding must be absent/);
  }
  t.is((await sent('/v1/monitors', account.ownerToken)).status, 400, 'it was read, and lacks a name');
  const callers = [
    ['/v1/monitors', account.ownerToken],
    ...agents.map(({ token }) => ['/agent/v1/pull', token] as const),
  ] as const;
  const held: Socket[] = [];
  for (const [path, token] of callers) {
    const refused = await until(async () => {
      held.push(hold(path, token));
      const answer = await sent(path, token);
      return answer.status === 429 && answer;
    });
    t.regex(refused.text, /(4 compressed bodies of this caller|16 compressed bodies of this account) are being read/);
    t.is(refused.retryAfter, '1');
  }
  const fifth = await agentCaller(api, account, 'four');
  t.regex((await sent('/agent/v1/pull', fifth.token)).text, /16 compressed bodies of this account/);
  t.is((await fifth.post('pull', {})).status, 200, 'an uncompressed body is read');
  t.is((await account.owner('POST', '/v1/monitors', {})).status, 400);
  for (const socket of held) socket.destroy();
  for (const [path, token] of callers) await until(async () => (await sent(path, token)).status !== 429);
});

test('only one brotli body per account is read at a time, whoever sends it', async (t) => {
  const { api } = t.context;
  const { hostname, port } = new URL(api.url);
  const [account, other] = [await api.account(), await api.account()];
  const agent = await agentCaller(api, account, 'one');
  const send = async (path: string, token: string, coding: string) => {
    const answer = await fetch(`${api.url}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Content-Encoding': coding, Authorization: `Bearer ${token}` },
      body: coding === 'br' ? brotliCompressSync('{}') : gzipSync('{}'),
    });
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() };
  };
  t.is((await send('/v1/monitors', account.ownerToken, 'br')).status, 400, 'it was read, and lacks a name');
  const held: Socket[] = [];
  const hold = () => {
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    t.teardown(() => socket.destroy());
    socket.write(
      `POST /v1/monitors HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${account.ownerToken}\r\n` +
        'Content-Type: application/json\r\nContent-Encoding: BR\r\nContent-Length: 1000\r\n\r\n',
    );
    held.push(socket);
  };
  // A held request may start while a body of the agent is being read. The interval keeps the agent within its rate
  // limit.
  const refused = await until(
    async () => {
      if (held.length < 40) hold();
      const answer = await send('/agent/v1/pull', agent.token, 'br');
      return answer.status === 429 && answer;
    },
    { intervalMs: 250 },
  );
  t.regex(refused.text, /1 brotli body of this account is being read already: send fewer at once/);
  t.is(refused.retryAfter, '1');
  t.is((await send('/agent/v1/pull', agent.token, 'gzip')).status, 200);
  t.is((await send('/v1/monitors', other.ownerToken, 'br')).status, 400, 'other accounts are not affected');
  for (const socket of held) socket.destroy();
  await until(async () => (await send('/v1/monitors', account.ownerToken, 'br')).status === 400);
});

test('a body with more than 6,000 values is refused before validation', async (t) => {
  const { owner } = await t.context.api.account();
  isError(t, await owner('POST', '/v1/monitors', { name: 'x', dependencies: Array.from({ length: 6000 }, () => 1) }), {
    status: 400,
    error: 'the body must have at most 6000 values',
  });
  isError(t, await owner('POST', '/v1/monitors', `${'['.repeat(100_000)}${']'.repeat(100_000)}`), {
    status: 400,
    error: 'the body must have at most 6000 values',
  });
  t.is(
    (await owner('POST', '/v1/channels', { monitor_ids: Array.from({ length: 1000 }, (_, index) => `mon_${index}`) }))
      .status,
    201,
  );
});

test('a charset in Content-Type must be UTF-8, because other bytes would be misread', async (t) => {
  const { owner } = await t.context.api.account();
  isError(
    t,
    await owner('POST', '/v1/monitors', { name: 'x' }, { 'Content-Type': 'application/json; charset=latin1' }),
    { status: 415, error: 'the charset of Content-Type must be utf-8' },
  );
  t.is(
    (await owner('POST', '/v1/monitors', { name: 'x' }, { 'Content-Type': 'Application/JSON; charset=UTF-8' })).status,
    201,
  );
});

const SENTENCES: [unknown, string][] = [
  [{}, 'name is required'],
  [{ name: 'x', intervall: 1 }, 'intervall is not a known field'],
  [{ name: 'x', '': 1 }, 'a field with an empty name is not known'],
  [{ name: 'x', check_spec: { request: { '': 1 } } }, 'a field with an empty name is not known'],
  [{ name: 'x', id: 'mon_1', created_at: 1 }, 'id is read-only; created_at is read-only'],
  [{ name: '' }, 'name must be a name of 1 to 255 characters that is not blank, got 0 characters'],
  [{ name: 'x'.repeat(256) }, 'name must be a name of 1 to 255 characters that is not blank, got 256 characters'],
  [
    { name: 'x', type: 'domain', warn_days: -1 },
    'warn_days must be a whole number from 0 to 2147483647, or from 1 to 3650 for a domain monitor, got -1',
  ],
  [
    { name: 'x', type: 'domain', check_spec: { domain: { warnDays: 0 } } },
    'check_spec.domain.warnDays must be a whole number from 1 to 2147483647, or to 3650 for a domain monitor, got 0',
  ],
  [{ name: '😀'.repeat(256) }, 'name must be a name of 1 to 255 characters that is not blank, got 256 characters'],
  [{ name: 7 }, 'name must be a name of 1 to 255 characters that is not blank, got 7'],
  [{ name: 'x', type: 'ftp' }, 'type must be one of http, tcp, icmp, udp, domain, heartbeat, dns, vendor, got "ftp"'],
  [
    { name: 'x', interval_seconds: '60' },
    'interval_seconds must be a whole number from 1 to 86400 (24 hours), got "60"',
  ],
  [
    { name: 'x', interval_seconds: 59.5 },
    'interval_seconds must be a whole number from 1 to 86400 (24 hours), got 59.5',
  ],
  [{ name: 'x', timeout_ms: 20_000 }, 'timeout_ms must be a whole number from 1 to 10000, got 20000'],
  [{ name: 'x', method: 'FETCH' }, 'method must be one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, got "FETCH"'],
  [
    { name: 'x', expected_status: '20x' },
    'expected_status must be at most 128 characters of status codes, such as 200, 2xx or 200,301, or null, got "20x"',
  ],
  [
    { name: 'x', expected_status: Array.from({ length: 33 }, () => '200').join(',') },
    'expected_status must be at most 128 characters of status codes, such as 200, 2xx or 200,301, or null, got 131 ' +
      'characters',
  ],
  [{ name: 'x', sla_target: 0 }, 'sla_target must be a number above 0 and at most 100 or null, got 0'],
  [
    { name: 'x', sla: { target: 101, timezone: 'UTC', hours: '24/7' } },
    'sla.target must be a number above 0 and at most 100, got 101',
  ],
  [{ name: 'x', sla: { target: 99, hours: '24/7' } }, 'sla.timezone is required'],
  [
    { name: 'x', sla: { target: 99, timezone: 'UTC', hours: '' } },
    'sla.hours must be a string of 1 to 200 characters, got 0 characters',
  ],
  [{ name: 'x', sla: 99 }, 'sla must be an object or null, got 99'],
  [{ name: 'x', follow_redirects: 'yes' }, 'follow_redirects must be true, false or a number, got "yes"'],
  [{ name: 'x', agent_sources: 'agt_1' }, 'agent_sources must be a list of at most 100 items, got "agt_1"'],
  [{ name: 'x', agent_sources: [1] }, 'agent_sources[0] must be a string of 0 to 64 characters, got 1'],
  [
    { name: 'x', check_spec: { assertions: [{ source: 'text_body', op: 'gt', value: '1' }] } },
    'check_spec.assertions[0].op must be one of contains, not_contains, matches, got "gt"',
  ],
  [
    { name: 'x', check_spec: { assertions: [{ source: 'header', op: 'exists' }] } },
    'check_spec.assertions[0].name is required',
  ],
  [
    { name: 'x', check_spec: { assertions: [{ source: 'text_body', op: 'matches', value: '(?=a)' }] } },
    'check_spec.assertions[0].value must be a regular expression in RE2 syntax, got "(?=a)"',
  ],
  [
    { name: 'x', check_spec: { request: { headers: { 'a b': 'c' } } } },
    'check_spec.request.headers must have header names of 1 to 256 token characters (RFC 9110)',
  ],
  [
    { name: 'x', check_spec: { request: { secretHeaders: { A: 'hush\n' } } } },
    'check_spec.request.secretHeaders.A must be a header value of at most 8192 characters without line breaks ' +
      '(RFC 9110), got a different value',
  ],
  [
    { name: 'x', check_spec: { request: { auth: { type: 'bearer', token: 7 } } } },
    'check_spec.request.auth.token must be printable ASCII of 1 to 8192 characters without spaces, got a number',
  ],
  [
    { name: 'x', type: 'udp', check_spec: { transport: { payload: 4711, payloadSecret: true } } },
    'check_spec.transport.payload must be a string of 0 to 65536 characters, got a number',
  ],
  [
    { name: 'x', type: 'tcp', check_spec: { transport: { expect: '(?:.{30}){30}'.repeat(40), expectMode: 'regex' } } },
    'check_spec.transport.expect must be a regular expression of at most 10000 characters with its repetitions, ' +
      'Unicode classes and wide ranges written out, got 40800',
  ],
  [
    { name: 'x', check_spec: { dns: {} } },
    'check_spec.dns does not apply to http monitors, only request, assertions, domain, dependencies',
  ],
  [
    { name: 1, interval_seconds: 0 },
    'name must be a name of 1 to 255 characters that is not blank, got 1; interval_seconds must be a whole ' +
      'number from 1 to 86400 (24 hours), got 0',
  ],
];
for (const [index, [body, error]] of SENTENCES.entries()) {
  test(`invalid body ${index} is a 400 with the error: ${error.slice(0, 100)}`, async (t) => {
    const { owner } = await t.context.api.account();
    isError(t, await owner('POST', '/v1/monitors', body), { status: 400, error });
  });
}

test('every response has a request id and rate limit headers, and does not reveal the framework', async (t) => {
  const { owner } = await t.context.api.account();
  for (const answer of [
    await owner('GET', '/v1/monitors'),
    await owner('GET', '/v1/monitors/x'),
    await owner('POST', '/v1/monitors', {}),
    await owner('PUT', '/v1/monitors', {}),
  ]) {
    t.regex(answer.headers.get('x-request-id') ?? '', /^req_/);
    for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'])
      t.regex(answer.headers.get(name) ?? '', /^\d+$/);
    t.is(answer.headers.get('x-powered-by'), null);
    t.is(answer.headers.get('x-content-type-options'), 'nosniff');
  }
});

test('each request logs one line with ids, route and outcome, but no token, query or body', async (t) => {
  const { api } = t.context;
  const { owner, ownerToken, tenantId } = await api.account();
  const answer = await owner('POST', '/v1/monitors', { name: 'do-not-log-this' });
  await owner('GET', '/v1/monitors?q=do-not-log-this');
  const line = api.logLines.find((candidate) => candidate['request_id'] === answer.headers.get('x-request-id'));
  t.like(line, {
    msg: 'request.completed',
    method: 'POST',
    route: '/v1/monitors',
    status: 201,
    outcome: 'answered',
    tenant_id: tenantId,
  });
  t.is(typeof line?.['duration_ms'], 'number');
  const all = JSON.stringify(api.logLines);
  t.false(all.includes('do-not-log-this'));
  t.false(all.includes(ownerToken));
});

test('an internal error is a 500 without details, which are logged', async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  await api.database.pool.query(
    `INSERT INTO monitors (id, tenant_id, name, type, interval_seconds, timeout_ms, follow_redirects,
     down_after_failures, up_after_successes, down_min_sources, state_since, created_at, updated_at, check_spec)
     VALUES ($1, $2, 'broken', 'http', 60, 1000, true, 1, 1, 1, 0, 0, 0, 'null')`,
    [`mon_${tenantId}`, tenantId],
  );
  const answer = await owner('GET', `/v1/monitors/mon_${tenantId}`);
  isError(t, answer, { status: 500, error: 'internal error' });
  const line = api.logLines.find(
    (candidate) => candidate['msg'] === 'request.failed' && candidate['request_id'] === answer.json['request_id'],
  );
  t.truthy(line?.['err']);
});
