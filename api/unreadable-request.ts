import { STATUS_CODES } from 'node:http';
import type { Server } from 'node:http';
import type { IdPrefix } from '../models/ids.ts';

type Refusal = { status: number; error: string };

const REFUSALS: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: { status: 431, error: 'the request line and the headers are too long' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'the request took too long to arrive' },
};
const NO_HTTP: Refusal = { status: 400, error: 'the request must be well-formed HTTP/1.1 with a known method' };

/** Gives what Node cannot read as a request the same form of answer (D-03): it never reaches the application. */
export function answerUnreadable(server: Server, makeId: (prefix: IdPrefix) => string): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const { status, error: text } = REFUSALS[error.code ?? ''] ?? NO_HTTP;
    const id = makeId('req');
    const body = JSON.stringify({ error: text, request_id: id });
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${id}`,
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  });
}
