import { once } from 'node:events';
import http from 'node:http';
import type { Socket } from 'node:net';
import zlib from 'node:zlib';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import type { FailureCause } from '../../net/failure.ts';
import { createHttpClient } from '../../net/http-client.ts';
import type { HttpExchange, HttpRequest } from '../../net/http-client.ts';
import { TestAuthority } from '../helpers/certificates.ts';
import { startHttpServer, startRawServer } from '../helpers/http-server.ts';

const KILOBYTE = 1024;
const HOSTS = ['localhost', '127.0.0.1'];

const authority = await TestAuthority.create();
authority.trust();
const stranger = await TestAuthority.create();
const send = createHttpClient({ allowPrivateNetwork: true });

function requestTo(port: number, overrides: Partial<HttpRequest> & { href?: string } = {}): HttpRequest {
  const { href = `http://127.0.0.1:${port}/`, ...rest } = overrides;
  return { url: new URL(href), method: 'GET', headers: {}, deadlineMs: 5_000, bodyLimit: () => 64 * KILOBYTE, ...rest };
}

function bodyOf(exchange: HttpExchange): string {
  return exchange.outcome === 'answered' ? exchange.body.toString() : `${exchange.cause}: ${exchange.reason}`;
}

function expectFailure(t: ExecutionContext, exchange: HttpExchange, expected: { cause: FailureCause; reason: RegExp }): void {
  if (exchange.outcome !== 'failed') return t.fail(`answered ${exchange.status}`);
  t.is(exchange.cause, expected.cause);
  t.regex(exchange.reason, expected.reason);
}

/** A raw server that answers the first bytes it gets with a text and then does what `after` says. */
function startCannedServer(t: ExecutionContext, text: string, after: (socket: Socket) => void = (socket) => socket.end()) {
  return startRawServer(t, (socket) => {
    socket.once('data', () => {
      socket.write(text, 'latin1');
      after(socket);
    });
  });
}

test('an answer comes with its status, headers, body and the time of each phase', async (t) => {
  const { port } = await startHttpServer(t, (request, response) => {
    response.setHeader('X-Seen', `${request.method} ${request.url} ${request.headers.host}`);
    response.writeHead(201).end('hello');
  });
  const exchange = await send(requestTo(port, { href: `http://localhost:${port}/a?b=c#d`, method: 'PUT', body: 'x' }));
  t.like(exchange, { outcome: 'answered', status: 201, truncated: false, certificate: null });
  t.is(bodyOf(exchange), 'hello');
  t.is(exchange.outcome === 'answered' ? exchange.headers['x-seen'] : null, `PUT /a?b=c localhost:${port}`);
  const { dnsMs, connectMs, tlsMs, firstByteMs, downloadMs } = exchange.phases;
  t.is(tlsMs, null);
  const parts = [dnsMs, connectMs, firstByteMs, downloadMs];
  t.true(parts.every((part) => part !== null && part >= 0));
  t.true(Math.abs(parts.reduce<number>((sum, part) => sum + (part ?? 0), 0) - exchange.durationMs) < 5);
});

test('an address needs no look-up, and its phase is null', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => response.end());
  const { phases } = await send(requestTo(port));
  t.is(phases.dnsMs, null);
  t.not(phases.connectMs, null);
});

test('each request has a connection of its own', async (t) => {
  const server = await startHttpServer(t, (_, response) => response.end('x'));
  await send(requestTo(server.port));
  await send(requestTo(server.port));
  t.is(server.connections(), 2);
});

test('with an agent of the caller connections are kept and read to their end', async (t) => {
  const agent = new http.Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const server = await startHttpServer(t, (_, response) => response.end('kept'));
  const first = await send(requestTo(server.port, { agent }));
  const second = await send(requestTo(server.port, { agent }));
  t.deepEqual([bodyOf(first), bodyOf(second)], ['kept', 'kept']);
  t.is(server.connections(), 1);
  t.is(second.phases.connectMs, null);
  t.not(second.phases.firstByteMs, null);
});

test('a closed port is a refused connection', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => response.end());
  const gone = await startRawServer(t, () => {});
  t.is(bodyOf(await send(requestTo(port))), '');
  expectFailure(t, await send(requestTo(gone.port, { href: 'http://127.0.0.1:1/' })), { cause: 'conn_refused', reason: /refused/ });
  expectFailure(t, await send(requestTo(1, { href: 'http://localhost:1/' })), { cause: 'conn_refused', reason: /refused/ });
});

test('a name without addresses is told from a target that does not answer', async (t) => {
  const exchange = await send(requestTo(0, { href: 'http://no-such-name.invalid/' }));
  t.true(exchange.outcome === 'failed' && exchange.cause.startsWith('dns_'));
});

const SILENCES: Record<string, { text: string; reason: RegExp }> = {
  'nothing at all': { text: '', reason: /waiting for the answer/ },
  'half a status line': { text: 'HTTP/1.1 2', reason: /waiting for the answer/ },
  'a head that never ends': { text: 'HTTP/1.1 200 OK\r\nX-A: 1\r\n', reason: /waiting for the answer/ },
  'informational answers only': { text: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n', reason: /waiting for the answer/ },
  'half a body': { text: 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', reason: /reading the body/ },
};

for (const [what, { text, reason }] of Object.entries(SILENCES)) {
  test(`a server that sends ${what} and keeps the connection runs into the deadline`, async (t) => {
    const { port } = await startCannedServer(t, text, () => {});
    const exchange = await send(requestTo(port, { deadlineMs: 600 }));
    expectFailure(t, exchange, { cause: 'timeout', reason });
    t.true(exchange.durationMs >= 595 && exchange.durationMs < 3_000);
  });
}

test('a body that dribbles on does not push the deadline away', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => {
    const timer = setInterval(() => response.write('.'), 10);
    response.once('close', () => clearInterval(timer));
  });
  expectFailure(t, await send(requestTo(port, { deadlineMs: 600 })), { cause: 'timeout', reason: /reading the body/ });
});

test('a TLS handshake that is never answered runs into the deadline', async (t) => {
  const { port } = await startRawServer(t, () => {});
  const exchange = await send(requestTo(port, { href: `https://127.0.0.1:${port}/`, deadlineMs: 600 }));
  expectFailure(t, exchange, { cause: 'timeout', reason: /TLS handshake/ });
});

const GARBAGE: Record<string, { text: string; reason: RegExp }> = {
  'something that is not HTTP': { text: 'SSH-2.0-OpenSSH_9.2\r\n', reason: /not valid HTTP/ },
  'a header line without a colon': { text: 'HTTP/1.1 200 OK\r\nnonsense\r\n\r\n', reason: /not valid HTTP/ },
  'a header with control characters': { text: 'HTTP/1.1 200 OK\r\nX-A: a\x01b\r\n\r\n', reason: /not valid HTTP/ },
  'two lengths that contradict each other': { text: 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx', reason: /not valid HTTP/ },
  'a chunk whose size is no number': { text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', reason: /not valid HTTP/ },
  'more than 64 KiB of headers': { text: `HTTP/1.1 200 OK\r\n${`X-A: ${'a'.repeat(1_000)}\r\n`.repeat(70)}\r\n`, reason: /headers .* too long/ },
  'a close before any answer': { text: '', reason: /closed without an answer/ },
  'a close in the middle of the head': { text: 'HTTP/1.1 200 OK\r\nX-A', reason: /closed without an answer/ },
  'a close in the middle of the body': { text: 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', reason: /closed before the end of the body/ },
  'a close in the middle of a chunk': { text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab', reason: /closed before the end of the body/ },
};

for (const [what, { text, reason }] of Object.entries(GARBAGE)) {
  test(`${what} is a connection error`, async (t) => {
    const { port } = await startCannedServer(t, text);
    expectFailure(t, await send(requestTo(port)), { cause: 'conn_error', reason });
  });
}

test('a reset is a connection error, before the answer and within the body', async (t) => {
  const before = await startCannedServer(t, '', (socket) => socket.resetAndDestroy());
  expectFailure(t, await send(requestTo(before.port)), { cause: 'conn_error', reason: /without an answer/ });

  const within = await startRawServer(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', () => setImmediate(() => socket.resetAndDestroy()));
    });
  });
  const exchange = await send(requestTo(within.port));
  t.true(exchange.outcome === 'failed' && exchange.cause === 'conn_error');
});

test('33 KiB of headers, more than node takes by itself, are an answer', async (t) => {
  const { port } = await startCannedServer(t, `HTTP/1.1 200 OK\r\n${`X-A: ${'a'.repeat(1_000)}\r\n`.repeat(33)}Content-Length: 0\r\n\r\n`);
  t.like(await send(requestTo(port)), { outcome: 'answered', status: 200 });
});

const BODILESS = { 'a 204': ['GET', 'HTTP/1.1 204 No Content\r\n\r\n'], 'a 304': ['GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n'], 'an answer to HEAD': ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\nContent-Encoding: gzip\r\n\r\n'] };

for (const [what, [method = '', text = '']] of Object.entries(BODILESS)) {
  test(`${what} is complete without a body, whatever its headers say`, async (t) => {
    const { port } = await startCannedServer(t, text, () => {});
    t.is(bodyOf(await send(requestTo(port, { method }))), '');
  });
}

test('a body without a length ends where the server closes the connection', async (t) => {
  const { port } = await startCannedServer(t, 'HTTP/1.0 200 OK\r\n\r\nold times');
  t.is(bodyOf(await send(requestTo(port))), 'old times');
});

test('a change of protocol is an answer with status 101', async (t) => {
  const { port } = await startCannedServer(t, 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x00', () => {});
  const headers = { Connection: 'Upgrade', Upgrade: 'websocket' };
  t.like(await send(requestTo(port, { headers, bodyLimit: () => 0 })), { outcome: 'answered', status: 101 });
});

test('nothing of the body is waited for when nobody wants it, and the connection is closed', async (t) => {
  let closed: Promise<unknown> | undefined;
  const { port } = await startHttpServer(t, (_, response) => {
    closed = once(response, 'close');
    response.write('the first of an endless body');
  });
  t.is(bodyOf(await send(requestTo(port, { bodyLimit: () => 0 }))), '');
  await closed;
});

test('a connection that a request asks to keep is closed all the same, since nobody would use it again', async (t) => {
  let closed: Promise<unknown> | undefined;
  const { port } = await startCannedServer(t, 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbye', (socket) => {
    closed = once(socket.resume(), 'close');
  });
  t.is(bodyOf(await send(requestTo(port, { headers: { Connection: 'keep-alive' } }))), 'bye');
  await closed;
});

test('an endless body is cut at the limit and its connection closed', async (t) => {
  let closed: Promise<unknown> | undefined;
  const { port } = await startHttpServer(t, (_, response) => {
    closed = once(response, 'close');
    const pump = (): void => { while (!response.destroyed && response.write('x'.repeat(16 * KILOBYTE))); };
    response.on('drain', pump);
    pump();
  });
  const exchange = await send(requestTo(port, { bodyLimit: () => 100_000 }));
  t.like(exchange, { outcome: 'answered', truncated: true });
  t.is(bodyOf(exchange).length, 100_000);
  await closed;
});

test('a body of exactly the limit is whole', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => response.end('x'.repeat(1_000)));
  const exchange = await send(requestTo(port, { bodyLimit: () => 1_000 }));
  t.like(exchange, { outcome: 'answered', truncated: false });
});

const CODINGS: Record<string, (text: string) => Buffer> = {
  gzip: zlib.gzipSync,
  'GZIP ': zlib.gzipSync,
  'x-gzip': zlib.gzipSync,
  deflate: zlib.deflateSync,
  br: zlib.brotliCompressSync,
  zstd: zlib.zstdCompressSync,
  identity: Buffer.from,
};

for (const [coding, encode] of Object.entries(CODINGS)) {
  test(`a body with Content-Encoding "${coding}" is undone, also when it comes byte by byte`, async (t) => {
    const text = 'content '.repeat(50);
    const { port } = await startHttpServer(t, (_, response) => {
      response.setHeader('Content-Encoding', coding);
      for (const byte of encode(text)) response.write(Buffer.of(byte));
      response.end();
    });
    t.is(bodyOf(await send(requestTo(port))), text);
  });
}

test('deflate without its zlib header is undone as well', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => {
    response.setHeader('Content-Encoding', 'deflate');
    response.end(zlib.deflateRawSync('bare deflate'));
  });
  t.is(bodyOf(await send(requestTo(port))), 'bare deflate');
});

test('gzip without its checksum is read as far as it goes', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => {
    response.setHeader('Content-Encoding', 'gzip');
    response.end(zlib.gzipSync('no checksum').subarray(0, -8));
  });
  t.is(bodyOf(await send(requestTo(port))), 'no checksum');
});

test('an empty body with a Content-Encoding is empty', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => response.setHeader('Content-Encoding', 'gzip').end());
  t.is(bodyOf(await send(requestTo(port))), '');
});

test('a body that is not what its Content-Encoding says is a connection error', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => response.setHeader('Content-Encoding', 'gzip').end('plain'));
  expectFailure(t, await send(requestTo(port)), { cause: 'conn_error', reason: /Content-Encoding/ });
});

test('a coding that nobody knows is left as it is', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => response.setHeader('Content-Encoding', 'constructor').end('as it came'));
  t.is(bodyOf(await send(requestTo(port))), 'as it came');
});

for (const [coding, encode] of Object.entries({ gzip: zlib.gzipSync, br: zlib.brotliCompressSync, zstd: zlib.zstdCompressSync })) {
  test(`a ${coding} bomb of 64 MiB is cut at the limit without being unpacked`, async (t) => {
    const bomb = encode(Buffer.alloc(64 * KILOBYTE * KILOBYTE));
    const { port } = await startHttpServer(t, (_, response) => response.setHeader('Content-Encoding', coding).end(bomb));
    const before = process.memoryUsage().rss;
    const exchange = await send(requestTo(port));
    t.like(exchange, { outcome: 'answered', truncated: true });
    t.is(bodyOf(exchange).length, 64 * KILOBYTE);
    t.true(process.memoryUsage().rss - before < 48 * KILOBYTE * KILOBYTE);
  });
}

test('compressed emptiness without end does not keep the decoder busy until the deadline', async (t) => {
  // A gzip head and then stored blocks of length zero.
  const head = zlib.gzipSync('').subarray(0, 10);
  const emptyBlocks = Buffer.from('000000ffff'.repeat(4_000), 'hex');
  const { port } = await startHttpServer(t, (_, response) => {
    response.setHeader('Content-Encoding', 'gzip');
    response.write(head);
    const pump = (): void => { while (!response.destroyed && response.write(emptyBlocks)); };
    response.on('drain', pump);
    pump();
  });
  t.like(await send(requestTo(port)), { outcome: 'answered', truncated: true });
});

test('an early answer to a large body that is never read is an answer', async (t) => {
  const { port } = await startRawServer(t, (socket) => {
    socket.once('data', () => {
      socket.pause();
      socket.end('HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig');
    });
  });
  const exchange = await send(requestTo(port, { method: 'POST', body: Buffer.alloc(8 * KILOBYTE * KILOBYTE) }));
  t.like(exchange, { outcome: 'answered', status: 413 });
});

test('a body is sent with its length in bytes', async (t) => {
  const { port } = await startHttpServer(t, async (request, response) => {
    const chunks = await request.toArray();
    response.end(`${request.headers['content-length']} ${Buffer.concat(chunks).toString()}`);
  });
  t.is(bodyOf(await send(requestTo(port, { method: 'POST', body: 'größer' }))), '8 größer');
  t.is(bodyOf(await send(requestTo(port, { method: 'GET', body: 'with get' }))), '8 with get');
  t.is(bodyOf(await send(requestTo(port, { method: 'POST' }))), '0 ');
});

test('Expect: 100-continue holds nothing up', async (t) => {
  const { port } = await startHttpServer(t, async (request, response) => {
    response.end(Buffer.concat(await request.toArray()));
  });
  t.is(bodyOf(await send(requestTo(port, { method: 'POST', body: 'expected', headers: { Expect: '100-continue' } }))), 'expected');
});

test('a header that HTTP has no form for is unsupported, not an exception', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => response.end());
  expectFailure(t, await send(requestTo(port, { headers: { 'X-A': 'a\nb' } })), { cause: 'unsupported', reason: /cannot be sent/ });
});

test('an IPv6 address is contacted without its brackets', async (t) => {
  const exchange = await send(requestTo(0, { href: 'http://[::1]:1/' }));
  t.true(exchange.outcome === 'failed' && ['conn_refused', 'conn_error'].includes(exchange.cause));
});

test('the guard refuses private addresses and names that lead to them, and nothing reaches the server', async (t) => {
  const guarded = createHttpClient({ allowPrivateNetwork: false });
  const server = await startHttpServer(t, (_, response) => response.end());
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0']) {
    const exchange = await guarded(requestTo(0, { href: `http://${host}:${server.port}/` }));
    expectFailure(t, exchange, { cause: 'blocked_target', reason: /public/ });
    const secure = await guarded(requestTo(0, { href: `https://${host}:${server.port}/` }));
    expectFailure(t, secure, { cause: 'blocked_target', reason: /public/ });
  }
  t.is(server.connections(), 0);
});

test('the guard holds for connections of a kept agent too', async (t) => {
  const agent = new http.Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const guarded = createHttpClient({ allowPrivateNetwork: false });
  const server = await startHttpServer(t, (_, response) => response.end());
  const exchange = await guarded(requestTo(0, { href: `http://localhost:${server.port}/`, agent }));
  expectFailure(t, exchange, { cause: 'blocked_target', reason: /public/ });
  t.is(server.connections(), 0);
});

test('a verified certificate is reported with its names and dates, over a name and over an address', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => response.end('safe'), await authority.issue({ hosts: HOSTS, validForDays: 20 }));
  for (const host of HOSTS) {
    const exchange = await send(requestTo(0, { href: `https://${host}:${port}/` }));
    t.is(bodyOf(exchange), 'safe');
    t.not(exchange.phases.tlsMs, null);
    t.like(exchange.certificate, { subject: 'localhost', issuer: 'Test Authority' });
    t.is(Math.round(((exchange.certificate?.validTo ?? 0) - Date.now() / 1000) / 86_400), 20);
  }
});

test('an expired certificate is told with its age, and the server sees no request', async (t) => {
  const keys = await authority.issue({ hosts: HOSTS, validFromDays: -30, validForDays: -3 });
  const { port } = await startHttpServer(t, () => t.fail('a request was sent'), keys);
  const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/`, headers: { Authorization: 'secret' } }));
  expectFailure(t, exchange, { cause: 'cert_expired', reason: /expired 3 days ago/ });
  t.is(exchange.certificate?.subject, 'localhost');
});

test('other faults of a certificate are TLS errors, and the server sees no request', async (t) => {
  const faults = [
    { keys: await stranger.issue({ hosts: HOSTS }), reason: /certificate/ },
    { keys: await authority.issue({ hosts: ['other.example'] }), reason: /another name/ },
    { keys: await authority.issue({ hosts: HOSTS, validFromDays: 2 }), reason: /not yet valid/ },
  ];
  for (const { keys, reason } of faults) {
    const { port } = await startHttpServer(t, () => t.fail('a request was sent'), keys);
    const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/`, headers: { Authorization: 'secret' } }));
    expectFailure(t, exchange, { cause: 'tls_error', reason });
  }
});

test('plain http on a port that should speak TLS is a TLS error', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => response.end());
  const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/` }));
  expectFailure(t, exchange, { cause: 'tls_error', reason: /handshake failed/ });
});

test('a connection closed during the TLS handshake is a TLS error', async (t) => {
  const { port } = await startRawServer(t, (socket) => socket.once('data', () => socket.end()));
  const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/` }));
  expectFailure(t, exchange, { cause: 'tls_error', reason: /closed during the TLS handshake/ });
});

test('a certificate that cannot be fetched again is explained without it, within the deadline', async (t) => {
  const keys = await authority.issue({ hosts: HOSTS, validFromDays: -30, validForDays: -3 });
  const tls = await startHttpServer(t, () => t.fail('a request was sent'), keys);
  let first = true;
  const { port } = await startRawServer(t, (socket) => {
    // Only the first connection gets through to the TLS server; the one that asks again is left waiting.
    if (!first) return;
    first = false;
    const upstream = new http.Agent().createConnection({ host: '127.0.0.1', port: tls.port });
    upstream?.on('error', () => {});
    if (upstream) socket.pipe(upstream).pipe(socket);
  });
  const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/`, deadlineMs: 1_000 }));
  expectFailure(t, exchange, { cause: 'cert_expired', reason: /has expired/ });
  t.true(exchange.durationMs < 3_000);
});
