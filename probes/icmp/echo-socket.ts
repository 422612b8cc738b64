import { randomBytes, randomInt } from 'node:crypto';
import type { Socket } from 'node:dgram';
import { buildEchoRequest, readEchoReply, TOKEN_BYTES, type Family } from './echo-packet.ts';

/**
 * One request, with the calls that report on it. They say that it went out, and then, once, its round trip in
 * milliseconds, or that it could not be sent.
 */
export type AwaitedEcho = {
  address: string;
  onSent: () => void;
  onReply: (roundTripMs: number) => void;
  onError: (error: Error) => void;
};

type Awaited = AwaitedEcho & { packet: Buffer; sentAtMs: number };

/**
 * ICMP has no ports. Node asks for one all the same, Linux wants none or the protocol's number in its place on a raw
 * IPv6 socket, and ignores it elsewhere.
 */
const PORT = { 4: 1, 6: 58 } as const satisfies Record<Family, number>;

/**
 * libuv reads this many packets from a socket in one turn of the event loop. More requests than that in a turn would
 * pile up replies: those of near targets overflow the socket's buffer, which holds a few hundred, and all look slower
 * than they were.
 */
const SENDS_A_TURN = 32;

/**
 * Sends the echo requests of all monitors over one ICMP socket, and tells their replies apart. One counts when it comes
 * from the address that was asked and brings back sequence and token, once, and while it is awaited.
 */
export class EchoSocket {
  readonly #socket: Socket;
  readonly #family: Family;
  readonly #identifier = randomInt(0x1_0000);
  readonly #awaited = new Map<string, Awaited>();
  /** Keys of requests that are for a later turn. */
  readonly #outgoing: string[] = [];
  #sentThisTurn = 0;
  #sequence = 0;
  #isClosed = false;

  constructor(socket: Socket, family: Family) {
    this.#socket = socket;
    this.#family = family;
    socket.on('message', (message, { address }) => this.#receive(message, address));
    // Reported for a packet of an earlier request, without saying which: that request goes unanswered.
    socket.on('error', () => undefined);
  }

  /**
   * Sends one request, at once or a few turns of the event loop later. Calling what it returns ends the wait: a reply
   * that comes later is dropped.
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

/** Link-local addresses come with their interface. */
function withoutZone(address: string): string {
  const zone = address.indexOf('%');
  return zone === -1 ? address : address.slice(0, zone);
}
