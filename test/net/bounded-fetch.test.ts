import test from 'ava';
import { createBoundedFetch, PeerAway } from '../../net/bounded-fetch.ts';
import { startHttpServer } from '../helpers/http-server.ts';

const BOUNDS = { bytes: 100, deadlineMs: 30_000, atOnce: 2 };

test('a response within the limits is returned as by fetch, and redirects are not followed', async (t) => {
  const seen: string[] = [];
  const { port } = await startHttpServer(t, (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      seen.push(`${request.method} ${request.headers['x-mark']} ${body}`);
      if (request.url === '/moved') response.writeHead(302, { Location: '/' }).end();
      else response.setHeader('Content-Type', 'application/json').end('{"a":1}'.padEnd(100));
    });
  });
  const fetchBounded = createBoundedFetch(BOUNDS, 'test');
  const url = `http://127.0.0.1:${port}`;
  const answer = await fetchBounded(url, {
    method: 'POST',
    headers: { 'X-Mark': 'm' },
    body: new URLSearchParams({ b: 'c d' }),
  });
  t.is(answer.status, 200);
  t.is(answer.headers.get('content-type'), 'application/json');
  t.deepEqual(await answer.json(), { a: 1 });
  t.is((await fetchBounded(`${url}/moved`, {})).status, 302);
  t.deepEqual(seen, ['POST m b=c+d', 'GET undefined ']);
});

test('oversized, late, broken, 429 and 5xx responses and excess requests count as an unavailable peer', async (t) => {
  const { port } = await startHttpServer(t, ({ url = '' }, response) => {
    if (url === '/long') response.end('x'.repeat(101));
    else if (url === '/broken') response.socket?.destroy();
    else if (/^\/\d+$/.test(url)) response.writeHead(Number(url.slice(1))).end();
    // Any other request gets no response.
  });
  const url = `http://127.0.0.1:${port}`;
  const fetchBounded = createBoundedFetch(BOUNDS, 'test');
  for (const path of ['/long', '/broken', '/500', '/503', '/429'])
    await t.throwsAsync(fetchBounded(`${url}${path}`, {}), { instanceOf: PeerAway }, path);
  t.is((await fetchBounded(`${url}/404`, {})).status, 404);
  const impatient = createBoundedFetch({ ...BOUNDS, deadlineMs: 200 }, 'test');
  const held = [impatient(`${url}/never`, {}), impatient(`${url}/never`, {})];
  await t.throwsAsync(impatient(`${url}/404`, {}), { message: 'too many requests to it are under way' });
  for (const one of held) await t.throwsAsync(one, { instanceOf: PeerAway });
  t.is((await impatient(`${url}/404`, {})).status, 404);
});
