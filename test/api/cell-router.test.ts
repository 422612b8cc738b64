import { once } from 'node:events';
import { request as send, type IncomingHttpHeaders, type IncomingMessage, type RequestListener } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { serveCellRouter, type CellRouterOptions } from '../../api/cell-router.ts';
import { writePingToken, writeToken } from '../../core/accounts/cells.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import type { Harness } from '../helpers/harness.ts';
import { startHttpServer, startRawServer } from '../helpers/http-server.ts';
import { until } from '../helpers/until.ts';

const MONITOR_ID = 'mon_01jd3k5v9x8q2r4s6t7w0y1z2a';
const LIMITS = {
  connections: 200,
  requestsOfCell: 20,
  requestsOfNetwork: 15,
  bodyBytes: 1000,
  // Longer than a busy machine delays any request.
  connectMs: 60_000,
  silenceMs: 60_000,
};

const tokenOf = (cell: string | null) => writeToken('spk', cell, 'x'.repeat(43));
const bearing = (token: string) => ({ Authorization: `Bearer ${token}` });

/** Starts a router in front of servers that respond with their name and the request that they received. */
async function startRouter(
  t: Harness,
  { listener = {}, ...given }: Partial<CellRouterOptions> & { listener?: Record<string, RequestListener> } = {},
) {
  const cellOf = async (name: string) => {
    const answer: RequestListener = async (request, response) => {
      const body = await text(request).catch(() => 'broken off');
      const { method, url, headers } = request;
      response.setHeader('Set-Cookie', ['one=1', 'two=2']).setHeader('X-Cell', name);
      response.end(JSON.stringify({ cell: name, method, url, headers, body }));
    };
    const { port } = await startHttpServer(t, listener[name] ?? answer);
    return { name, url: `http://127.0.0.1:${port}` };
  };
  const router = await serveCellRouter({
    port: 0,
    host: '127.0.0.1',
    cells: [await cellOf('a'), await cellOf('b')],
    publicUrl: 'http://localhost:3000',
    trustedProxies: [],
    metrics: new Registry(),
    logger: pino({ level: 'silent' }),
    makeId: createIdSource(),
    limits: LIMITS,
    ...given,
  });
  t.teardown(() => router.stop(0));
  return `http://127.0.0.1:${router.port}`;
}

type Echo = { cell: string; method: string; url: string; headers: IncomingHttpHeaders; body: string };

async function echo(url: string, init?: RequestInit): Promise<Echo> {
  return (await (await fetch(url, init)).json()) as Echo;
}

/** Sends bytes that no client library would send, and reads the whole response. */
async function exchange(url: string, bytes: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) });
  socket.write(bytes);
  return await text(socket);
}

test('a request is forwarded unchanged to the cell of its token, and the response comes back complete', async (t) => {
  const url = await startRouter(t);
  const sent = { method: 'PATCH', body: '{"name":"x"}', headers: { ...bearing(tokenOf('b')), 'X-Own': 'kept' } };
  const response = await fetch(`${url}/v1/monitors/mon_1?a=1%202`, sent);
  t.is(response.headers.get('x-cell'), 'b');
  t.deepEqual(response.headers.getSetCookie(), ['one=1', 'two=2']);
  const received = (await response.json()) as Echo;
  t.like(received, { cell: 'b', method: 'PATCH', url: '/v1/monitors/mon_1?a=1%202', body: '{"name":"x"}' });
  t.like(received.headers, { 'x-own': 'kept', host: new URL(url).host, authorization: `Bearer ${tokenOf('b')}` });
});

test('requests without a cell or with an unknown one go to the first cell', async (t) => {
  const url = await startRouter(t);
  for (const headers of [{}, bearing(tokenOf(null)), bearing(tokenOf('z')), bearing('spk_ops'), { Authorization: 'x' }])
    t.is((await echo(`${url}/v1/monitors`, { headers })).cell, 'a', JSON.stringify(headers));
  t.is((await echo(`${url}/metrics/`)).cell, 'a', 'not the path of the metrics of the router');
});

test('a ping is routed by the token in its path, whatever its headers', async (t) => {
  const url = await startRouter(t);
  const token = writePingToken(MONITOR_ID, 'b', 'x'.repeat(24));
  const received = await echo(`${url}/ping/${token}/fail?x`, {
    method: 'POST',
    body: 'log',
    headers: bearing('spk_x'),
  });
  t.like(received, { cell: 'b', url: `/ping/${token}/fail?x`, body: 'log' });
  t.is((await echo(`${url}/ping/${MONITOR_ID}.${'x'.repeat(24)}`, { headers: bearing(tokenOf('b')) })).cell, 'a');
  t.is((await echo(`${url}/ping/b%2e${MONITOR_ID}.x`)).cell, 'a', 'the cell does not decode it either');
});

test('a browser selects its cell by a link, and a token takes precedence over the cookie', async (t) => {
  const url = await startRouter(t, { publicUrl: 'https://status.example' });
  const chosen = await fetch(`${url}/cells/b`, { redirect: 'manual' });
  t.deepEqual([chosen.status, chosen.headers.get('location')], [303, '/']);
  const [cookie = ''] = chosen.headers.getSetCookie();
  t.regex(cookie, /^__Host-spotcheck-cell=b; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  const headers = { Cookie: cookie.split(';')[0] ?? '' };
  t.is((await echo(`${url}/`, { headers })).cell, 'b');
  t.is((await echo(`${url}/v1/monitors`, { headers: { ...headers, ...bearing(tokenOf('a')) } })).cell, 'a');
  t.is((await fetch(`${url}/cells/z`, { redirect: 'manual' })).status, 404);
  t.is((await fetch(`${url}/cells/b`, { method: 'POST' })).status, 405);
});

test('a client can choose neither its cell nor its address by headers', async (t) => {
  const url = await startRouter(t);
  const headers = {
    ...bearing(tokenOf('b')),
    'X-Forwarded-For': '6.6.6.6',
    'X-Forwarded-Host': 'evil.example',
    'X-Forwarded-Proto': 'https',
    'X-Real-Ip': '6.6.6.6',
    Forwarded: 'for=6.6.6.6',
    'X-Cell': 'a',
    Host: 'a',
    Cookie: 'spotcheck-cell=a',
  };
  const { cell, headers: received } = await echo(`${url}/v1/monitors`, { headers });
  t.is(cell, 'b');
  t.is(received['x-forwarded-for'], '127.0.0.1');
  for (const name of ['forwarded', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'])
    t.false(name in received, name);
});

test('the client address from a trusted proxy is passed on, without the hops before it', async (t) => {
  const url = await startRouter(t, { trustedProxies: ['loopback'] });
  const headers = { 'X-Forwarded-For': '6.6.6.6, 203.0.113.9' };
  t.is((await echo(url, { headers })).headers['x-forwarded-for'], '203.0.113.9');
});

test('hop-by-hop headers are not forwarded, and Connection cannot remove other headers', async (t) => {
  const url = await startRouter(t);
  const answer = await exchange(
    url,
    `GET /v1/x HTTP/1.1\r\nHost: h\r\nConnection: close, x-forwarded-for, authorization, upgrade\r\n` +
      `Upgrade: websocket\r\nTE: trailers\r\nProxy-Authorization: Basic x\r\nExpect: 100-continue\r\n` +
      `Authorization: Bearer ${tokenOf('b')}\r\n\r\n`,
  );
  const { cell, headers } = JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1)) as Echo;
  t.regex(answer, /^connection: close\r$/im, 'the client wanted it closed');
  t.is(cell, 'b');
  t.is(headers['x-forwarded-for'], '127.0.0.1');
  t.is(headers.authorization, `Bearer ${tokenOf('b')}`);
  for (const name of ['upgrade', 'te', 'proxy-authorization', 'expect']) t.false(name in headers, name);
});

test('ambiguous requests are rejected, and of two tokens only the first is forwarded', async (t) => {
  const url = await startRouter(t);
  for (const head of [
    'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n',
    'GET / HTTP/1.1\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n',
  ])
    t.regex(await exchange(url, `${head}Connection: close\r\n\r\n`), /^HTTP\/1\.1 400 /, head);
  // Both the router and the cell ignore a second token.
  const twice = `Authorization: Bearer ${tokenOf('b')}\r\nAuthorization: Bearer ${tokenOf('a')}\r\n`;
  const answer = await exchange(url, `GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${twice}\r\n`);
  t.true(answer.includes('"cell":"b"') && !answer.includes(tokenOf('a')));
});

// Node 24.4 passes on only the first thousand headers, and the router refuses the body; 24.21 refuses the headers.
test('a body whose length comes after a thousand headers cannot smuggle a request to a cell', async (t) => {
  let received = 0;
  const url = await startRouter(t, { listener: { a: (_request, response) => response.end(String((received += 1))) } });
  const second = 'POST /ping/x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n';
  const head = `GET /v1/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${'a:\r\n'.repeat(1100)}`;
  const answer = await exchange(url, `${head}Content-Length: ${second.length}\r\n\r\n${second}`);
  t.regex(answer, /^HTTP\/1\.1 4(?:00|31) /);
  t.is(received, 0);
});

test('requests are forwarded below the path of PUBLIC_URL, and other target forms are refused', async (t) => {
  const url = await startRouter(t, { publicUrl: 'http://localhost:3000/status' });
  t.is((await echo(`${url}/status/v1/x?y`)).url, '/status/v1/x?y');
  t.is((await echo(`${url}/v1/x`)).url, '/status/v1/x', 'a proxy in front stripped it');
  t.is((await echo(`${url}/status/status/metrics`)).url, '/status/status/metrics', 'it is stripped once');
  for (const target of ['http://evil.example/v1/x', '*'])
    t.regex(
      await exchange(url, `OPTIONS ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`),
      /^HTTP\/1\.1 404 /,
      target,
    );
  const old = await exchange(url, 'GET /v1/x HTTP/1.0\r\n\r\n');
  t.regex(old, /"host":"localhost:3000"/, 'the address of the cell is not exposed');
});

test('pipelining and many concurrent requests of one client leave capacity for other clients', async (t) => {
  const held: (() => void)[] = [];
  const url = await startRouter(t, {
    trustedProxies: ['loopback'],
    listener: {
      b: ({ url: path }, response) =>
        path === '/pipelined' && held.length > 0 ? response.end('done') : void held.push(() => response.end('done')),
    },
  });
  const asking = `GET /pipelined HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${tokenOf('b')}\r\n`;
  const answers = exchange(url, `${`${asking}\r\n`.repeat(10)}${asking}Connection: close\r\n\r\n`);
  await until(() => held.length === 1);
  const ask = (address: string) => fetch(url, { headers: { ...bearing(tokenOf('b')), 'X-Forwarded-For': address } });
  const ofOne = Array.from({ length: 16 }, () => ask('203.0.113.7'));
  const [refused] = await Promise.race(ofOne.map(async (one) => [await one]));
  t.is(refused?.status, 429);
  t.regex((await refused?.text()) ?? '', /too many requests of this client are under way/);
  await until(() => held.length === 16);
  const another = ask('203.0.113.8');
  await until(() => held.length === 17);
  for (const finish of held) finish();
  t.is((await another).status, 200);
  const statuses = (await Promise.all(ofOne)).map(({ status }) => status);
  t.deepEqual(statuses.toSorted(), [...Array.from({ length: 15 }, () => 200), 429]);
  t.is((await answers).match(/HTTP\/1\.1 200/g)?.length, 11);
});

test('the log has the request id that the client got, and the reason why a cell failed', async (t) => {
  const lines: string[] = [];
  const answering = await startHttpServer(t, (_request, response) =>
    response.setHeader('X-Request-Id', 'req_of_cell').end(),
  );
  const url = await startRouter(t, {
    cells: [
      { name: 'a', url: `http://127.0.0.1:${answering.port}` },
      { name: 'b', url: 'http://127.0.0.1:9' },
    ],
    logger: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
  });
  t.is((await fetch(url)).headers.get('x-request-id'), 'req_of_cell');
  t.is((await fetch(url, { headers: bearing(tokenOf('b')) })).status, 503);
  await until(() => lines.some((line) => line.includes('req_of_cell')));
  t.true(lines.some((line) => line.includes('cell b: connect ECONNREFUSED')));
});

test('a body over the limit is a 413, with or without Content-Length', async (t) => {
  const url = await startRouter(t);
  const body = 'x'.repeat(LIMITS.bodyBytes + 1);
  const headers = bearing(tokenOf('b'));
  t.is((await fetch(url, { method: 'POST', body, headers })).status, 413);
  const parts = new ReadableStream({
    start(controller) {
      for (const part of [body.slice(500), body]) controller.enqueue(new TextEncoder().encode(part));
      controller.close();
    },
  });
  const streamed = await fetch(url, { method: 'POST', body: parts, duplex: 'half', headers } as RequestInit);
  t.is(streamed.status, 413);
  t.regex(((await streamed.json()) as { error: string }).error, /at most 1000 bytes/);
  const exact = await echo(url, { method: 'POST', body: body.slice(1), headers });
  t.is(exact.body.length, LIMITS.bodyBytes);
});

test('an unavailable cell is a 503 with Retry-After, and other cells keep responding', async (t) => {
  const { port } = await startRawServer(t, (socket) => socket.destroy());
  const alive = await startHttpServer(t, (_request, response) => void response.end('alive'));
  const url = await startRouter(t, {
    cells: [
      { name: 'a', url: 'http://127.0.0.1:9' },
      { name: 'b', url: `http://127.0.0.1:${alive.port}` },
      { name: 'c', url: `http://127.0.0.1:${port}` },
    ],
  });
  for (const cell of ['a', 'c']) {
    const response = await fetch(`${url}/v1/monitors`, { headers: bearing(tokenOf(cell)) });
    t.is(response.status, 503);
    t.is(response.headers.get('retry-after'), '5');
    const { error, request_id: id } = (await response.json()) as { error: string; request_id: string };
    t.regex(error, /does not answer/);
    t.is(response.headers.get('x-request-id'), id);
  }
  t.is(await (await fetch(url, { headers: bearing(tokenOf('b')) })).text(), 'alive');
  t.is((await fetch(`${url}/readyz`)).status, 200, 'readiness of the router does not depend on its cells');
});

test('a cell that never responds exhausts only its own share', async (t) => {
  let received = 0;
  const url = await startRouter(t, {
    limits: { ...LIMITS, requestsOfCell: 3 },
    listener: { b: () => void (received += 1) },
  });
  const leaving = new AbortController();
  const ask = (cell: string) => fetch(url, { headers: bearing(tokenOf(cell)), signal: leaving.signal });
  const waiting = [ask('b'), ask('b'), ask('b')];
  await until(() => received === 3);
  t.is((await ask('b')).status, 503);
  t.is((await ask('a')).status, 200);
  t.is(received, 3, 'the fourth request did not reach it');
  leaving.abort();
  await Promise.allSettled(waiting);
});

test('the share of a cell is freed as requests time out', async (t) => {
  let received = 0;
  const url = await startRouter(t, {
    limits: { ...LIMITS, requestsOfCell: 3, silenceMs: 500 },
    listener: {
      b: (_request, response) => {
        received += 1;
        if (received > 3) response.end();
      },
    },
  });
  const ask = async () => (await fetch(url, { headers: bearing(tokenOf('b')) })).status;
  t.deepEqual(await Promise.all([ask(), ask(), ask()]), [503, 503, 503]);
  // On a busy machine a response may come too late, too.
  t.true(await until(async () => (await ask()) === 200));
});

test('response events are streamed, and the end of either connection ends the other', async (t) => {
  const streams: { response: Parameters<RequestListener>[1]; isClosed: boolean }[] = [];
  const url = await startRouter(t, {
    listener: {
      b: (_request, response) => {
        const stream = { response, isClosed: false };
        response.once('close', () => (stream.isClosed = true));
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('event: ready\n\n');
        streams.push(stream);
      },
    },
  });
  const open = async () => {
    const asking = send(`${url}/v1/live`, { headers: bearing(tokenOf('b')), agent: false }).on(
      'error',
      () => undefined,
    );
    asking.end();
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    t.is(String((await once(answer, 'data'))[0]), 'event: ready\n\n');
    return answer;
  };
  const left = await open();
  streams[0]?.response.write('event: monitor\n\n');
  t.is(String((await once(left, 'data'))[0]), 'event: monitor\n\n');
  left.destroy();
  await until(() => streams[0]?.isClosed);
  const cut = await open();
  const ended = once(cut, 'error');
  streams[1]?.response.destroy();
  const [error] = (await ended) as [NodeJS.ErrnoException];
  t.is(error.code, 'ECONNRESET', 'a response that breaks off is not complete');
});

test('an upload is streamed to the cell, and an aborted one is aborted there too', async (t) => {
  const bodies: string[] = [];
  const url = await startRouter(t, {
    listener: {
      b: (request, response) => {
        request.setEncoding('utf8').on('data', (part: string) => bodies.push(part));
        request.once('end', () => response.end('whole')).on('error', () => bodies.push('broken off'));
      },
    },
  });
  const sending = send(url, { method: 'POST', headers: bearing(tokenOf('b')), agent: false });
  sending.on('error', () => undefined).write('first');
  await until(() => bodies.includes('first'));
  sending.destroy();
  await until(() => bodies.includes('broken off'));
  t.deepEqual(bodies, ['first', 'broken off']);
});

test('a stopping router reports that it is not ready, finishes open requests and accepts no more', async (t) => {
  const asked = Promise.withResolvers<() => void>();
  const { port } = await startHttpServer(t, (_request, response) => asked.resolve(() => response.end('late')));
  const router = await serveCellRouter({
    port: 0,
    host: '127.0.0.1',
    cells: [{ name: 'a', url: `http://127.0.0.1:${port}` }],
    publicUrl: 'http://localhost:3000',
    trustedProxies: [],
    metrics: new Registry(),
    logger: pino({ level: 'silent' }),
    makeId: createIdSource(),
  });
  const url = `http://127.0.0.1:${router.port}`;
  const underWay = fetch(`${url}/v1/monitors`);
  const answer = await asked.promise;
  // The limit is long enough for a request on a busy machine.
  const stopped = router.stop(5000);
  t.is((await fetch(`${url}/readyz`)).status, 503);
  await until(
    async () =>
      await fetch(`${url}/healthz`).then(
        () => false,
        () => true,
      ),
  );
  answer();
  t.is(await (await underWay).text(), 'late');
  await stopped;
});
