import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import { httpTarget } from '../helpers/check-target.ts';
import { startRawServer } from '../helpers/http-server.ts';
import type { ProbedCheck, ProbingOrder, ProbingReport } from './probing-process.ts';

/**
 * Limits on the cost of a check under attack: megabytes of memory, and milliseconds of CPU time in one turn of the
 * event loop.
 */
export type Bounds = { grownMb?: number; holdMs?: number; copies?: number };

/** A separate process that runs checks with the real probes. */
export type Probing = {
  child: ChildProcess;
  ask: (order: Pick<ProbingOrder, 'targets'> & Partial<ProbingOrder>) => Promise<ProbingReport>;
};

/** Tolerance for a check's timeout on a busy machine, in milliseconds. */
const MARGIN_MS = 10_000;

/** A port without a listener, for orders without a registry. */
const UNREACHABLE = { host: '127.0.0.1', port: 9 };

/** Starts the process; it ends when `child` is disconnected. */
export async function startProbing(): Promise<Probing> {
  const child = fork(fileURLToPath(new URL('probing-process.ts', import.meta.url)), { execArgv: ['--expose-gc'] });
  await once(child, 'message');
  return {
    child,
    async ask(order) {
      const answer = once(child, 'message');
      child.send({ whois: UNREACHABLE, rdapBase: null, ...order });
      const [report]: ProbingReport[] = await answer;
      if (report === undefined) throw new Error('the probing process said nothing');
      return report;
    },
  };
}

/** Behavior of a server toward a client that has sent something. */
export type Way = (socket: Socket) => void;

/** Sends a text and keeps the connection open. */
export function say(text: string | Buffer): Way {
  return (socket) => void socket.write(text, 'latin1');
}

/** Sends a text and closes the connection. */
export function sayAll(text: string | Buffer): Way {
  return (socket) => void socket.end(text, 'latin1');
}

/** Sends the beginning, then the same piece forever, as fast as the client accepts it. */
export function flood(beginning: string, again: string | Buffer): Way {
  const piece = Buffer.from(again as string, 'latin1');
  return (socket) => {
    const pump = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.write(beginning, 'latin1');
    socket.on('drain', pump);
    pump();
  };
}

/** Sends the beginning, then one more byte every tenth of a second, forever; `next` is repeated. */
export function drip(beginning: string, next: string): Way {
  return (socket) => {
    socket.write(beginning, 'latin1');
    let said = 0;
    const timer = setInterval(() => {
      socket.write(next[said % next.length] ?? '', 'latin1');
      said += 1;
    }, 100);
    socket.once('close', () => clearInterval(timer));
  };
}

/** Starts a server that treats each client the same way once it has sent something, and returns its port. */
export async function startAttacker(t: ExecutionContext, way: Way): Promise<number> {
  const { port } = await startRawServer(t, (socket) => void socket.once('data', () => way(socket)));
  return port;
}

const FINE = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok';

/**
 * Checks a hostile target beside a well-behaved one, and asserts that the cost stays within the bounds. Each check must
 * reach a verdict in time without throwing, memory must not grow, no turn of the event loop may be long, and the
 * well-behaved target must be up. Returns the first check of the hostile target.
 */
export async function withstand(
  t: ExecutionContext,
  { ask }: Probing,
  {
    target,
    bounds: { grownMb = 64, holdMs = 500, copies = 1 } = {},
    ...registries
  }: { target: CheckTarget; bounds?: Bounds } & Partial<ProbingOrder>,
): Promise<ProbedCheck> {
  const neighbour = httpTarget({
    target: `http://127.0.0.1:${await startAttacker(t, sayAll(FINE))}/`,
    bodyMatch: 'ok',
    timeoutMs: 20_000,
  });
  const report = await ask({ ...registries, targets: [...Array.from({ length: copies }, () => target), neighbour] });
  const { checks } = report;
  for (const { failure, verdict, tookMs } of checks) {
    t.is(failure, null);
    t.not(verdict, null);
    t.true(tookMs <= target.timeoutMs + MARGIN_MS, `a check took ${tookMs} ms`);
  }
  t.is(checks.at(-1)?.verdict, 'up', 'the neighbour');
  t.true(report.grownMb <= grownMb, `memory grew by ${report.grownMb} MB`);
  t.true(report.longestHoldMs <= holdMs, `a turn of the loop took ${report.longestHoldMs} ms`);
  const [first] = checks;
  if (first === undefined) throw new Error('no check was reported');
  return first;
}
