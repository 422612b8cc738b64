import type { Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { FailureCause } from '../../net/failure.ts';
import type { HttpExchange, HttpRequest } from '../../net/http-client.ts';
import { startRawServer, type TestServer } from './http-server.ts';

export const KILOBYTE = 1024;

/** Returns a GET of a port on 127.0.0.1, or of `href`, that keeps 64 KiB of the body, unless overridden. */
export function requestTo(port: number, overrides: Partial<HttpRequest> & { href?: string } = {}): HttpRequest {
  const { href = `http://127.0.0.1:${port}/`, ...rest } = overrides;
  return {
    url: new URL(href),
    method: 'GET',
    headers: {},
    deadlineMs: 60_000,
    bodyLimit: () => 64 * KILOBYTE,
    ...rest,
  };
}

/** Returns the body of a response as text, or the failure. */
export function bodyOf(exchange: HttpExchange): string {
  return exchange.outcome === 'answered' ? exchange.body.toString() : `${exchange.cause}: ${exchange.reason}`;
}

/** Fails the test unless the exchange failed with the expected cause and reason. */
export function expectFailure(
  t: ExecutionContext,
  exchange: HttpExchange,
  expected: { cause: FailureCause; reason: RegExp },
): void {
  if (exchange.outcome !== 'failed') return t.fail(`answered ${exchange.status}`);
  t.is(exchange.cause, expected.cause);
  t.regex(exchange.reason, expected.reason);
}

/** Starts a server that sends a text verbatim after the first bytes it receives, and then calls `after`. */
export function startCannedServer(
  t: ExecutionContext,
  text: string,
  after: (socket: Socket) => void = (socket) => socket.end(),
): Promise<TestServer> {
  return startRawServer(t, (socket) => {
    socket.once('data', () => {
      socket.write(text, 'latin1');
      after(socket);
    });
  });
}
