import test from 'ava';
import { createProbeClient, type HttpExchange, type HttpRequest } from '../../net/http-client.ts';
import { requestTo, startCannedServer } from '../helpers/exchange.ts';
import { startHttpServer, startRawServer } from '../helpers/http-server.ts';
import { until } from '../helpers/until.ts';

const send = createProbeClient({ allowPrivateNetwork: true });

const DEADLINE_MS = 2000;

/** Sends requests until one times out for the given reason. */
async function timeOut(request: HttpRequest, reason: RegExp): Promise<HttpExchange> {
  // A busy machine may not get as far as the silence once, but not every time.
  return await until(async () => {
    const exchange = await send(request);
    return exchange.outcome === 'failed' && exchange.cause === 'timeout' && reason.test(exchange.reason) && exchange;
  });
}

const SILENCES: Record<string, { text: string; reason: RegExp }> = {
  'no bytes': { text: '', reason: /waiting for the response/ },
  'half a status line': { text: 'HTTP/1.1 2', reason: /waiting for the response/ },
  'headers that never end': { text: 'HTTP/1.1 200 OK\r\nX-A: 1\r\n', reason: /waiting for the response/ },
  'only informational responses': {
    text: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n',
    reason: /waiting for the response/,
  },
  'half a body': { text: 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', reason: /reading the body/ },
};

for (const [what, { text, reason }] of Object.entries(SILENCES)) {
  test(`a server that sends ${what} and keeps the connection open times out`, async (t) => {
    const { port } = await startCannedServer(t, text, () => {});
    const exchange = await timeOut(requestTo(port, { deadlineMs: DEADLINE_MS }), reason);
    t.true(exchange.durationMs >= DEADLINE_MS - 5 && exchange.durationMs < 30_000);
  });
}

test('a body that keeps trickling in does not extend the deadline', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => {
    const timer = setInterval(() => response.write('.'), 10);
    response.once('close', () => clearInterval(timer));
  });
  const exchange = await timeOut(requestTo(port, { deadlineMs: DEADLINE_MS }), /reading the body/);
  t.true(exchange.durationMs < 30_000);
});

test('an unanswered TLS handshake times out', async (t) => {
  const { port } = await startRawServer(t, () => {});
  const request = requestTo(port, { href: `https://127.0.0.1:${port}/`, deadlineMs: DEADLINE_MS });
  const exchange = await timeOut(request, /TLS handshake/);
  t.true(exchange.durationMs < 30_000);
});
