import type { Socket } from 'node:net';
import type { Step } from './failure.ts';

/**
 * Duration of each step of an exchange, in milliseconds. Null if it did not happen (an address needs no lookup, plain
 * http no TLS, a reused connection none of the three).
 */
export type Timings = {
  dnsMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
  firstByteMs: number | null;
  downloadMs: number | null;
};

/** The moments of one exchange, taken from its socket's events. */
export class Timeline {
  readonly #startedAt = performance.now();
  readonly #isSecure: boolean;
  #isNamed = false;
  #lookedUpAt: number | null = null;
  #connectedAt: number | null = null;
  #securedAt: number | null = null;
  #respondedAt: number | null = null;
  #bodyEndedAt: number | null = null;
  #isReused = false;
  /** How long the body has waited for this process's memory, which no timing includes. */
  waitedMs: () => number = () => 0;

  constructor(isSecure: boolean) {
    this.#isSecure = isSecure;
  }

  /** Follows a socket that has not connected yet; a connected one is a reused connection. */
  watch(socket: Socket, isNamed: boolean): void {
    if (!socket.connecting) {
      this.#isReused = true;
      return;
    }
    this.#isNamed = isNamed;
    // With several addresses the socket reports each of them; all came from one lookup.
    if (isNamed)
      socket.once('lookup', (error) => {
        // Node.js reports a failed lookup here as well.
        if (!error) this.#lookedUpAt = performance.now();
      });
    socket.once('connect', () => {
      this.#connectedAt = performance.now();
    });
    if (this.#isSecure)
      socket.once('secureConnect', () => {
        this.#securedAt = performance.now();
      });
  }

  markResponse(): void {
    this.#respondedAt = performance.now();
  }

  markBodyEnd(): void {
    this.#bodyEndedAt = performance.now() - this.waitedMs();
  }

  /** Returns the current step. */
  step(): Step {
    if (this.#respondedAt !== null) return 'body';
    if (this.#isReused) return 'response';
    if (this.#connectedAt === null) return this.#isNamed && this.#lookedUpAt === null ? 'lookup' : 'connect';
    return this.#isSecure && this.#securedAt === null ? 'tls' : 'response';
  }

  /** Returns the milliseconds since the start, without those in which the body waited. */
  elapsedMs(): number {
    return performance.now() - this.#startedAt - this.waitedMs();
  }

  timings(): Timings {
    const readyAt = this.#isReused ? this.#startedAt : (this.#securedAt ?? this.#connectedAt);
    return {
      dnsMs: between(this.#startedAt, this.#lookedUpAt),
      connectMs: between(this.#lookedUpAt ?? this.#startedAt, this.#connectedAt),
      tlsMs: between(this.#connectedAt, this.#securedAt),
      firstByteMs: between(readyAt, this.#respondedAt),
      downloadMs: between(this.#respondedAt, this.#bodyEndedAt),
    };
  }
}

function between(from: number | null, to: number | null): number | null {
  return from === null || to === null ? null : to - from;
}

/**
 * Calls `pass` once the given milliseconds are over and the data that had arrived by then was read. After a stall of
 * the event loop its timers run before its sockets, and waiting data would count as late. An abort brings the deadline
 * forward. Returns the function that cancels it.
 */
export function startDeadline(ms: number, pass: () => void, signal?: AbortSignal): () => void {
  let immediate: NodeJS.Immediate | undefined;
  const end = (): void => {
    immediate ??= setImmediate(pass);
  };
  const timer = setTimeout(end, ms);
  if (signal?.aborted === true) end();
  signal?.addEventListener('abort', end, { once: true });
  return () => {
    clearTimeout(timer);
    clearImmediate(immediate);
    signal?.removeEventListener('abort', end);
  };
}
