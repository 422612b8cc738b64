import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import zlib from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { extractAnswerEvidence } from '../../core/incidents/evidence.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import { createHttpProbe } from '../../probes/http.ts';
import { httpTarget } from '../helpers/check-target.ts';
import { startHttpServer, startRawServer } from '../helpers/http-server.ts';
import { judgeHttp } from '../helpers/judge.ts';

const probe = createHttpProbe({ allowPrivateNetwork: true });
const search = (): boolean => false;

async function check(port: number, overrides: Partial<CheckTarget> = {}) {
  const target = httpTarget({ target: `http://127.0.0.1:${port}/`, timeoutMs: 60_000, ...overrides });
  const startedAt = performance.now();
  const observation = await probe(target);
  const tookMs = performance.now() - startedAt;
  return {
    judgement: judgeHttp({ target, observation, search }),
    answer: extractAnswerEvidence({ target, observation }),
    observation,
    tookMs,
  };
}

function answering(t: ExecutionContext, answer: (response: ServerResponse, request: IncomingMessage) => void) {
  return startHttpServer(t, (request, response) => answer(response, request));
}

test('after a bad status the first 1,024 bytes of the body are read, even if no condition needs it', async (t) => {
  const { port } = await answering(t, (response) =>
    response
      .writeHead(503, { 'Content-Type': 'text/html', 'Retry-After': '30' })
      .end(`<h1>Back soon</h1>${'x'.repeat(5000)}`),
  );
  const { judgement, answer } = await check(port);
  t.is(judgement.cause, 'status_503');
  t.like(answer, { status: 503, headers: { 'content-type': 'text/html', 'retry-after': '30' } });
  t.is(answer?.body, `<h1>Back soon</h1>${'x'.repeat(1024 - 18)}`);
});

test('a compressed body is read as text', async (t) => {
  const { port } = await answering(t, (response) =>
    response
      .writeHead(500, { 'Content-Encoding': 'gzip', 'Content-Type': 'text/plain' })
      .end(zlib.gzipSync('squeezed')),
  );
  t.is((await check(port)).answer?.body, 'squeezed');
});

test('a body whose decoder needs much memory is not read for evidence', async (t) => {
  for (const [coding, squeeze] of [
    ['br', zlib.brotliCompressSync],
    ['zstd', zlib.zstdCompressSync],
  ] as const) {
    const { port } = await answering(t, (response) =>
      response.writeHead(500, { 'Content-Encoding': coding }).end(squeeze('squeezed')),
    );
    const { judgement, observation } = await check(port);
    t.is(judgement.cause, 'status_500');
    t.like(observation, { outcome: 'answered', bodyStart: null });
  }
});

test('the start of a compressed page is read, even if it is far longer', async (t) => {
  // Random text hardly compresses: a hundred kilobytes on the wire.
  const page = `<h1>Oops</h1>${randomBytes(100_000).toString('base64')}`;
  for (const [coding, squeeze] of [
    ['gzip', zlib.gzipSync],
    ['deflate', zlib.deflateSync],
  ] as const) {
    const { port } = await answering(t, (response) =>
      response.writeHead(500, { 'Content-Encoding': coding, 'Content-Type': 'text/html' }).end(squeeze(page)),
    );
    t.is((await check(port)).answer?.body, page.slice(0, 1024), coding);
  }
});

test('an endless body after a bad status does not change the cause, and its start is read', async (t) => {
  const { port } = await answering(t, (response) => {
    response.writeHead(502, { 'Content-Type': 'text/plain' });
    const timer = setInterval(() => response.write('more '.repeat(2000)), 1);
    response.on('close', () => clearInterval(timer));
  });
  const { judgement, answer, observation } = await check(port);
  t.is(judgement.cause, 'status_502');
  t.is(answer?.body, 'more '.repeat(205).slice(0, 1024));
  t.is(observation.timings.downloadMs, null);
});

test('a slow body after a bad status neither counts as latency nor delays the check for long', async (t) => {
  const { port } = await answering(t, (response) => {
    response.writeHead(500, { 'Content-Type': 'text/plain' }).write('first ');
    const timer = setInterval(() => response.write('.'), 100);
    response.on('close', () => clearInterval(timer));
  });
  const { judgement, answer, observation, tookMs } = await check(port);
  t.is(judgement.cause, 'status_500');
  t.true(answer?.body?.startsWith('first '));
  t.true(
    observation.latencyMs !== null && observation.latencyMs < tookMs - 200,
    `${observation.latencyMs} of ${tookMs} ms`,
  );
  t.true(tookMs < 30_000, `${tookMs} ms, though the body has no end`);
});

test('a body that never starts is reported as not read', async (t) => {
  const { port } = await answering(t, (response) => response.writeHead(500, { 'Content-Length': '10' }).flushHeaders());
  const { judgement, answer } = await check(port);
  t.is(judgement.cause, 'status_500');
  t.is(answer?.body, null);
});

const BROKEN: readonly [what: string, bytes: string, body: string | null][] = [
  ['cut off', 'HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\nhalf', 'half'],
  ['invalidly chunked', 'HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\nzz\r\n', 'good'],
  ['not in its declared coding', 'HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope', null],
];
for (const [what, bytes, body] of BROKEN) {
  test(`a body that is ${what} after a bad status does not change the cause`, async (t) => {
    const { port } = await startRawServer(t, (socket) => socket.once('data', () => socket.end(bytes)));
    const { judgement, answer } = await check(port);
    t.is(judgement.cause, 'status_500');
    t.is(answer?.body, body);
  });
}

test('a body that a match has read is evidence as well', async (t) => {
  const { port } = await answering(t, (response) => response.end('quite another text'));
  const { judgement, answer } = await check(port, { bodyMatch: 'the text' });
  t.is(judgement.cause, 'body_mismatch');
  t.is(answer?.body, 'quite another text');
});

test('no body is read after a good status or after HEAD', async (t) => {
  const { port } = await answering(t, (response, { method }) =>
    response.writeHead(method === 'HEAD' ? 500 : 200).end('text'),
  );
  t.is((await check(port)).answer?.body, null);
  t.like((await check(port, { method: 'HEAD' })).answer, { status: 500, body: null });
});

test('a response that echoes secrets is stored without its body and the headers that contain them', async (t) => {
  const { port } = await answering(t, (response, request) => {
    const { authorization = '', 'x-key': key = '' } = request.headers;
    response
      .writeHead(401, {
        'X-Echo': authorization,
        Server: String(key),
        Location: `/${authorization.slice(6)}?k=${key}`,
        'Content-Type': 'text/plain',
      })
      .end(JSON.stringify(request.headers));
  });
  const { judgement, answer } = await check(port, {
    followRedirects: false,
    checkSpec: { request: { auth: { type: 'basic' }, secretHeaderNames: ['X-Key'] } },
    secrets: { auth: { username: 'user', password: 'canary-word' }, secretHeaders: { 'X-Key': 'canary-key' } },
  });
  t.is(judgement.cause, 'status_401');
  const { date, ...headers } = answer?.headers ?? {};
  t.truthy(date);
  t.deepEqual(
    { ...answer, headers },
    {
      status: 401,
      headers: { 'content-type': 'text/plain', connection: 'close', 'transfer-encoding': 'chunked' },
      body: null,
      bodyWithheld: 'secrets',
    },
  );
});

test('credentials in the URL are secrets like any other', async (t) => {
  const { port } = await answering(t, (response, request) =>
    response.writeHead(500).end(request.headers.authorization),
  );
  t.like((await check(port, { target: `http://user:canary@127.0.0.1:${port}/` })).answer, {
    body: null,
    bodyWithheld: 'secrets',
  });
});

test('the body from another host is withheld, too, if secrets were sent before the redirect', async (t) => {
  const last = await answering(t, (response) => response.writeHead(500).end('text'));
  const { port } = await answering(t, (response) =>
    response.writeHead(302, { Location: `http://localhost:${last.port}/` }).end(),
  );
  t.like((await check(port, { secrets: { secretHeaders: { 'X-Key': 'x' } } })).answer, {
    status: 500,
    bodyWithheld: 'secrets',
  });
});
