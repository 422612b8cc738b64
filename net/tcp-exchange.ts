import net, { type Socket } from 'node:net';
import { isRefusedAddress, type Guard } from './address-guard.ts';
import { BLOCKED, failureOf, timeoutFailure, type Failure } from './failure.ts';
import { ADDRESS_ATTEMPT_MS, createGuardedLookup, type HostPort } from './host-address.ts';
import { startDeadline, Timeline, type Timings } from './timeline.ts';

/** One connection: opened, perhaps used to send and receive, and closed. */
type TcpRequest = HostPort & {
  /** Sent after connecting; empty to send nothing. */
  payload: Uint8Array;
  /**
   * Called with each piece that arrives; returns true once that is enough. Null to wait for nothing. An exception from
   * it rejects the exchange.
   */
  receive: ((piece: Buffer) => boolean) | null;
  /** Timeout of lookup, connection and response together, in milliseconds. */
  deadlineMs: number;
};

/** Why a connection ended: it had served its purpose, the peer closed or reset it, or the deadline passed. */
type TcpEnd = 'enough' | 'closed' | 'deadline';

/** Result of a connection. `latencyMs` runs from the start to the connection or, if data arrived, to its last piece. */
type TcpExchange = ({ outcome: 'connected'; end: TcpEnd; latencyMs: number } | ({ outcome: 'failed' } & Failure)) & {
  timings: Timings;
};

/**
 * Makes one connection. Failures of the other side are values; it rejects only if this machine lacks resources
 * (descriptors, ports).
 */
export type TcpClient = (request: TcpRequest) => Promise<TcpExchange>;

/**
 * Creates the client for tcp connections; without `allowPrivateNetwork` it reaches public addresses only (D-30). The
 * addresses of a name are tried one after the other (RFC 8305).
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
    // Later events do not matter, but an 'error' event without a listener would crash the process.
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
      // The socket is closed only once the system has taken the payload: data still in this process would be lost with
      // it.
      this.#socket.end(payload, () => this.#end('enough'));
    } else {
      this.#end('enough');
    }
  }

  #take(piece: Buffer, receive: (piece: Buffer) => boolean): void {
    if (!this.#hasArrived) this.#timeline.markResponse();
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
    // A handshake that is turned down is refused: a reset comes after it, though perhaps before this process learns of
    // its success.
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

  /** Only the first settlement counts, so this may run more than once. */
  #close(): void {
    this.#callOffDeadline();
    this.#socket.destroy();
  }
}
