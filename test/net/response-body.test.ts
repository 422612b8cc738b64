import { once } from 'node:events';
import { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import zlib from 'node:zlib';
import test from 'ava';
import { BodyBudget } from '../../net/body-budget.ts';
import { createHttpClient } from '../../net/http-client.ts';
import { readBody } from '../../net/response-body.ts';
import { bodyOf, expectFailure, KILOBYTE, requestTo } from '../helpers/exchange.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { until } from '../helpers/until.ts';

const send = createHttpClient({ allowPrivateNetwork: true });

test('an endless body is cut at the limit and its connection closed', async (t) => {
  let closed: Promise<unknown> | undefined;
  const { port } = await startHttpServer(t, (_, response) => {
    closed = once(response, 'close');
    const pump = (): void => {
      while (!response.destroyed && response.write('x'.repeat(16 * KILOBYTE)));
    };
    response.on('drain', pump);
    pump();
  });
  const exchange = await send(requestTo(port, { bodyLimit: () => 100_000 }));
  t.like(exchange, { outcome: 'answered', truncated: true });
  t.is(bodyOf(exchange).length, 100_000);
  await closed;
});

test('a body of exactly the limit is not truncated', async (t) => {
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
  test(`a body with Content-Encoding "${coding}" is decoded, even if it arrives byte by byte`, async (t) => {
    const text = 'content '.repeat(50);
    const { port } = await startHttpServer(t, (_, response) => {
      response.setHeader('Content-Encoding', coding);
      for (const byte of encode(text)) response.write(Buffer.of(byte));
      response.end();
    });
    t.is(bodyOf(await send(requestTo(port))), text);
  });
}

test('deflate without its zlib header is decoded as well', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => {
    response.setHeader('Content-Encoding', 'deflate');
    response.end(zlib.deflateRawSync('bare deflate'));
  });
  t.is(bodyOf(await send(requestTo(port))), 'bare deflate');
});

test('gzip without its checksum is decoded as far as possible', async (t) => {
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

test('a body that does not match its Content-Encoding is a connection error', async (t) => {
  const { port } = await startHttpServer(t, (_, response) =>
    response.setHeader('Content-Encoding', 'gzip').end('plain'),
  );
  expectFailure(t, await send(requestTo(port)), { cause: 'conn_error', reason: /Content-Encoding/ });
});

test('a body with an unknown coding is left unchanged', async (t) => {
  const { port } = await startHttpServer(t, (_, response) =>
    response.setHeader('Content-Encoding', 'constructor').end('as it came'),
  );
  t.is(bodyOf(await send(requestTo(port))), 'as it came');
});

const NOTHING = Buffer.alloc(64 * KILOBYTE * KILOBYTE);
const BOMBS = {
  gzip: zlib.gzipSync(NOTHING),
  br: zlib.brotliCompressSync(NOTHING, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } }),
  zstd: zlib.zstdCompressSync(NOTHING),
};

for (const [coding, bomb] of Object.entries(BOMBS)) {
  test.serial(`a ${coding} bomb of 64 MiB is cut at the limit without being unpacked`, async (t) => {
    const { port } = await startHttpServer(t, (_, response) =>
      response.setHeader('Content-Encoding', coding).end(bomb),
    );
    const before = process.memoryUsage().rss;
    const exchange = await send(requestTo(port));
    t.like(exchange, { outcome: 'answered', truncated: true });
    t.is(bodyOf(exchange).length, 64 * KILOBYTE);
    t.true(process.memoryUsage().rss - before < 48 * KILOBYTE * KILOBYTE);
  });
}

test('an endless stream of empty compressed blocks is cut before the deadline', async (t) => {
  // A gzip header, followed by stored blocks of length zero.
  const head = zlib.gzipSync('').subarray(0, 10);
  const emptyBlocks = Buffer.from('000000ffff'.repeat(4_000), 'hex');
  const { port } = await startHttpServer(t, (_, response) => {
    response.setHeader('Content-Encoding', 'gzip');
    response.write(head);
    const pump = (): void => {
      while (!response.destroyed && response.write(emptyBlocks));
    };
    response.on('drain', pump);
    pump();
  });
  t.like(await send(requestTo(port)), { outcome: 'answered', truncated: true });
});

test('a body given up for memory ends at the limit as estimated from its compression so far', async (t) => {
  const head = { httpVersion: '1.1', headers: { 'content-encoding': 'br' }, complete: false, socket: new Socket() };
  const response = Object.assign(new PassThrough(), head);
  const charge = new BodyBudget(32 * KILOBYTE * KILOBYTE).open('ten_1', () => undefined);
  const body = readBody(response, { limit: 100 * KILOBYTE, decodes: true, charge: () => charge });
  const encoder = zlib.createBrotliCompress();
  const wire: Buffer[] = [];
  encoder.on('data', (chunk: Buffer) => void wire.push(chunk));
  encoder.write('one line of a log\n'.repeat(1000));
  await new Promise<void>((resolve) => void encoder.flush(() => resolve()));
  const start = Buffer.concat(wire);
  response.write(start);
  await until(() => body.soFar().length === 18_000);
  body.giveUp();
  response.write(Buffer.alloc(10 * start.length));
  t.is(await body.ended, 'out_of_memory');
});
