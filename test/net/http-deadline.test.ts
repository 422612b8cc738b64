import test from 'ava';
import { createProbeClient } from '../../net/http-client.ts';
import { expectFailure, requestTo, startCannedServer } from '../helpers/exchange.ts';
import { startHttpServer, startRawServer } from '../helpers/http-server.ts';

const send = createProbeClient({ allowPrivateNetwork: true });

/** Long enough for a busy machine to get as far as the silence. In milliseconds. */
const DEADLINE_MS = 4000;

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
    const exchange = await send(requestTo(port, { deadlineMs: DEADLINE_MS }));
    expectFailure(t, exchange, { cause: 'timeout', reason });
    t.true(exchange.durationMs >= DEADLINE_MS - 5 && exchange.durationMs < 30_000);
  });
}

test('a body that keeps trickling in does not extend the deadline', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => {
    const timer = setInterval(() => response.write('.'), 10);
    response.once('close', () => clearInterval(timer));
  });
  expectFailure(t, await send(requestTo(port, { deadlineMs: DEADLINE_MS })), {
    cause: 'timeout',
    reason: /reading the body/,
  });
});

test('an unanswered TLS handshake times out', async (t) => {
  const { port } = await startRawServer(t, () => {});
  const exchange = await send(requestTo(port, { href: `https://127.0.0.1:${port}/`, deadlineMs: DEADLINE_MS }));
  expectFailure(t, exchange, { cause: 'timeout', reason: /TLS handshake/ });
});
