import test from 'ava';
import { traceRequestOf } from '../../core/system/otlp.ts';
import { OtlpSender, type Sent } from '../../telemetry/sender.ts';
import { ORIGIN, failedCheck } from '../helpers/failed-check.ts';
import { startRawServer } from '../helpers/http-server.ts';

const BROKEN_OFF = 'Content-Length: 9\r\n\r\n';
const STARTED = 'Transfer-Encoding: chunked\r\n\r\n1\r\n';

const answers: readonly [what: string, answer: string, sent: Sent][] = [
  ['a 200 with a truncated body', `200 OK\r\n${BROKEN_OFF}`, { outcome: 'accepted' }],
  [
    'a 200 with another content coding',
    '200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nbody',
    { outcome: 'accepted' },
  ],
  ['a 200 truncated within its partial success', `200 OK\r\n${BROKEN_OFF}\n\u0005`, { outcome: 'partly' }],
  ['a 200 with an invalid chunk size', `200 OK\r\n${STARTED}no size`, { outcome: 'accepted' }],
  [
    'a 400 with a truncated body',
    `400 Bad Request\r\n${BROKEN_OFF}`,
    { outcome: 'refused', reason: 'The collector responded with 400' },
  ],
  [
    'a 503 with a truncated body',
    `503 Away\r\n${BROKEN_OFF}`,
    { outcome: 'retry', reason: 'The collector responded with 503', afterMs: null },
  ],
  [
    'a 503 with Retry-After',
    '503 Away\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n',
    { outcome: 'retry', reason: 'The collector responded with 503', afterMs: 7000 },
  ],
  ['no response', '', { outcome: 'retry', reason: 'The connection was closed without a response', afterMs: null }],
];
for (const [what, answer, sent] of answers)
  test(`the outcome of a request is ${sent.outcome} after ${what}`, async (t) => {
    const { port } = await startRawServer(t, (socket) => {
      socket.once('data', () => socket.end(answer === '' ? '' : `HTTP/1.1 ${answer}`, 'latin1'));
    });
    const sender = new OtlpSender({
      endpoint: { url: `http://127.0.0.1:${port}/v1/traces`, headers: {} },
      protocol: 'http/protobuf',
      compression: 'none',
      timeoutMs: 60_000,
    });
    t.deepEqual(await sender.send(traceRequestOf([failedCheck()], ORIGIN)), sent);
  });
