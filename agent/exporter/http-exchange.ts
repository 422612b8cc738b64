import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import zlib from 'node:zlib';
import { createDestinations, type Destination } from '../../net/destination.ts';
import { isUnsendable, UNSENDABLE } from '../../net/failure.ts';
import { FreshRequest, type IncomingResponse } from '../../net/fresh-request.ts';
import { Timeline, type Timings } from '../../net/timeline.ts';
import { failureFrom } from './connection.ts';
import { ProbeFailure, type ProbeRun } from './run.ts';
import { readTlsFacts, type Secured, type TlsFacts } from './tls-settings.ts';

/** One request of a probe. */
type HopRequest = {
  url: URL;
  method: string;
  headers: Readonly<Record<string, string>>;
  body: string | null;
  /** Null for plain HTTP. */
  secured: Secured | null;
  /** How to read the body, if it is read; a redirect's is not. */
  reading: BodyReading;
};

type BodyReading = {
  /** Bytes of it to keep, after decompression. */
  keep: number;
  /** The compression that the module expects; null for none. */
  compression: string | null;
  /** Maximum bytes before the probe fails; 0 for no limit. */
  most: number;
};

/** The head of a response; `body` reads its body, `leave` discards it. */
export type HopResponse = {
  status: number;
  headers: IncomingHttpHeaders;
  version: string;
  /** Null if the response came without TLS. */
  tls: TlsFacts | null;
  body: () => Promise<ReadBody>;
  leave: () => void;
  timings: () => Timings;
};

/** A body as far as it was received; `problem` says why it is incomplete, null if it is not. */
type ReadBody = { length: number; kept: Buffer; isTruncated: boolean; problem: string | null };

/** Maximum informational responses: an endless series would occupy the probe until its deadline. */
const MAX_INFORMATIONAL = 100;

/** Sends a request over its own connection, guarded like those of checks. Throws a `ProbeFailure`. */
export function exchange(run: ProbeRun, request: HopRequest): Promise<HopResponse> {
  const { url, method, headers, body, secured, reading } = request;
  const found = createDestinations(run.guard)(url);
  if (found === null) return Promise.reject(new ProbeFailure('The address may not be contacted'));
  const destination: Destination & Secured = { ...found, ...secured };
  return new Promise((resolve, reject) => {
    const timeline = new Timeline(destination.isSecure);
    let informational = 0;
    try {
      const sent = new FreshRequest(
        destination,
        { url, method, headers, ...(body !== null && { body }) },
        {
          onSocket: (socket) => timeline.watch(socket, isIP(destination.host) === 0),
          onInformational: () => {
            informational += 1;
            if (informational <= MAX_INFORMATIONAL) return;
            reject(new ProbeFailure('There were too many informational responses'));
            sent.destroy();
          },
          onResponse: (response) => {
            timeline.markResponse();
            // The body is read from the start: data that arrives with the head is emitted within the same call.
            resolve(hopResponse(response, { timeline, secured, body: new Body(response, reading, run.signal) }));
          },
          onError: (error) => reject(failureFrom(error)),
        },
      );
      sent.socket.once('close', () => reject(new ProbeFailure('The connection was closed without a response')));
      run.bind(sent.socket);
    } catch (error) {
      if (!isUnsendable(error)) throw error;
      reject(new ProbeFailure(UNSENDABLE.reason));
    }
  });
}

function hopResponse(
  response: IncomingResponse,
  { timeline, secured, body }: { timeline: Timeline; secured: Secured | null; body: Body },
): HopResponse {
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    version: response.httpVersion,
    // Read now, because a closed connection has no TLS data.
    tls: response.socket instanceof TLSSocket ? readTlsFacts(response.socket, secured ?? {}) : null,
    async body() {
      const read = await body.ended;
      timeline.markBodyEnd();
      response.socket.destroy();
      return read;
    },
    leave() {
      body.end('The body was left');
      response.socket.destroy();
    },
    timings: () => timeline.timings(),
  };
}

const DECODERS: Readonly<Record<string, () => zlib.Gunzip | zlib.InflateRaw | zlib.BrotliDecompress>> = {
  gzip: () => zlib.createGunzip(),
  deflate: () => zlib.createInflateRaw(),
  br: () => zlib.createBrotliDecompress(),
};

/**
 * Counts a body to its end, and keeps its start. An abort ends it as well: a few bytes that were received can
 * decompress to gigabytes.
 */
class Body {
  readonly ended: Promise<ReadBody>;
  readonly #reading: BodyReading;
  readonly #pieces: Buffer[] = [];
  readonly #settle: (body: ReadBody) => void;
  readonly #letGo: () => void;
  #hasEnded = false;
  #length = 0;
  #kept = 0;

  constructor(response: IncomingResponse, reading: BodyReading, signal: AbortSignal) {
    const { promise, resolve } = Promise.withResolvers<ReadBody>();
    this.#reading = reading;
    this.#settle = resolve;
    this.ended = promise;
    const decoder = DECODERS[reading.compression ?? '']?.();
    const abort = (): void => this.end('The timeout passed');
    signal.addEventListener('abort', abort, { once: true });
    this.#letGo = () => {
      signal.removeEventListener('abort', abort);
      decoder?.destroy();
    };
    if (decoder === undefined) {
      response.on('data', (piece: Buffer) => this.#take(piece));
      response.on('end', () => this.end(null));
    } else {
      // The piece is copied, because its memory is reused.
      response.on('data', (piece: Buffer) => decoder.write(Buffer.from(piece)) || response.pause());
      response.on('end', () => decoder.end());
      decoder.on('drain', () => response.resume());
      decoder.on('data', (piece: Buffer) => this.#take(piece));
      decoder.on('end', () => this.end(null));
      decoder.on('error', () => this.end(`The body is not compressed with ${String(reading.compression)}`));
    }
    response.on('close', () => response.complete || this.end('The body did not come whole'));
  }

  /** Ends the body. Only the first end counts; nothing is decompressed after it. */
  end(problem: string | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#letGo();
    const kept = Buffer.concat(this.#pieces);
    this.#settle({ length: this.#length, kept, isTruncated: this.#length > kept.length, problem });
  }

  #take(piece: Buffer): void {
    if (this.#hasEnded) return;
    const { keep, most } = this.#reading;
    this.#length += piece.length;
    if (most > 0 && this.#length > most) {
      this.#length = most;
      return this.end(`The body has more than ${most} bytes`);
    }
    const kept = piece.subarray(0, keep - this.#kept);
    if (kept.length === 0) return;
    this.#kept += kept.length;
    this.#pieces.push(Buffer.from(kept));
  }
}

type Cookie = {
  name: string;
  value: string;
  host: string;
  isForSubdomains: boolean;
  path: string;
  isSecure: boolean;
  hasExpired: boolean;
};

/** Cookies of one probe, kept and sent by the rules of RFC 6265. */
export class Cookies {
  readonly #kept = new Map<string, Cookie>();

  /** Keeps the cookies that the response from a URL sets. */
  keep(url: URL, headers: IncomingHttpHeaders): void {
    for (const line of headers['set-cookie'] ?? []) {
      const cookie = readCookie(line, url);
      if (cookie === null) continue;
      const key = [cookie.host, cookie.path, cookie.name].join(';');
      if (cookie.hasExpired) this.#kept.delete(key);
      else if (this.#kept.has(key) || this.#kept.size < MAX_COOKIES) this.#kept.set(key, cookie);
    }
  }

  /** Returns the cookies of a request to a URL, those with the longest path first; empty if there are none. */
  sentTo({ protocol, hostname, pathname }: URL): string {
    return [...this.#kept.values()]
      .filter(({ isSecure }) => !isSecure || protocol === 'https:')
      .filter(({ host, isForSubdomains }) => host === hostname || (isForSubdomains && hostname.endsWith(`.${host}`)))
      .filter(({ path }) => pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`))
      .toSorted((one, other) => other.path.length - one.path.length)
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  }
}

const MAX_COOKIES = 100;

/** Parses a cookie; null for invalid text, and for a cookie of another host. */
function readCookie(line: string, { hostname, pathname }: URL): Cookie | null {
  const [, name, value, rest = ''] = /^\s*([^=;\s]+)=([^;]*)(.*)$/s.exec(line) ?? [];
  if (name === undefined || value === undefined) return null;
  const attributes = new Map(
    [...rest.matchAll(/;\s*([\w-]+)\s*(?:=([^;]*))?/g)].map(([, key = '', text = '']) => [
      key.toLowerCase(),
      text.trim(),
    ]),
  );
  const domain = attributes.get('domain')?.replace(/^\./, '').toLowerCase() || hostname;
  const isForSubdomains = attributes.has('domain') && domain.includes('.') && isIP(hostname) === 0;
  if (domain !== hostname && !(isForSubdomains && hostname.endsWith(`.${domain}`))) return null;
  const path = attributes.get('path') ?? '';
  const maxAge = attributes.get('max-age') ?? '';
  return {
    name,
    value: value.trim(),
    host: domain,
    isForSubdomains,
    path: path.startsWith('/') ? path : pathname.slice(0, pathname.lastIndexOf('/')) || '/',
    isSecure: attributes.has('secure'),
    hasExpired: /^-?\d+$/.test(maxAge)
      ? Number(maxAge) <= 0
      : Date.parse(attributes.get('expires') ?? '') <= Date.now(),
  };
}
