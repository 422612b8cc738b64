import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { TestFn } from 'ava';
import { createTestDatabase } from '../helpers/database.ts';
import { createHarness } from '../helpers/harness.ts';
import { startService, type Service } from '../helpers/running-service.ts';

/** The whole service as run by `npm start`, on a separate database, with the guard enabled. */
export type ServiceUnderAttack = Service & {
  /**
   * Sends raw bytes, and returns the responses until the server closes the connection or stays silent for `silenceMs`
   * after a response.
   */
  talk: (sent: string | Buffer, silenceMs?: number) => Promise<Talk>;
  /** Opens a connection that the caller manages. */
  open: () => Socket;
};

/** Responses over one connection in order, and whether the server closed it. */
export type Talk = { answers: RawAnswer[]; rest: string; isClosed: boolean };

export type RawAnswer = { status: number; head: string; body: string };

/** Time limit for a response, and for the end of a connection that must be closed, in milliseconds. */
export const ANSWER_MS = 20_000;
/** Silence after which no further response is expected, in milliseconds. */
const SILENCE_MS = 300;

/** Starts the service before the tests of a file and stops it after them. */
export function withServiceUnderAttack(test: TestFn, receive: (service: ServiceUnderAttack) => void): void {
  const { harness, close } = createHarness();
  test.before(async () => {
    const { databaseUrl, drop } = await createTestDatabase();
    harness.teardown(drop);
    const token = `spk_${randomBytes(24).toString('base64url')}`;
    const env = {
      DATABASE_URL: databaseUrl,
      SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      BOOTSTRAP_TOKEN: token,
      ALLOW_PRIVATE_NETWORK: 'false',
      PLAN_COUNT_LIMITS: 'false',
    };
    const service = await startService(harness, env, token);
    const { port } = new URL(service.url);
    const open = () => connect(Number(port), '127.0.0.1').on('error', () => undefined);
    receive({ ...service, open, talk: (sent, silenceMs) => talk(open(), sent, silenceMs) });
  });
  test.after.always(close);
}

async function talk(socket: Socket, sent: string | Buffer, silenceMs = SILENCE_MS): Promise<Talk> {
  const pieces: Buffer[] = [];
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.setTimeout(ANSWER_MS, () => resolve(false));
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece);
    socket.setTimeout(silenceMs);
  });
  socket.once('close', () => resolve(true));
  socket.write(sent as string, 'latin1');
  const isClosed = await promise;
  socket.destroy();
  return { ...readAnswers(Buffer.concat(pieces).toString('latin1')), isClosed };
}

/** Splits responses by their Content-Length, which every response of the service has. */
function readAnswers(text: string): { answers: RawAnswer[]; rest: string } {
  const answers: RawAnswer[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(rest)?.[1];
    if (end === -1 || status === undefined) return { answers, rest };
    const head = rest.slice(0, end);
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    answers.push({ status: Number(status), head, body: rest.slice(end + 4, end + 4 + length) });
    rest = rest.slice(end + 4 + length);
  }
}
