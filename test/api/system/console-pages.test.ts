import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, request as sendRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import { pino } from 'pino';
import { errorResponse } from '../../../api/middleware/error-response.ts';
import { consolePages, readConsole } from '../../../api/system/console-pages.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const INDEX = '<!doctype html><title>Console</title>';
const HTML = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer };
type Ask = (path: string, headers?: Record<string, string>, method?: string) => Promise<Answer>;

/**
 * Writes a console as the build does, and serves it in front of an app that answers other requests with 404 in JSON.
 */
async function serve(t: ExecutionContext, { isBuilt = true } = {}): Promise<Ask> {
  const folder = join(await temporaryFolder(t), 'dist');
  if (isBuilt) {
    await mkdir(join(folder, 'assets'), { recursive: true });
    const files = {
      'index.html': INDEX,
      'early.js': '1',
      'assets/main-abc.js': 'console.log(1)'.repeat(50),
      'paths.json': '["/","/monitors/:id"]',
      'manifest.json': '{}',
      stamp: 'x',
    };
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(folder, name), text);
      if (name.startsWith('assets/'))
        await Promise.all([
          writeFile(join(folder, `${name}.br`), brotliCompressSync(text)),
          writeFile(join(folder, `${name}.gz`), gzipSync(text)),
        ]);
    }
  }
  const app = express();
  app.use(consolePages(await readConsole(folder, ''), ''));
  app.use((_request, response) => void response.status(404).json({ error: 'there is no endpoint at this path' }));
  app.use(errorResponse({ logger: pino({ level: 'silent' }) }));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  return async (path, headers = {}, method = 'GET') => {
    const sent = sendRequest({ port, host: '127.0.0.1', path, method, headers, agent: false }).end();
    const [response] = await once(sent, 'response');
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
  };
}

test('every page address returns the page, with a policy that allows nothing from elsewhere', async (t) => {
  const ask = await serve(t);
  for (const path of ['/', '/monitors/mon_1', '/monitors/mon_1/', '/monitors/mon_1?tab=checks']) {
    const { status, headers, body } = await ask(path);
    t.is(status, 200, path);
    t.is(body.toString(), INDEX);
    t.is(headers['content-type'], 'text/html; charset=utf-8');
    t.is(headers['cache-control'], 'no-cache');
    const policy = headers['content-security-policy'] ?? '';
    t.regex(String(policy), /^default-src 'none'; script-src 'self'; style-src 'self';/);
    t.notRegex(String(policy), /unsafe|\*|https?:/);
  }
});

test('files are served in the smallest accepted encoding, and hashed ones are cached permanently', async (t) => {
  const ask = await serve(t);
  const text = 'console.log(1)'.repeat(50);
  const forms = [
    ['br, gzip', 'br', brotliCompressSync(text)],
    ['gzip', 'gzip', gzipSync(text)],
    ['identity', undefined, Buffer.from(text)],
  ] as const;
  for (const [accepted, coding, bytes] of forms) {
    const { status, headers, body } = await ask('/assets/main-abc.js', { 'Accept-Encoding': accepted });
    t.is(status, 200);
    t.is(headers['content-encoding'], coding);
    t.is(headers['content-length'], String(bytes.length));
    t.is(headers['vary'], 'Accept-Encoding');
    t.is(headers['cache-control'], 'public, max-age=31536000, immutable');
    t.deepEqual(body, bytes);
    const { etag = '' } = headers;
    const again = await ask('/assets/main-abc.js', { 'Accept-Encoding': accepted, 'If-None-Match': etag });
    t.is(again.status, 304);
    t.is(again.body.length, 0);
  }
  t.is((await ask('/early.js')).headers['cache-control'], 'no-cache');
  const { headers, body } = await ask('/', {}, 'HEAD');
  t.is(headers['content-length'], String(INDEX.length));
  t.is(body.length, 0);
});

test('a browser on an unknown path gets the page with a 404, and machine paths get JSON', async (t) => {
  const ask = await serve(t);
  const lost = await ask('/nowhere', HTML);
  t.is(lost.status, 404);
  t.is(lost.body.toString(), INDEX);
  for (const [path, headers] of [
    ['/nowhere', {}],
    ['/v1/nowhere', HTML],
    ['/agent/v1/x', HTML],
    ['/ping/x', HTML],
    ['/connect/slack', HTML],
    ['/telegram/x', HTML],
    ['/metrics', HTML],
    ['/queues/x', HTML],
    ['/paths.json', {}],
    ['/stamp', {}],
    ['/assets/main-abc.js.br', {}],
    ['/assets/..%2fpaths.json', {}],
    ['/index.html', {}],
  ] as const) {
    const { status, headers: answered } = await ask(path, headers);
    t.is(status, 404, path);
    t.regex(answered['content-type'] ?? '', /json/, path);
  }
  const posted = await ask('/monitors/mon_1', {}, 'POST');
  t.is(posted.status, 405);
  t.is(posted.headers.allow, 'GET, HEAD');
  t.is((await ask('/nowhere', {}, 'POST')).status, 404);
});

test('without a console build a page says what to do, and everything else works', async (t) => {
  const ask = await serve(t, { isBuilt: false });
  const { status, body } = await ask('/', HTML);
  t.is(status, 503);
  t.regex(body.toString(), /npm run console/);
  t.is((await ask('/v1/x')).status, 404);
});
