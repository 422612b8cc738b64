import test from 'ava';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import { openPingSending } from '../../../notifications/webhook/ping.ts';
import { startHttpServer } from '../../helpers/http-server.ts';

const NOW_MS = 1_800_000_000_000;

const send = openPingSending({ deadlineMs: 60_000, publicUrl: 'https://a.example', now: () => NOW_MS });

function messageOf(atMs: number) {
  return buildTestMessage({ nowMs: atMs, publicUrl: 'https://a.example' });
}

test('a ping is one POST with a line of text, allowed over plain http and to a private address', async (t) => {
  const requests: string[] = [];
  const { port } = await startHttpServer(t, (request, response) => {
    request.setEncoding('utf8').on('data', (text) => requests.push(`${request.method} ${request.url} ${text}`));
    request.on('end', () => response.end('OK'));
  });
  const result = await send({ url: `http://127.0.0.1:${port}/ping/x?y`, message: messageOf(NOW_MS) });
  t.like(result, { outcome: 'delivered', statusCode: 200, error: null });
  t.deepEqual(requests, [
    'POST /ping/x?y Spotcheck at https://a.example: schedules, probes, decisions and deliveries work\n',
  ]);
});

test('a failed ping is final, since the next run sends the next one', async (t) => {
  for (const status of [302, 404, 503]) {
    const { port } = await startHttpServer(t, (_request, response) => void response.writeHead(status).end());
    const result = await send({ url: `http://127.0.0.1:${port}/`, message: messageOf(NOW_MS) });
    t.like(result, { outcome: 'failed', statusCode: status, error: `The address responded with ${status}` });
  }
  const away = await send({ url: 'http://127.0.0.1:9/', message: messageOf(NOW_MS) });
  t.like(away, { outcome: 'failed', statusCode: null });
  t.regex(away.error ?? '', /refused/i);
});

test('a ping that has waited for more than 15 s is not sent', async (t) => {
  let requests = 0;
  const { port } = await startHttpServer(t, (_request, response) => {
    requests += 1;
    response.end();
  });
  const url = `http://127.0.0.1:${port}/`;
  t.like(await send({ url, message: messageOf(NOW_MS - 16_000) }), {
    outcome: 'failed',
    error: 'The ping was 16 s late, and was not sent',
  });
  t.is(requests, 0);
  t.like(await send({ url, message: messageOf(NOW_MS - 15_000) }), { outcome: 'delivered' });
});
