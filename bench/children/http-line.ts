import { connect, type Socket } from 'node:net';

/** A server's response: its status, or the reason why there is none. */
export type Answered = { status: string; text: string };

const HEAD_END = '\r\n\r\n';

/** Timeout of a response, in milliseconds. */
const PATIENCE_MS = 30_000;

/** One kept-alive connection to a server, for one request at a time. */
export type HttpLine = { exchange: (request: string) => Promise<Answered> };

/**
 * Opens a connection with its first request, and again after a failure. It does as little as a client can: customers
 * are other machines, and their cost must not count as the API's. Responses need a Content-Length unless they have no
 * body.
 */
export function openHttpLine({ host, port }: { host: string; port: number }): HttpLine {
  let socket: Socket | null = null;
  let received: Buffer[] = [];
  let settle: ((answered: Answered) => void) | null = null;

  const finish = (answered: Answered): void => {
    const waiting = settle;
    settle = null;
    received = [];
    waiting?.(answered);
  };
  const open = (): Socket => {
    const opened = connect({ host, port, noDelay: true });
    const leave = (why: string): void => {
      if (socket === opened) socket = null;
      opened.destroy();
      finish({ status: why, text: '' });
    };
    opened.setTimeout(PATIENCE_MS, () => leave('no answer in time'));
    opened.on('error', ({ message }) => leave(message));
    opened.on('close', () => socket === opened && leave('the connection was closed'));
    opened.on('data', (chunk) => {
      received.push(chunk);
      const answer = readAnswer(received.length === 1 ? chunk : Buffer.concat(received));
      if (answer === null) return;
      if (answer.isLast) leave(answer.status);
      else finish(answer);
    });
    return opened;
  };
  return {
    exchange(request) {
      return new Promise((resolve) => {
        settle = resolve;
        socket ??= open();
        socket.write(request);
      });
    },
  };
}

/** Parses a response; null while it is incomplete. `isLast`: the server closes the connection after it. */
function readAnswer(bytes: Buffer): (Answered & { isLast: boolean }) | null {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const head = bytes.toString('latin1', 0, headEnd);
  const status = head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
  const length = status === '204' ? 0 : Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? Number.NaN);
  const bodyAt = headEnd + HEAD_END.length;
  if (Number.isNaN(length)) return { status: 'an answer without Content-Length', text: '', isLast: true };
  if (bytes.length < bodyAt + length) return null;
  return { status, text: bytes.toString('utf8', bodyAt, bodyAt + length), isLast: /^connection: *close/im.test(head) };
}
