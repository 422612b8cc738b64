import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import zlib from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { listOf } from '../helpers/api-client.ts';
import { until } from '../helpers/until.ts';
import { startWatchman } from './private-network.ts';
import { ANSWER_MS, withServiceUnderAttack, type RawAnswer, type ServiceUnderAttack } from './service-under-attack.ts';

let service: ServiceUnderAttack;
withServiceUnderAttack(test, (started) => {
  service = started;
});

/** Time limit for the response to a well-behaved client, whatever others do, in milliseconds. */
const NEIGHBOUR_MS = 5000;

/** Returns the headers that get a request past authentication. */
const caller = () => `Host: localhost\r\nAuthorization: Bearer ${service.token}\r\n`;
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\n${caller()}${headers}\r\n`;
const post = (path: string, headers: string, body = '') =>
  `POST ${path} HTTP/1.1\r\n${caller()}Content-Type: application/json\r\n${headers}\r\n\r\n${body}`;
const send = (path: string, body: string) => post(path, `Content-Length: ${Buffer.byteLength(body)}`, body);

/** A body that no operation accepts: a request smuggled past the validator with it gets a response other than 400. */
const BAD_BODY = '{"no_such_field":1}';
/** A complete request inside a request: any response to it is one too many. */
const HIDDEN = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** Asserts the shape of every error (D-03), including its id in the header. */
function isOurError(t: ExecutionContext, { status, head, body }: RawAnswer, what: string): void {
  t.true(status >= 400 && status < 500, `${what}: ${status} ${body}`);
  t.true(body.startsWith('{'), `${what}: ${body}`);
  const { error, request_id: id, ...rest } = JSON.parse(body);
  t.regex(String(error), /\w/, what);
  t.deepEqual(rest, {}, what);
  t.regex(head, new RegExp(`^x-request-id: ${id}$`, 'im'), what);
}

/**
 * Asserts that at least one of ten requests of another client is served in time. On a busy machine a single request may
 * be slow for other reasons, but a blocked client is slow every time.
 */
async function neighbourIsAnswered(t: ExecutionContext): Promise<void> {
  const waitedMs: number[] = [];
  while (waitedMs.length < 10 && !waitedMs.some((ms) => ms < NEIGHBOUR_MS)) {
    const { status, ms } = await service.call('GET', '/overview');
    t.is(status, 200);
    waitedMs.push(ms);
  }
  t.true(Math.min(...waitedMs) < NEIGHBOUR_MS, `the neighbour waited ${waitedMs.join(', ')} ms`);
}

/**
 * Sends each text over a separate connection, all at once, and passes the responses to `holds`. Another client must be
 * served meanwhile.
 */
async function attack(
  t: ExecutionContext,
  requests: Record<string, () => string | Buffer>,
  holds: (answers: readonly RawAnswer[], what: string) => void,
): Promise<void> {
  const talks = Object.entries(requests).map(async ([what, make]) => ({ what, talk: await service.talk(make()) }));
  await neighbourIsAnswered(t);
  for (const { what, talk } of await Promise.all(talks)) holds(talk.answers, what);
}

const BODY = 'Content-Length: 6\r\nTransfer-Encoding: chunked';

const SMUGGLED: Record<string, () => string> = {
  'CL.TE': () => post('/v1/monitors', BODY, `0\r\n\r\n${HIDDEN}`),
  'TE.CL': () => post('/v1/monitors', 'Transfer-Encoding: chunked\r\nContent-Length: 6', `0\r\n\r\n${HIDDEN}`),
  'two lengths': () => post('/v1/monitors', 'Content-Length: 0\r\nContent-Length: 45', HIDDEN),
  'the same length twice': () => post('/v1/monitors', 'Content-Length: 2\r\nContent-Length: 2', `{}${HIDDEN}`),
  'a list of lengths': () => post('/v1/monitors', 'Content-Length: 2, 2', `{}${HIDDEN}`),
  'a length with a sign': () => post('/v1/monitors', 'Content-Length: +2', `{}${HIDDEN}`),
  'a negative length': () => post('/v1/monitors', 'Content-Length: -1', HIDDEN),
  'a hexadecimal length': () => post('/v1/monitors', 'Content-Length: 0x2', `{}${HIDDEN}`),
  'a length out of range': () => post('/v1/monitors', 'Content-Length: 99999999999999999999', HIDDEN),
  'a length with a space in it': () => post('/v1/monitors', 'Content-Length: 2 2', `{}${HIDDEN}`),
  'an unknown transfer coding': () => post('/v1/monitors', 'Transfer-Encoding: xchunked', `0\r\n\r\n${HIDDEN}`),
  'chunked before another coding': () =>
    post('/v1/monitors', 'Transfer-Encoding: chunked, identity', `0\r\n\r\n${HIDDEN}`),
  'chunked, then a conflicting header': () =>
    post('/v1/monitors', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', `0\r\n\r\n${HIDDEN}`),
  'a space before the colon': () => post('/v1/monitors', 'Transfer-Encoding : chunked', `0\r\n\r\n${HIDDEN}`),
  'a folded header': () => get('/v1/overview', 'X-A: a\r\n Content-Length: 45\r\n') + HIDDEN,
  'a folded transfer coding': () => post('/v1/monitors', 'Transfer-Encoding:\r\n chunked', `0\r\n\r\n${HIDDEN}`),
  'headers that end in line feeds only': () =>
    `POST /v1/monitors HTTP/1.1\n${caller().replaceAll('\r', '')}Content-Length: 45\n\n${HIDDEN}`,
  'a carriage return without a line feed': () => get('/v1/overview', 'X-A: a\rContent-Length: 45\r\n') + HIDDEN,
  'chunks that end in line feeds only': () =>
    post('/v1/monitors', 'Transfer-Encoding: chunked', `2\n{}\n0\n\n${HIDDEN}`),
  'a chunk with a sign': () => post('/v1/monitors', 'Transfer-Encoding: chunked', `-2\r\n{}\r\n0\r\n\r\n${HIDDEN}`),
  'a chunk size out of range': () =>
    post('/v1/monitors', 'Transfer-Encoding: chunked', `fffffffffffffffff2\r\n{}\r\n0\r\n\r\n${HIDDEN}`),
  'a chunk longer than its size': () =>
    post('/v1/monitors', 'Transfer-Encoding: chunked', `1\r\n{}\r\n0\r\n\r\n${HIDDEN}`),
  'NUL in a header': () => get('/v1/overview', 'X-A: a\0b\r\n') + HIDDEN,
  'a header without a name': () => get('/v1/overview', ': a\r\n') + HIDDEN,
  'a header without a colon': () => get('/v1/overview', 'Foo\r\n') + HIDDEN,
  'a request line with two paths': () => `GET /v1/overview /healthz HTTP/1.1\r\n${caller()}\r\n`,
  'another protocol': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'an unknown HTTP version': () => `GET /healthz HTTP/1.9\r\n${caller()}\r\n`,
  'a TLS handshake': () => '\x16\x03\x01\x00\xee\x01\x00\x00\xea\x03\x03',
  noise: () => '\xff\xfe\x00\x01'.repeat(100),
};

test.serial('a request that could be parsed as two gets one error, and the connection is closed', async (t) => {
  const talks = Object.entries(SMUGGLED).map(async ([what, make]) => ({
    what,
    talk: await service.talk(make(), ANSWER_MS),
  }));
  await neighbourIsAnswered(t);
  for (const { what, talk } of await Promise.all(talks)) {
    t.is(talk.answers.length, 1, what);
    for (const answer of talk.answers) isOurError(t, answer, what);
    t.true(talk.isClosed, what);
  }
});

const ODD_FORMS: Record<string, () => string> = {
  'HTTP/0.9': () => 'GET /v1/overview\r\n\r\n',
  'no Host': () => `GET /v1/overview HTTP/1.1\r\nAuthorization: Bearer ${service.token}\r\n\r\n`,
  'two Hosts': () => get('/v1/overview', 'Host: evil.example\r\n'),
  'an unknown expectation': () => send('/v1/monitors', BAD_BODY).replace('\r\n', '\r\nExpect: the-unexpected\r\n'),
  'CONNECT to a database': () => `CONNECT 127.0.0.1:5432 HTTP/1.1\r\n${caller()}\r\n`,
  'CONNECT to a path': () => `CONNECT /v1/monitors HTTP/1.1\r\n${caller()}\r\n`,
  'one header of 20 KiB': () => get('/v1/overview', `X-A: ${'a'.repeat(20_000)}\r\n`),
  'five thousand headers': () => get('/v1/overview', 'a: b\r\n'.repeat(5000)),
  'a path of 20 KiB': () => get(`/v1/${'a'.repeat(20_000)}`),
  'a query of 15 KiB': () => get(`/v1/monitors?${'a=b&'.repeat(3800)}`),
  'a query with four thousand brackets': () => get(`/v1/monitors?a${'[b]'.repeat(4000)}=1`),
  'a cookie of 15 KiB': () => get('/v1/nowhere', `Cookie: ${'a=b; '.repeat(2900)}\r\n`),
  'a token of 15 KiB': () =>
    `GET /v1/overview HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer spk_${'a'.repeat(15_000)}\r\n\r\n`,
  'a scheme with fifteen thousand spaces': () =>
    `GET /v1/overview HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${' '.repeat(15_000)}x x\r\n\r\n`,
};

const METHODS = [
  'TRACE',
  'PUT',
  'OPTIONS',
  'PROPFIND',
  'QUERY',
  'SEARCH',
  'PURGE',
  'M-SEARCH',
  'LINK',
  'SOURCE',
  'BIND',
  'FOO',
  'get',
  'PRI',
  'DEBUG',
  'TRACK',
  'G\0T',
  '',
  'GET\t',
  'X'.repeat(5000),
];

test.serial('odd request forms and methods get one of our errors', async (t) => {
  const methods = METHODS.map(
    (method) => [`method ${method.slice(0, 20)}`, () => `${method} /v1/monitors HTTP/1.1\r\n${caller()}\r\n`] as const,
  );
  await attack(t, { ...ODD_FORMS, ...Object.fromEntries(methods) }, (answers, what) => {
    t.is(answers.length, 1, what);
    for (const answer of answers) isOurError(t, answer, what);
  });
});

/** Other spellings of /v1/monitors, and paths that imitate it. */
const PATHS = [
  '//v1/monitors',
  '/v1//monitors',
  '/v1/monitors//',
  '/v1/./monitors',
  '/./v1/monitors',
  '/v1/../v1/monitors',
  '/v1/x/../monitors',
  '/v1/%2e/monitors',
  '/v1/%2e%2e/v1/monitors',
  '/v1/x/%2E%2E/monitors',
  '/v1/..%2fv1/monitors',
  '/%761/monitors',
  '/v1/%6donitors',
  '/v1%2fmonitors',
  '/v1%2Fmonitors',
  '/v1/monitors%2f',
  '/v1/monitors%00',
  '/v1/monitors%00.json',
  '/v1/monitors%20',
  '/v1/monitors%0d%0aX-A:b',
  '/v1/monitors;a=b',
  '/v1;a=b/monitors',
  '/v1/monitors%3flimit=1',
  '/v1/monitors%23',
  '/v1/monitors#a',
  '/v1/monitors\\',
  '/v1\\monitors',
  '/V1/monitors',
  '/v1/Monitors',
  '/v1/monitors.json',
  '/v1/monitors/%',
  '/v1/monitors/%f',
  '/v1/monitors/%ff',
  '/v1/monitors/%c0%ae%c0%ae',
  '/v1/monitors/%ed%a0%80',
  '/v1/monitors/..',
  '/v1/monitors/%2e%2e',
  '/v1/monitors/mon_1/../..',
  '/v1/__proto__',
  '/v1/monitors/__proto__',
  '/v1/monitors/constructor',
  '/v1/monitors/%00',
  '/v1/monitors/mon_1%00',
  `/v1/monitors/${'%41'.repeat(4000)}`,
  `/v1/${'a/'.repeat(7000)}`,
  `/v1/monitors/${'x'.repeat(14_000)}`,
  '/v1/monitors?limit=1&limit=2',
  '/v1/monitors?limit[]=1',
  '/v1/monitors?limit[a]=1',
  '/v1/monitors?__proto__=1',
  '/v1/monitors?__proto__[limit]=1',
  '/v1/monitors?constructor[prototype][a]=1',
  '/v1/monitors?limit=1%00',
  '/v1/monitors?limit=%',
  '/v1/monitors?q=%ff&limit=x',
  '/v1/monitors?_method=DELETE',
  '/v1/monitors?%',
  '*',
  'http://evil.example/v1/monitors',
  'http://localhost/v1/monitors',
  'HTTPS://evil.example:99999/v1/monitors',
  'ftp://evil.example/v1/monitors',
  'http://',
  'http:///v1/monitors',
  'v1/monitors',
  '\\v1\\monitors',
  '?',
  '/',
  '///',
  '.',
  '..',
  '/..',
  '/%2e%2e/%2e%2e/etc/passwd',
  '/etc/passwd',
];

test.serial('no alternative spelling of a path bypasses request validation', async (t) => {
  const requests = PATHS.flatMap((path) => [
    [`POST ${path.slice(0, 60)} (${path.length})`, () => send(path, BAD_BODY)] as const,
    [`PATCH ${path.slice(0, 60)} (${path.length})`, () => send(path, BAD_BODY).replace('POST', 'PATCH')] as const,
  ]);
  for (let start = 0; start < requests.length; start += 60) {
    await attack(t, Object.fromEntries(requests.slice(start, start + 60)), (answers, what) => {
      t.is(answers.length, 1, what);
      for (const answer of answers) isOurError(t, answer, what);
    });
  }
});

test.serial('a method override header has no effect', async (t) => {
  const overrides = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', '_method'].map(
    (name) => [name, () => get('/v1/overview', `${name}: DELETE\r\n`)] as const,
  );
  await attack(t, Object.fromEntries(overrides), (answers, what) => t.is(answers[0]?.status, 200, what));
});

const withBody = (body: string | Buffer, headers = 'Content-Type: application/json') =>
  Buffer.concat([
    Buffer.from(
      `POST /v1/monitors HTTP/1.1\r\n${caller()}${headers}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`,
    ),
    Buffer.from(body as string),
  ]);
const bytes = (...values: number[]) =>
  Buffer.concat([Buffer.from('{"name":"'), Buffer.from(values), Buffer.from('"}')]);
const GOOD = '{"name":"x"}';

const BODIES: Record<string, () => Buffer> = {
  'bytes that are not UTF-8': () => withBody(bytes(0xff, 0xfe, 0xc0)),
  'an overlong slash': () => withBody(bytes(0xc0, 0xaf)),
  'half a character': () => withBody(bytes(0xe2, 0x82)),
  'an unpaired surrogate in UTF-8': () => withBody(bytes(0xed, 0xa0, 0x80)),
  'a letter of Latin-1': () => withBody(bytes(0xe4)),
  'UTF-16': () => withBody(Buffer.from(GOOD, 'utf16le')),
  'declared UTF-16': () => withBody(Buffer.from(GOOD, 'utf16le'), 'Content-Type: application/json; charset=utf-16'),
  'declared UTF-32': () => withBody(Buffer.from(GOOD, 'utf16le'), 'Content-Type: application/json; charset=utf-32'),
  'UTF-7': () => withBody('{"name":"+ADw-script+AD4-"}', 'Content-Type: application/json; charset=utf-7'),
  'UTF-7 in quotes': () => withBody(GOOD, 'Content-Type: application/json; charset="utf-7"'),
  'another charset': () => withBody(GOOD, 'Content-Type: application/json; charset=iso-8859-1'),
  'an unpaired surrogate': () => withBody(String.raw`{"name":"\ud800"}`),
  NUL: () => withBody(String.raw`{"name":"a\u0000b"}`),
  __proto__: () => withBody('{"name":"x","__proto__":{"type":"tcp"}}'),
  constructor: () => withBody('{"name":"x","constructor":{"prototype":{"isAdmin":true}}}'),
  '__proto__ further down': () => withBody('{"name":"x","check_spec":{"__proto__":{"request":{}}}}'),
  'a number out of range': () => withBody('{"name":"x","interval_seconds":1e999}'),
  'a number of a hundred thousand digits': () => withBody(`{"name":"x","interval_seconds":${'9'.repeat(100_000)}}`),
  'a small number of a hundred thousand digits': () =>
    withBody(`{"name":"x","interval_seconds":0.${'0'.repeat(100_000)}1}`),
  'objects nested thousands deep': () =>
    withBody(`{"name":"x","check_spec":${'{"a":'.repeat(4500)}1${'}'.repeat(4500)}}`),
  'arrays nested thousands deep': () => withBody(`{"name":${'['.repeat(4500)}${']'.repeat(4500)}}`),
  'arrays nested a hundred thousand deep': () => withBody(`${'['.repeat(130_000)}${']'.repeat(130_000)}`),
  'twenty thousand keys': () =>
    withBody(`{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join(',')}}`),
  'one key of 250 KB': () => withBody(`{"${'k'.repeat(250_000)}":1}`),
  'the same bad key ten thousand times': () => withBody(`{${'"k":1,'.repeat(10_000)}"name":"x"}`),
  'data after the end': () => withBody(`${GOOD}${GOOD}`),
  comments: () => withBody('{"name":"x"/**/}'),
  'a gzip bomb': () =>
    withBody(
      zlib.gzipSync(Buffer.alloc(16 * 1024 * 1024, ' ')),
      'Content-Type: application/json\r\nContent-Encoding: gzip',
    ),
  'a br bomb': () =>
    withBody(
      zlib.brotliCompressSync(Buffer.alloc(16 * 1024 * 1024, ' '), {
        params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 },
      }),
      'Content-Type: application/json\r\nContent-Encoding: br',
    ),
  'another content type': () => withBody(GOOD, 'Content-Type: application/jsonp'),
  'a form': () => withBody('name=x', 'Content-Type: application/x-www-form-urlencoded'),
  parts: () =>
    withBody(
      '--a\r\nContent-Disposition: form-data; name="name"\r\n\r\nx\r\n--a--\r\n',
      'Content-Type: multipart/form-data; boundary=a',
    ),
};

test.serial(
  'bodies with other charsets, odd keys or numbers, deep nesting or bombs get one of our errors',
  async (t) => {
    await attack(t, BODIES, (answers, what) => {
      t.is(answers.length, 1, what);
      for (const answer of answers) isOurError(t, answer, what);
    });
    t.deepEqual((await service.call('GET', '/monitors')).json, { monitors: [] });
  },
);

test.serial('a byte-order mark, a duplicate key and prototype names among headers are harmless', async (t) => {
  const harmless = {
    mark: () => withBody(`\uFEFF${GOOD}`),
    twice: () => withBody('{"name":"x","name":"y"}'),
    prototype: () => withBody('{"name":"x","check_spec":{"request":{"headers":{"__proto__":"a","constructor":"b"}}}}'),
  };
  await attack(t, harmless, (answers, what) => t.is(answers[0]?.status, 201, what));
  t.is(({} as Record<string, unknown>)['a'], undefined);
  await neighbourIsAnswered(t);
});

/** Concurrent new connections: the system may silently lose those beyond what a busy service accepts in time. */
const AT_A_TIME = 200;

/** Opens connections of hostile clients, all at once; `cut` returns the number that the service has closed. */
async function openMany(count: number, begin: string): Promise<{ cut: () => number; end: () => void }> {
  let cut = 0;
  const { port } = new URL(service.url);
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const next = Array.from({ length: Math.min(AT_A_TIME, count - sockets.length) }, () => {
      const socket = connect(Number(port), '127.0.0.1')
        .on('error', () => undefined)
        .once('close', () => {
          cut += 1;
        });
      socket.resume();
      if (begin !== '') socket.write(begin);
      return socket;
    });
    sockets.push(...next);
    await neighbourGetsAnswer();
  }
  return {
    cut: () => cut,
    end: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/**
 * Waits for the response to one more client. Connections are accepted in order, so all earlier ones are accepted by
 * then.
 */
async function neighbourGetsAnswer(): Promise<void> {
  const neighbour = service.open();
  neighbour.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  await once(neighbour.resume(), 'close');
}

/** Waits until the service is ready; a busy machine may need more than the one second that a database check has. */
function isReady(): Promise<true> {
  return until(async () => (await fetch(`${service.url}/readyz`)).status === 200);
}

test.serial(
  '2000 silent, slow or unreading clients delay no other, and those that send no request are closed',
  async (t) => {
    const silent = await openMany(1200, '');
    const slow = await openMany(500, 'GET /v1/overview HTTP/1.1\r\nHost: a\r\n');
    const garbled = await openMany(200, 'NOT HTTP AT ALL\r\n\r\n');
    const half = await openMany(200, post('/v1/monitors', 'Content-Length: 100000', '{"name":'));
    const readers = await openMany(50, get('/openapi.json').repeat(10));
    const dripping = service.open();
    dripping.write('GET /v1/overview HTTP/1.1\r\n');
    let isDripCut = false;
    dripping.once('close', () => {
      isDripCut = true;
    });
    const drip = setInterval(() => dripping.write('X-A: b\r\n'), 200);
    for (let count = 0; count < 5; count += 1) await neighbourIsAnswered(t);
    await isReady();
    await until(() => silent.cut() === 1200 && slow.cut() === 500 && garbled.cut() === 200 && isDripCut, {
      intervalMs: 250,
    });
    await neighbourIsAnswered(t);
    clearInterval(drip);
    for (const { end } of [silent, slow, garbled, half, readers]) end();
    await isReady();
    t.pass();
  },
);

test.serial('requests pipelined behind a live stream delay no other client of the account', async (t) => {
  const socket = service.open();
  t.teardown(() => socket.destroy());
  socket.write(get('/v1/live') + get('/v1/usage').repeat(4));
  const [start]: Buffer[] = await once(socket, 'data');
  t.regex(String(start), /^HTTP\/1\.1 200 /);
  await neighbourIsAnswered(t);
});

test.serial('a client that pipelines 2000 requests and reads nothing is sent fewer than 17 responses', async (t) => {
  const unread = service.open().pause();
  t.teardown(() => unread.destroy());
  unread.write(get('/openapi.json').repeat(2000));
  await neighbourIsAnswered(t);
  await new Promise((resolve) => void unread.once('close', resolve).resume());
  const { length } = await (await fetch(`${service.url}/openapi.json`)).text();
  // Bytes in system buffers count as sent.
  t.true(unread.bytesRead < 17 * (length + 2000), `${unread.bytesRead} bytes came`);
});

const CHECKED_HOSTS = ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', 'localhost'];

test.serial("the service contacts no private address for a customer's monitor or channel", async (t) => {
  const watchman = await startWatchman();
  t.teardown(watchman.close);
  const { port } = watchman;
  for (const host of [
    ...CHECKED_HOSTS,
    '127.1',
    '0x7f000001',
    '2130706433',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '169.254.169.254',
  ]) {
    const { status, json } = await service.call('POST', '/channels', {
      type: 'webhook',
      url: `https://${host}:${port}/hook`,
    });
    t.is(status, 400, host);
    t.regex(String(json['error']), /^test delivery failed: The target has no public address/, host);
  }
  t.is(
    (await service.call('POST', '/monitors', { name: 'Page', type: 'vendor', target: `http://127.0.0.1:${port}` }))
      .status,
    400,
  );

  const targets = CHECKED_HOSTS.flatMap((host): [type: string, target: string][] => [
    ['http', `http://${host}:${port}/`],
    ['http', `https://${host}:${port}/`],
    ['tcp', `${host}:${port}`],
    ['udp', `${host}:${port}`],
    ['icmp', host],
    ['dns', `dns://${host}:${port}/a.example`],
  ]);
  const monitors = await Promise.all(
    targets.map(async ([type, target]) => {
      const checkSpec = type === 'dns' ? { check_spec: { dns: { records: [{ type: 'A', mode: 'exists' }] } } } : {};
      const { status, json } = await service.call('POST', '/monitors', {
        name: target,
        type,
        target,
        interval_seconds: 1,
        timeout_ms: 500,
        ...checkSpec,
      });
      t.is(status, 201, JSON.stringify(json));
      return { target: `${type} ${target}`, path: `/monitors/${json['id']}` };
    }),
  );
  for (const { target, path } of monitors) {
    const [check] = await until(
      async () => {
        const checks = listOf(await service.call('GET', `${path}/checks?limit=1`));
        // A check that a busy machine delays past its timeout contacts no one either.
        return checks.length > 0 && checks[0]?.['cause'] !== 'timeout' && checks;
      },
      { intervalMs: 500 },
    );
    t.is(check?.['cause'], 'blocked_target', `${target}: ${JSON.stringify(check)}`);
  }
  t.is(watchman.connections(), 0);
  for (const { path } of monitors) await service.call('DELETE', path);
});

const FAULT = /request\.failed|uncaught|"level":"fatal"/;

/** Errors of `pg` when it gets no connection in time; the request was answered 503. */
const NO_CONNECTION = new Set([
  'timeout exceeded when trying to connect',
  'Connection terminated due to connection timeout',
]);

/**
 * Reports whether a log line describes a fault. On a machine shared by many tests, some requests get no connection to
 * PostgreSQL in time. The neighbors above prove that hostile clients take none from others.
 */
function tellsOfFault(line: string): boolean {
  if (!FAULT.test(line)) return false;
  if (!line.startsWith('{')) return true;
  const { msg, err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
  return msg !== 'request.failed' || !NO_CONNECTION.has(err?.message ?? '');
}

test.serial('after all these attacks the service runs and has logged no fault of its own', async (t) => {
  t.is(service.program.child.exitCode, null);
  t.deepEqual(service.program.output().split('\n').filter(tellsOfFault), []);
  await neighbourIsAnswered(t);
});
