import net, { type Socket } from 'node:net';
import { isRefusedAddress, type Guard } from './address-guard.ts';
import { BLOCKED, failureOf, timeoutFailure, type Failure } from './failure.ts';
import { ADDRESS_ATTEMPT_MS, createGuardedLookup, type HostPort } from './host-address.ts';
import { startDeadline, Timeline, type Timings } from './timeline.ts';

/** One connection: made, perhaps spoken over and listened to, and closed. */
export type TcpRequest = HostPort & {
  /** Sent after connecting; empty = nothing. */
  payload: Uint8Array;
  /**
   * Is given what arrives, in pieces, and says whether that is enough. Null = nothing is waited for. An exception from
   * it rejects the exchange.
   */
  receive: ((piece: Buffer) => boolean) | null;
  /** Milliseconds for lookup, connection and answer together. */
  deadlineMs: number;
};

/** What ended a connection: it had served its purpose, the peer closed or reset it, or the deadline passed. */
export type TcpEnd = 'enough' | 'closed' | 'deadline';

/**
 * What came of a connection. `latencyMs` runs from the start to the connection or, where something arrived, to its last
 * piece.
 */
export type TcpExchange = (
  | { outcome: 'connected'; end: TcpEnd; latencyMs: number }
  | ({ outcome: 'failed' } & Failure)
) & { timings: Timings };

/**
 * Makes one connection. Whatever the other side does is a value; it rejects only when our own machine lacks something
 * (descriptors, ports).
 */
export type TcpClient = (request: TcpRequest) => Promise<TcpExchange>;

/**
 * Makes the client of tcp connections; without `allowPrivateNetwork` it leads to public addresses only (D-30). Of a
 * name with several addresses one after the other is tried (RFC 8305).
 */
export function createTcpClient(guard: Guard): TcpClient {
  const lookup = createGuardedLookup(guard);
  return (request) =>
    new Promise((resolve, reject) => {
      const timeline = new Timeline(false);
      if (isRefusedAddress(request.host, guard))
        return resolve({ outcome: 'failed', ...BLOCKED, timings: timeline.timings() });
      const { host, port } = request;
      const socket = net.connect({ host, port, autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS, lookup });
      timeline.watch(socket, net.isIP(host) === 0);
      new RunningExchange({ request, socket, timeline }, { resolve, reject }).start();
    });
}

type Connection = { request: TcpRequest; socket: Socket; timeline: Timeline };
type Settle = { resolve: (exchange: TcpExchange) => void; reject: (error: unknown) => void };

class RunningExchange {
  readonly #request: TcpRequest;
  readonly #socket: Socket;
  readonly #timeline: Timeline;
  readonly #settle: Settle;
  #callOffDeadline: () => void = () => {};
  #latencyMs: number | null = null;
  #hasArrived = false;

  constructor({ request, socket, timeline }: Connection, settle: Settle) {
    this.#request = request;
    this.#socket = socket;
    this.#timeline = timeline;
    this.#settle = settle;
  }

  start(): void {
    this.#callOffDeadline = startDeadline(this.#request.deadlineMs, () => this.#end('deadline'));
    // What happens after the end does not matter, but an error without a listener would be the process's.
    this.#socket.on('error', (error) => this.#lose(error));
    this.#socket.once('connect', () => this.#begin());
  }

  #begin(): void {
    this.#latencyMs = this.#timeline.elapsedMs();
    const { payload, receive } = this.#request;
    if (receive !== null) {
      this.#socket.on('data', (piece) => this.#take(piece, receive));
      this.#socket.once('end', () => this.#end('closed'));
      if (payload.length > 0) this.#socket.write(payload);
    } else if (payload.length > 0) {
      // Closed only once the system has taken the payload: what is still in our hands is lost with the socket.
      this.#socket.end(payload, () => this.#end('enough'));
    } else {
      this.#end('enough');
    }
  }

  #take(piece: Buffer, receive: (piece: Buffer) => boolean): void {
    if (!this.#hasArrived) this.#timeline.markAnswer();
    this.#hasArrived = true;
    this.#timeline.markBodyEnd();
    this.#latencyMs = this.#timeline.elapsedMs();
    try {
      if (receive(piece)) this.#end('enough');
    } catch (error) {
      this.#close();
      this.#settle.reject(error);
    }
  }

  #lose(error: NodeJS.ErrnoException): void {
    // A handshake that is turned down is refused: a reset comes after it, though perhaps before we know of its
    // success.
    if (error.code === 'ECONNRESET') this.#latencyMs ??= this.#timeline.elapsedMs();
    if (this.#latencyMs !== null) return this.#end('closed');
    const failure = failureOf(error, this.#timeline.step());
    if (failure !== null) return this.#fail(failure);
    this.#close();
    this.#settle.reject(error);
  }

  #end(end: TcpEnd): void {
    if (this.#latencyMs === null) return this.#fail(timeoutFailure(this.#timeline.step()));
    this.#close();
    this.#settle.resolve({ outcome: 'connected', end, latencyMs: this.#latencyMs, timings: this.#timeline.timings() });
  }

  #fail(failure: Failure): void {
    this.#close();
    this.#settle.resolve({ outcome: 'failed', ...failure, timings: this.#timeline.timings() });
  }

  /** Only the first settlement counts, so that this may come more than once. */
  #close(): void {
    this.#callOffDeadline();
    this.#socket.destroy();
  }
}
