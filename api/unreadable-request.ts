import { STATUS_CODES, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { IdPrefix } from '../models/ids.ts';

type Refusal = { status: number; error: string };

const REFUSALS: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: { status: 431, error: 'the request line and the headers are too long' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'the request took too long to arrive' },
};
const NO_HTTP: Refusal = { status: 400, error: 'the request must be well-formed HTTP/1.1 with a known method' };
const NO_PROXY: Refusal = { status: 405, error: 'CONNECT is not allowed here: this is no proxy' };
const NO_PATH: Refusal = { status: 400, error: 'the target of the request must be a path, such as /v1/monitors' };
const NO_SUCH_EXPECTATION: Refusal = { status: 417, error: 'Expect must be 100-continue or absent' };

const METHODS = 'GET, HEAD, POST, PATCH, DELETE';

/**
 * So long a refused client may go on sending before it is cut off, in milliseconds: cut off at once it might lose the
 * answer, and never cut off it would keep its connection.
 */
const LINGER_MS = 1000;

type MakeId = (prefix: IdPrefix) => string;

/**
 * Gives what Node cannot read as a request, or answers by itself, the same form of answer (D-03): it never reaches the
 * application.
 */
export function answerUnreadable(server: Server, makeId: MakeId): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else refuse(socket, REFUSALS[error.code ?? ''] ?? NO_HTTP, makeId);
  });
  server.on('connect', (_request, socket) => refuse(socket, NO_PROXY, makeId));
  server.on('checkExpectation', (_request, response) => answer(response, NO_SUCH_EXPECTATION, makeId));
}

/**
 * Ends what the application gives back: a request whose target it cannot read as a path, such as `http://a:99999/`, or
 * an answer that broke off.
 */
export function answerUnroutable(response: ServerResponse, makeId: MakeId): void {
  if (response.headersSent) response.destroy();
  else answer(response, NO_PATH, makeId);
}

function answer(response: ServerResponse, { status, error }: Refusal, makeId: MakeId): void {
  const { body, headers } = render(error, makeId);
  response.writeHead(status, headers).end(body);
}

function refuse(socket: Duplex, { status, error }: Refusal, makeId: MakeId): void {
  const { body, headers } = render(error, makeId);
  const lines = Object.entries(status === NO_PROXY.status ? { ...headers, Allow: METHODS } : headers).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  socket.resume();
  const cutOff = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.on('error', () => undefined).once('close', () => clearTimeout(cutOff));
}

function render(error: string, makeId: MakeId) {
  const id = makeId('req');
  const body = JSON.stringify({ error, request_id: id });
  return {
    body,
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      'X-Request-Id': id,
      Connection: 'close',
    },
  };
}
