import { once } from 'node:events';
import http from 'node:http';
import test from 'ava';
import { createHttpClient, createProbeClient, readRetryAfter } from '../../net/http-client.ts';
import { bodyOf, expectFailure, KILOBYTE, requestTo, startCannedServer } from '../helpers/exchange.ts';
import { startHttpServer, startRawServer } from '../helpers/http-server.ts';

const GARBAGE: Record<string, { text: string; reason: RegExp }> = {
  'something that is not HTTP': { text: 'SSH-2.0-OpenSSH_9.2\r\n', reason: /not valid HTTP/ },
  'a header line without a colon': { text: 'HTTP/1.1 200 OK\r\nnonsense\r\n\r\n', reason: /not valid HTTP/ },
  'a header with control characters': { text: 'HTTP/1.1 200 OK\r\nX-A: a\x01b\r\n\r\n', reason: /not valid HTTP/ },
  'two conflicting lengths': {
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx',
    reason: /not valid HTTP/,
  },
  'a chunk with an invalid size': {
    text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    reason: /not valid HTTP/,
  },
  'more than 64 KiB of headers': {
    text: `HTTP/1.1 200 OK\r\n${`X-A: ${'a'.repeat(1_000)}\r\n`.repeat(70)}\r\n`,
    reason: /headers .* too long/,
  },
  'a close before the response': { text: '', reason: /closed without a response/ },
  'a close in the middle of the headers': { text: 'HTTP/1.1 200 OK\r\nX-A', reason: /closed without a response/ },
  'a close in the middle of the body': {
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf',
    reason: /closed before the end of the body/,
  },
  'a close in the middle of a chunk': {
    text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab',
    reason: /closed before the end of the body/,
  },
};

const BODILESS = {
  'a 204': ['GET', 'HTTP/1.1 204 No Content\r\n\r\n'],
  'a 304': ['GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n'],
  'a response to HEAD': ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\nContent-Encoding: gzip\r\n\r\n'],
};

const CLIENTS = { "Node's client": createHttpClient, 'the probe client': createProbeClient };

for (const [client, createClient] of Object.entries(CLIENTS)) {
  const send = createClient({ allowPrivateNetwork: true });

  test(`${client}: a response is returned with its status, headers, body and timings`, async (t) => {
    const { port } = await startHttpServer(t, (request, response) => {
      response.setHeader('X-Seen', `${request.method} ${request.url} ${request.headers.host}`);
      response.writeHead(201).end('hello');
    });
    const exchange = await send(
      requestTo(port, { href: `http://localhost:${port}/a?b=c#d`, method: 'PUT', body: 'x' }),
    );
    t.like(exchange, { outcome: 'answered', status: 201, truncated: false, certificate: null });
    t.is(bodyOf(exchange), 'hello');
    t.is(exchange.outcome === 'answered' ? exchange.headers['x-seen'] : null, `PUT /a?b=c localhost:${port}`);
    const { dnsMs, connectMs, tlsMs, firstByteMs, downloadMs } = exchange.timings;
    t.is(tlsMs, null);
    const parts = [dnsMs, connectMs, firstByteMs, downloadMs];
    t.true(parts.every((part) => part !== null && part >= 0));
    t.true(Math.abs(parts.reduce<number>((sum, part) => sum + (part ?? 0), 0) - exchange.durationMs) < 5);
  });

  test(`${client}: an address needs no lookup, so its DNS timing is null`, async (t) => {
    const { port } = await startHttpServer(t, (_, response) => response.end());
    const { timings } = await send(requestTo(port));
    t.is(timings.dnsMs, null);
    t.not(timings.connectMs, null);
  });

  test(`${client}: each request has its own connection`, async (t) => {
    const server = await startHttpServer(t, (_, response) => response.end('x'));
    await send(requestTo(server.port));
    await send(requestTo(server.port));
    t.is(server.connections(), 2);
  });

  test(`${client}: a closed port is a refused connection`, async (t) => {
    const { port } = await startHttpServer(t, (_, response) => response.end());
    const gone = await startRawServer(t, () => {});
    t.is(bodyOf(await send(requestTo(port))), '');
    expectFailure(t, await send(requestTo(gone.port, { href: 'http://127.0.0.1:1/' })), {
      cause: 'conn_refused',
      reason: /refused/,
    });
    expectFailure(t, await send(requestTo(1, { href: 'http://localhost:1/' })), {
      cause: 'conn_refused',
      reason: /refused/,
    });
  });

  test(`${client}: a name without addresses is a DNS failure`, async (t) => {
    const exchange = await send(requestTo(0, { href: 'http://no-such-name.invalid/' }));
    t.true(exchange.outcome === 'failed' && exchange.cause.startsWith('dns_'));
  });

  for (const [what, { text, reason }] of Object.entries(GARBAGE)) {
    test(`${client}: ${what} is a connection error`, async (t) => {
      const { port } = await startCannedServer(t, text);
      expectFailure(t, await send(requestTo(port)), { cause: 'conn_error', reason });
    });
  }

  test(`${client}: a reset before the response or within the body is a connection error`, async (t) => {
    const before = await startCannedServer(t, '', (socket) => socket.resetAndDestroy());
    expectFailure(t, await send(requestTo(before.port)), { cause: 'conn_error', reason: /without a response/ });

    const within = await startRawServer(t, (socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', () =>
          setImmediate(() => socket.resetAndDestroy()),
        );
      });
    });
    const exchange = await send(requestTo(within.port));
    t.true(exchange.outcome === 'failed' && exchange.cause === 'conn_error');
  });

  test(`${client}: 33 KiB of headers, above Node's default limit, are accepted`, async (t) => {
    const { port } = await startCannedServer(
      t,
      `HTTP/1.1 200 OK\r\n${`X-A: ${'a'.repeat(1_000)}\r\n`.repeat(33)}Content-Length: 0\r\n\r\n`,
    );
    t.like(await send(requestTo(port)), { outcome: 'answered', status: 200 });
  });

  for (const [what, [method = '', text = '']] of Object.entries(BODILESS)) {
    test(`${client}: ${what} is complete without a body, regardless of its headers`, async (t) => {
      const { port } = await startCannedServer(t, text, () => {});
      t.is(bodyOf(await send(requestTo(port, { method }))), '');
    });
  }

  test(`${client}: a body without a length ends when the server closes the connection`, async (t) => {
    const { port } = await startCannedServer(t, 'HTTP/1.0 200 OK\r\n\r\nold times');
    t.is(bodyOf(await send(requestTo(port))), 'old times');
  });

  test(`${client}: a protocol switch is a response with status 101`, async (t) => {
    const { port } = await startCannedServer(
      t,
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x00',
      () => {},
    );
    const headers = { Connection: 'Upgrade', Upgrade: 'websocket' };
    t.like(await send(requestTo(port, { headers })), { outcome: 'answered', status: 101, truncated: false });
  });

  test(`${client}: an unneeded body is not awaited, and the connection is closed`, async (t) => {
    let closed: Promise<unknown> | undefined;
    const { port } = await startHttpServer(t, (_, response) => {
      closed = once(response, 'close');
      response.write('the first of an endless body');
    });
    t.is(bodyOf(await send(requestTo(port, { bodyLimit: () => 0 }))), '');
    await closed;
  });

  test(`${client}: the connection is closed even after a request with Connection: keep-alive`, async (t) => {
    let closed: Promise<unknown> | undefined;
    const { port } = await startCannedServer(t, 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbye', (socket) => {
      closed = once(socket.resume(), 'close');
    });
    t.is(bodyOf(await send(requestTo(port, { headers: { Connection: 'keep-alive' } }))), 'bye');
    await closed;
  });

  test(`${client}: an early response to a large body that the server never reads is returned`, async (t) => {
    const { port } = await startRawServer(t, (socket) => {
      socket.once('data', () => {
        socket.pause();
        socket.end('HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig');
      });
    });
    const exchange = await send(requestTo(port, { method: 'POST', body: Buffer.alloc(8 * KILOBYTE * KILOBYTE) }));
    t.like(exchange, { outcome: 'answered', status: 413 });
  });

  test(`${client}: a body is sent with its length in bytes`, async (t) => {
    const { port } = await startHttpServer(t, async (request, response) => {
      const chunks = await request.toArray();
      response.end(`${request.headers['content-length']} ${Buffer.concat(chunks).toString()}`);
    });
    t.is(bodyOf(await send(requestTo(port, { method: 'POST', body: 'größer' }))), '8 größer');
    t.is(bodyOf(await send(requestTo(port, { method: 'GET', body: 'with get' }))), '8 with get');
    t.is(bodyOf(await send(requestTo(port, { method: 'POST' }))), '0 ');
  });

  test(`${client}: Expect: 100-continue does not delay the request`, async (t) => {
    const { port } = await startHttpServer(t, async (request, response) => {
      response.end(Buffer.concat(await request.toArray()));
    });
    t.is(
      bodyOf(await send(requestTo(port, { method: 'POST', body: 'expected', headers: { Expect: '100-continue' } }))),
      'expected',
    );
  });

  test(`${client}: an invalid request header is unsupported, not an exception`, async (t) => {
    const { port } = await startHttpServer(t, (_, response) => response.end());
    expectFailure(t, await send(requestTo(port, { headers: { 'X-A': 'a\nb' } })), {
      cause: 'unsupported',
      reason: /cannot be sent/,
    });
    expectFailure(t, await send(requestTo(port, { headers: { 'X A': 'a' } })), {
      cause: 'unsupported',
      reason: /cannot be sent/,
    });
  });

  test(`${client}: an IPv6 address is contacted without its brackets`, async (t) => {
    const exchange = await send(requestTo(0, { href: 'http://[::1]:1/' }));
    t.true(exchange.outcome === 'failed' && ['conn_refused', 'conn_error'].includes(exchange.cause));
  });

  test(`${client}: the guard refuses private addresses and names that resolve to them`, async (t) => {
    const guarded = createClient({ allowPrivateNetwork: false });
    const server = await startHttpServer(t, (_, response) => response.end());
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0']) {
      const exchange = await guarded(requestTo(0, { href: `http://${host}:${server.port}/` }));
      expectFailure(t, exchange, { cause: 'blocked_target', reason: /public/ });
      const secure = await guarded(requestTo(0, { href: `https://${host}:${server.port}/` }));
      expectFailure(t, secure, { cause: 'blocked_target', reason: /public/ });
    }
    t.is(server.connections(), 0);
  });
}

test('a bug in our code while reading a response is thrown, not blamed on the target', async (t) => {
  const send = createProbeClient({ allowPrivateNetwork: true });
  const { port } = await startHttpServer(t, (_, response) => response.end('x'));
  const bodyLimit = () => {
    throw new RangeError('a bug');
  };
  await t.throwsAsync(send(requestTo(port, { bodyLimit })), { message: 'a bug' });
});

test("with the caller's keep-alive agent connections are reused", async (t) => {
  const agent = new http.Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const server = await startHttpServer(t, (_, response) => response.end('kept'));
  const keeping = createHttpClient({ allowPrivateNetwork: true });
  const first = await keeping(requestTo(server.port, { agent }));
  const second = await keeping(requestTo(server.port, { agent }));
  t.deepEqual([bodyOf(first), bodyOf(second)], ['kept', 'kept']);
  t.is(server.connections(), 1);
  t.is(second.timings.connectMs, null);
  t.not(second.timings.firstByteMs, null);
});

test('the guard also applies to connections of a keep-alive agent', async (t) => {
  const agent = new http.Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const guarded = createHttpClient({ allowPrivateNetwork: false });
  const server = await startHttpServer(t, (_, response) => response.end());
  const exchange = await guarded(requestTo(0, { href: `http://localhost:${server.port}/`, agent }));
  expectFailure(t, exchange, { cause: 'blocked_target', reason: /public/ });
  t.is(server.connections(), 0);
});

const RETRY_AFTER: readonly [header: string | undefined, ms: number | null][] = [
  [undefined, null],
  ['7', 7000],
  ['0', 0],
  ['Fri, 15 Jan 2027 08:00:30 GMT', 30_000],
  ['Fri, 15 Jan 2027 07:00:00 GMT', 0],
  ['soon', null],
  ['-5', null],
  ['9999999999', 9_999_999_999_000],
];
for (const [header, ms] of RETRY_AFTER) {
  test(`Retry-After ${header} is ${ms} ms`, (t) => {
    t.is(readRetryAfter({ headers: { 'retry-after': header } }, Date.parse('2027-01-15T08:00:00Z')), ms);
  });
}
