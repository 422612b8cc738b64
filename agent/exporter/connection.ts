import net, { type Socket } from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import { isRefusedAddress } from '../../net/address-guard.ts';
import { ProbeFailure, type ProbeRun } from './run.ts';
import type { Secured } from './tls-settings.ts';

/** Opens a connection to an address, with TLS if `secured` is not null. Throws a `ProbeFailure`. */
export async function openConnection(
  run: ProbeRun,
  { address, port, secured }: { address: string; port: number; secured: Secured | null },
): Promise<Socket> {
  if (isRefusedAddress(address, run.guard)) throw new ProbeFailure('The address may not be contacted');
  const to = { host: address, port, noDelay: true };
  const socket = secured === null ? net.connect(to) : tls.connect({ ...to, ...secured });
  await opened(run, socket, secured === null ? 'connect' : 'secureConnect');
  return socket;
}

/** Starts TLS on an open connection. Throws a `ProbeFailure`. */
export async function secureConnection(run: ProbeRun, socket: Socket, secured: Secured): Promise<TLSSocket> {
  const secure = tls.connect({ ...secured, socket });
  await opened(run, secure, 'secureConnect');
  return secure;
}

function opened(run: ProbeRun, socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => resolve());
    socket.on('error', (error) => reject(failureFrom(error)));
    socket.once('close', () => reject(new ProbeFailure('The connection was closed')));
    run.bind(socket);
  });
}

/** Converts a socket's error into a failure. */
export function failureFrom(error: Error): ProbeFailure {
  return error instanceof ProbeFailure ? error : new ProbeFailure(error.message || error.name);
}

/** Maximum length of a line, in bytes, as in Go's scanner; backpressure holds further data at the other side. */
const MAX_LINE_BYTES = 64 * 1024;

/** Reads a connection by lines and by bytes. */
export class ConnectionReader {
  readonly #socket: Socket;
  readonly #receive = (piece: Buffer): void => this.#take(piece);
  #held: Buffer = Buffer.alloc(0);
  #hasEnded = false;
  #failure: ProbeFailure | null = null;
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', this.#receive);
    socket.once('end', () => this.#end(null));
    socket.on('error', (error) => this.#end(failureFrom(error)));
    socket.once('close', () => this.#end(null));
  }

  /** Returns the next line without its end, or the rest; null after the last. Throws a `ProbeFailure`. */
  async line(): Promise<string | null> {
    for (;;) {
      const end = this.#held.indexOf(10);
      if (end !== -1) return this.#cut(end, 1).toString().replace(/\r$/, '');
      if (this.#held.length >= MAX_LINE_BYTES) throw new ProbeFailure('A line of the answer is too long');
      if (this.#failure !== null) throw this.#failure;
      if (this.#hasEnded) return this.#held.length === 0 ? null : this.#cut(this.#held.length, 0).toString();
      await this.#more();
    }
  }

  /** Returns the next bytes, fewer only at the end. Throws a `ProbeFailure`. */
  async bytes(length: number): Promise<Buffer> {
    while (this.#held.length < length) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#hasEnded) break;
      await this.#more();
    }
    return this.#cut(Math.min(length, this.#held.length), 0);
  }

  /** Releases the socket to another reader. */
  release(): void {
    this.#socket.off('data', this.#receive);
  }

  #cut(length: number, skipped: number): Buffer {
    const cut = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(length + skipped);
    return cut;
  }

  #more(): Promise<void> {
    this.#socket.resume();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #take(piece: Buffer): void {
    this.#held = Buffer.concat([this.#held, piece]);
    if (this.#held.length >= MAX_LINE_BYTES) this.#socket.pause();
    this.#wake();
  }

  #end(failure: ProbeFailure | null): void {
    this.#hasEnded = true;
    this.#failure ??= failure;
    this.#wake();
  }
}
