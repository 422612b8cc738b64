import { randomBytes, randomInt } from 'node:crypto';
import type { Socket } from 'node:dgram';
import { failureOf } from '../../net/failure.ts';
import { startDeadline } from '../../net/timeline.ts';
import {
  TOKEN_BYTES,
  buildEchoRequest,
  gapMs,
  readEchoReply,
  type EchoOutcome,
  type EchoRound,
  type Family,
} from './echo-packet.ts';

/**
 * One request and its callbacks. `onSent` is called when it was sent, and then, once, `onReply` with its round trip in
 * milliseconds, or `onError` if it could not be sent.
 */
type AwaitedEcho = {
  address: string;
  onSent: () => void;
  onReply: (roundTripMs: number) => void;
  onError: (error: Error) => void;
};

type Awaited = AwaitedEcho & { packet: Buffer; sentAtMs: number };

/**
 * ICMP has no ports, but Node requires one. On a raw IPv6 socket Linux expects 0 or the protocol's number, and
 * elsewhere ignores it.
 */
const PORT = { 4: 1, 6: 58 } as const satisfies Record<Family, number>;

/**
 * Maximum requests per turn of the event loop, in which libuv reads as many packets from a socket. More would pile up
 * replies: those of nearby targets would overflow the socket's buffer of a few hundred, and all would appear slower
 * than they were.
 */
const SENDS_A_TURN = 32;

/**
 * Sends the echo requests of all monitors over one ICMP socket, and tells their replies apart. A reply counts once,
 * while it is awaited, and only from the pinged address with the same sequence and token.
 */
export class EchoSocket {
  readonly #socket: Socket;
  readonly #family: Family;
  readonly #identifier = randomInt(0x1_0000);
  readonly #awaited = new Map<string, Awaited>();
  /** Keys of requests for a later turn. */
  readonly #outgoing: string[] = [];
  #sentThisTurn = 0;
  #sequence = 0;
  #isClosed = false;

  constructor(socket: Socket, family: Family) {
    this.#socket = socket;
    this.#family = family;
    socket.on('message', (message, { address }) => this.#receive(message, address));
    // The error is that of an earlier request's packet and does not identify it: that request goes unanswered.
    socket.on('error', () => undefined);
  }

  /**
   * Sends one request, at once or a few turns of the event loop later. The returned function ends the wait: a later
   * reply is dropped.
   */
  send(echo: AwaitedEcho): () => void {
    this.#sequence += 1;
    const { packet, key } = buildEchoRequest(this.#family, {
      identifier: this.#identifier,
      sequence: this.#sequence,
      token: randomBytes(TOKEN_BYTES),
    });
    this.#awaited.set(key, { ...echo, packet, sentAtMs: Number.NaN });
    if (this.#sentThisTurn < SENDS_A_TURN) this.#transmit(key);
    else this.#outgoing.push(key);
    return () => void this.#awaited.delete(key);
  }

  close(): Promise<void> {
    this.#awaited.clear();
    this.#isClosed = true;
    return new Promise((resolve) => this.#socket.close(resolve));
  }

  #transmit(key: string): void {
    const echo = this.#awaited.get(key);
    if (echo === undefined || this.#isClosed) return;
    if (this.#sentThisTurn === 0) setImmediate(() => this.#beginTurn());
    this.#sentThisTurn += 1;
    echo.sentAtMs = performance.now();
    this.#socket.send(echo.packet, PORT[this.#family], echo.address, (error) => {
      if (error !== null && this.#awaited.delete(key)) echo.onError(error);
    });
    echo.onSent();
  }

  #beginTurn(): void {
    this.#sentThisTurn = 0;
    while (this.#sentThisTurn < SENDS_A_TURN) {
      const key = this.#outgoing.shift();
      if (key === undefined) return;
      this.#transmit(key);
    }
  }

  #receive(message: Buffer, from: string): void {
    const receivedAtMs = performance.now();
    const key = readEchoReply(this.#family, message);
    if (key === null) return;
    const echo = this.#awaited.get(key);
    if (echo === undefined || echo.address !== withoutZone(from)) return;
    this.#awaited.delete(key);
    echo.onReply(receivedAtMs - echo.sentAtMs);
  }
}

/** Strips the zone: link-local addresses include their interface. */
function withoutZone(address: string): string {
  const zone = address.indexOf('%');
  return zone === -1 ? address : address.slice(0, zone);
}

/** Measures one round over a socket: request after request at a fixed gap, until the last reply or the deadline. */
export function measureOverSocket(socket: EchoSocket, round: EchoRound): Promise<EchoOutcome> {
  return new Promise((resolve, reject) => {
    new SocketRound({ socket, round, resolve, reject }).start();
  });
}

type Settlement = {
  socket: EchoSocket;
  round: EchoRound;
  resolve: (outcome: EchoOutcome) => void;
  reject: (error: Error) => void;
};

class SocketRound {
  readonly #socket: EchoSocket;
  readonly #round: EchoRound;
  readonly #resolve: Settlement['resolve'];
  readonly #reject: Settlement['reject'];
  readonly #roundTripsMs: number[] = [];
  readonly #forget: (() => void)[] = [];
  #sent = 0;
  #gap: NodeJS.Timeout | undefined;
  #callOffDeadline: () => void = () => {};

  constructor({ socket, round, resolve, reject }: Settlement) {
    this.#socket = socket;
    this.#round = round;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { count, deadlineMs, signal } = this.#round;
    this.#callOffDeadline = startDeadline(deadlineMs, () => this.#finish(), signal);
    if (count > 1) this.#gap = setInterval(() => this.#sendNext(), gapMs(this.#round));
    this.#sendNext();
  }

  #sendNext(): void {
    this.#forget.push(
      this.#socket.send({
        address: this.#round.address,
        onSent: () => {
          this.#sent += 1;
        },
        onReply: (roundTripMs) => this.#receive(roundTripMs),
        onError: (error) => this.#lose(error),
      }),
    );
    if (this.#forget.length === this.#round.count) clearInterval(this.#gap);
  }

  #receive(roundTripMs: number): void {
    this.#roundTripsMs.push(roundTripMs);
    if (this.#roundTripsMs.length === this.#round.count) this.#finish();
  }

  /** Handles a request that cannot be sent, which counts as lost once the target has answered another. */
  #lose(error: Error): void {
    if (this.#roundTripsMs.length > 0) return;
    this.#stop();
    const refusal = REFUSALS[(error as NodeJS.ErrnoException).code ?? ''] ?? failedSend(error);
    if (refusal === null) this.#reject(error);
    else this.#resolve(refusal);
  }

  #finish(): void {
    this.#stop();
    // A busy machine may reach the deadline before all requests are sent; only those that were sent count.
    this.#resolve(
      this.#sent === 0 ? BUSY : { outcome: 'measured', sent: this.#sent, roundTripsMs: this.#roundTripsMs },
    );
  }

  #stop(): void {
    clearInterval(this.#gap);
    this.#callOffDeadline();
    for (const forget of this.#forget) forget();
  }
}

const BUSY: EchoOutcome = { outcome: 'unavailable', reason: 'The probing machine was too busy to send echo requests' };

/** Kernel errors on sending that are specific to echo requests. */
const REFUSALS: Readonly<Record<string, EchoOutcome>> = {
  EPERM: { outcome: 'unavailable', reason: 'A firewall on the probing machine blocks echo requests' },
  EACCES: {
    outcome: 'failed',
    cause: 'unsupported',
    reason: 'The target is a broadcast address, not a single host',
  },
};

function failedSend(error: Error): EchoOutcome | null {
  const failure = failureOf(error, 'connect');
  return failure === null ? null : { outcome: 'failed', ...failure };
}
