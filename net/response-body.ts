import type { Transform } from 'node:stream';
import zlib from 'node:zlib';
import { FREE_BODY_BYTES, type BodyCharge } from './body-budget.ts';
import type { IncomingResponse } from './fresh-request.ts';

/** The start of a body, with its content coding decoded; `truncated` if there was more than the limit. */
export type ResponseBody = { bytes: Buffer; truncated: boolean };

/**
 * How reading a body ended: completely, with a lost connection, with bytes that do not match its Content-Encoding, or
 * without memory.
 */
type BodyOutcome = ResponseBody | 'lost' | 'undecodable' | 'out_of_memory';

/** The content codings to offer, as an Accept-Encoding value; those whose decoders hold much memory are left out. */
export const OFFERED_ENCODINGS = 'gzip, deflate';

// A compressed body that exceeds the decoded limit by this much carries almost nothing: empty blocks, sent to keep a
// decoder busy.
const WIRE_SLACK = 64 * 1024;
// 8 MiB, the window that browsers allow (RFC 9659); the format allows far more.
const ZSTD_WINDOW_LOG = 23;
// Some servers omit the checksum at the end; browsers read their bodies anyway.
const TOLERANT = { finishFlush: zlib.constants.Z_SYNC_FLUSH };

/** Memory of a brotli decoder's tables, 3 x 256 of them, which a stream can require before its first output. */
const BROTLI_TABLES_BYTES = 3.5 * 1024 * 1024;
/** Memory of a zstd decoder's tables and buffers. */
const ZSTD_BYTES = 512 * 1024;

/** A decoder of a content coding; `held` is the memory that it may hold before its first output, where that is much. */
type Decoder = { create: (firstByte: number) => Transform; held?: (firstByte: number) => number };

const GZIP: Decoder = { create: () => zlib.createGunzip(TOLERANT) };
// Some servers send raw deflate under this name, without zlib's header, whose first byte ends in 8.
const DEFLATE: Decoder = {
  create: (firstByte) => ((firstByte & 0x0f) === 8 ? zlib.createInflate(TOLERANT) : zlib.createInflateRaw(TOLERANT)),
};
const BROTLI: Decoder = {
  create: () => zlib.createBrotliDecompress(),
  held: (firstByte) => BROTLI_TABLES_BYTES + windowOf(firstByte),
};
const ZSTD: Decoder = {
  create: () => zlib.createZstdDecompress({ params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
  held: () => ZSTD_BYTES,
};

const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ['gzip', GZIP],
  ['x-gzip', GZIP],
  ['deflate', DEFLATE],
  ['br', BROTLI],
  ['zstd', ZSTD],
]);

/** Returns the window of a brotli stream (RFC 7932, 9.1), which fourteen bytes can fill before the first output. */
function windowOf(firstByte: number): number {
  if ((firstByte & 1) === 0) return 2 ** 16;
  const high = (firstByte >> 1) & 7;
  const low = (firstByte >> 4) & 7;
  if (high !== 0) return 2 ** (17 + high);
  return 2 ** (low === 0 ? 17 : 8 + low);
}

/**
 * A body being read: the part received so far, and how it ends. `giveUp` frees its memory, `abandon` ends it at once.
 * `waits` reports whether it waits for its decoder's memory, `waitedMs` for how long it has. `ended` never rejects.
 */
type ComingBody = {
  ended: Promise<BodyOutcome>;
  soFar: () => Buffer;
  waits: () => boolean;
  waitedMs: () => number;
  giveUp: () => void;
  abandon: () => void;
};

/** `charge` counts the memory beyond the free bytes; without it none is counted. */
type Reading = { limit: number; decodes: boolean; charge?: () => BodyCharge };

/**
 * Reads at most `limit` bytes of a body. With `decodes` its content coding is decoded; a body with an unknown one is
 * left as received. The connection stays open after a truncated body: the caller closes it.
 */
export function readBody(response: IncomingResponse, options: Reading): ComingBody {
  const { promise, resolve } = Promise.withResolvers<BodyOutcome>();
  const reading = new BodyReader(response, options, resolve);
  return {
    ended: promise,
    soFar: () => reading.buffer.body().bytes,
    waits: () => reading.waits,
    waitedMs: () => reading.waitedMs,
    giveUp: () => reading.giveUp(),
    abandon: () => reading.finish('out_of_memory'),
  };
}

/**
 * Returns at most the first `limit` bytes of the decoded body that arrive within `withinMs` milliseconds. It does not
 * matter whether the body ends, breaks off or goes on by then. Never rejects. The caller closes the connection. No
 * memory is charged: a body whose decoder holds much stays unread.
 */
export function sampleBody(
  response: IncomingResponse,
  { limit, withinMs }: { limit: number; withinMs: number },
): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  if (decoderOf(response)?.held !== undefined) return Promise.resolve(Buffer.alloc(0));
  const end = (): void => {
    clearTimeout(timer);
    reading.stop();
    resolve(reading.buffer.body().bytes);
  };
  const timer = setTimeout(end, withinMs);
  const reading = new BodyReader(response, { limit, decodes: true }, end);
  return promise;
}

function decoderOf({ headers }: IncomingResponse): Decoder | undefined {
  return DECODERS.get(headers['content-encoding']?.trim().toLowerCase() ?? '');
}

/** Reads a body and reports once how that ended, unless it is stopped before. */
class BodyReader {
  buffer: BodyBuffer;
  readonly #response: IncomingResponse;
  readonly #limit: number;
  readonly #coding: Decoder | undefined;
  readonly #charge: Reading['charge'];
  readonly #onEnd: (outcome: BodyOutcome) => void;
  readonly #receive = (chunk: Buffer) => this.#take(chunk);
  #decoder: Transform | null = null;
  /** Data received while the decoder waits for memory, and since when it waits. */
  #early = new BodyBuffer(FREE_BODY_BYTES, () => true);
  #waitsSinceMs: number | null = null;
  #waitedMs = 0;
  #hasEnded = false;
  /** Once the body is given up, the byte count up to which its data is read and dropped; null if it is not. */
  #dropsUpTo: number | null = null;
  /** Memory charged for the decoder and for the further growth of the decoded body. */
  #heldByDecoder = 0;
  #wireBytes = 0;
  #isOver = false;

  constructor(response: IncomingResponse, { limit, decodes, charge }: Reading, onEnd: (outcome: BodyOutcome) => void) {
    const coding = decodes ? decoderOf(response) : undefined;
    this.#response = response;
    this.#limit = limit;
    this.#coding = coding;
    this.#charge = charge;
    this.#onEnd = onEnd;
    this.buffer = new BodyBuffer(limit, (bytes) => this.#grow(bytes));
    response.on('data', this.#receive);
    response.on('end', () => this.#endBody());
    response.on('error', () => this.finish('lost'));
    response.on('close', () => response.complete || this.finish('lost'));
  }

  get waits(): boolean {
    return this.#waitsSinceMs !== null;
  }

  get waitedMs(): number {
    return this.#waitedMs + (this.#waitsSinceMs === null ? 0 : performance.now() - this.#waitsSinceMs);
  }

  stop(): void {
    this.#endWait();
    this.#isOver = true;
    this.#response.off('data', this.#receive);
    this.#decoder?.destroy();
    this.#charge?.().giveBack(this.#heldByDecoder);
    this.#heldByDecoder = 0;
  }

  finish(outcome: BodyOutcome): void {
    if (this.#isOver) return;
    // The connection may be lost because the body, while it waits, is not read.
    const reached = this.waits ? 'out_of_memory' : outcome;
    this.stop();
    this.#onEnd(reached);
  }

  /**
   * Frees the memory of the body. One that is still being decoded is read on and dropped, up to where the limit would
   * have cut it, estimated from the data so far. If it does not get that far by the deadline, that is a fact about the
   * target.
   */
  giveUp(): void {
    if (this.#decoder === null || this.#heldByDecoder === 0 || this.#hasEnded) return this.finish('out_of_memory');
    const { length } = this.buffer.body().bytes;
    const cutAt = length === 0 ? Number.POSITIVE_INFINITY : (this.#limit * this.#wireBytes) / length;
    this.#dropsUpTo = Math.min(this.#limit + WIRE_SLACK, cutAt);
    this.#decoder.destroy();
    this.#decoder = null;
    this.#heldByDecoder = 0;
    this.buffer = new BodyBuffer(0, () => true);
    this.#response.resume();
  }

  #finishBody(): void {
    this.finish(this.#dropsUpTo === null ? this.buffer.body() : 'out_of_memory');
  }

  #endBody(): void {
    this.#hasEnded = true;
    if (this.waits) return;
    if (this.#decoder === null) this.#finishBody();
    else this.#decoder.end();
  }

  #take(chunk: Buffer): void {
    this.#wireBytes += chunk.length;
    if (this.#dropsUpTo !== null) return this.#wireBytes > this.#dropsUpTo ? this.#finishBody() : undefined;
    if (this.#coding === undefined) return this.#keep(chunk);
    if (!this.waits) this.#decoder ??= this.#obtainDecoder(this.#coding, chunk[0] ?? 0);
    if (this.#decoder === null) this.#keepEarly(chunk);
    else if (this.#wireBytes > this.#limit + WIRE_SLACK) this.#breakOff(this.#decoder, chunk);
    else this.#decode(this.#decoder, chunk);
  }

  #keep(chunk: Buffer): void {
    if (this.#isOver) return;
    const added = this.buffer.add(chunk);
    if (added === 'out_of_memory') this.finish(added);
    else if (added === 'full') this.#finishBody();
  }

  /** Charges decoded bytes; a decoder holds about as much again as it has output. */
  #grow(bytes: number): boolean {
    if (this.#charge === undefined) return true;
    if (this.#coding?.held === undefined) return this.#charge().take(this.#coding === undefined ? bytes : 2 * bytes);
    this.#heldByDecoder -= 2 * bytes;
    return true;
  }

  /** Creates the decoder, or returns null while memory is short: the decoder takes over the body once there is some. */
  #obtainDecoder(coding: Decoder, firstByte: number): Transform | null {
    if (coding.held === undefined || this.#charge === undefined) return this.#createDecoder(coding, firstByte);
    const bytes = coding.held(firstByte) + 2 * Math.max(0, this.#limit - FREE_BODY_BYTES);
    let decoder: Transform | null = null;
    this.#charge().takeInTurn(bytes, () => {
      if (this.#isOver) return;
      this.#heldByDecoder = bytes;
      decoder = this.#createDecoder(coding, firstByte);
      if (this.waits) this.#takeUp(decoder);
    });
    if (decoder !== null) return decoder;
    this.#waitsSinceMs = performance.now();
    // Other responses queue data after a pause, in pieces as small as they were sent, which takes a hundred times the
    // memory.
    if (this.#response.stopsAtOnce === true) this.#response.pause();
    return null;
  }

  #keepEarly(chunk: Buffer): void {
    if (this.#early.add(chunk) === 'full') this.finish('out_of_memory');
  }

  #takeUp(decoder: Transform): void {
    this.#endWait();
    this.#decoder = decoder;
    this.#response.resume();
    this.#decode(decoder, this.#early.body().bytes);
    this.#early = new BodyBuffer(0, () => true);
    if (this.#hasEnded) decoder.end();
  }

  #endWait(): void {
    this.#waitedMs = this.waitedMs;
    this.#waitsSinceMs = null;
  }

  #createDecoder({ create }: Decoder, firstByte: number): Transform {
    return create(firstByte)
      .on('data', (decoded: Buffer) => this.#keep(decoded))
      .on('drain', () => this.#response.resume())
      .on('end', () => this.#finishBody())
      .on('error', () => this.finish('undecodable'));
  }

  #decode(decoder: Transform, chunk: Buffer, onDecoded?: () => void): void {
    // The chunk is copied, because it is decoded after the next chunk has overwritten its memory.
    if (!decoder.write(Buffer.from(chunk), onDecoded)) this.#response.pause();
  }

  /** Ends a body over the limit. The decoder may still work on earlier data, and its output counts. */
  #breakOff(decoder: Transform, chunk: Buffer): void {
    this.#hasEnded = true;
    this.#response.off('data', this.#receive);
    this.#response.pause();
    this.#decode(decoder, chunk, () => this.finish({ ...this.buffer.body(), truncated: true }));
  }
}

/**
 * Collects the first `limit` bytes in one piece of memory. A body may arrive in a million chunks, each of which would
 * hold a hundred times its size.
 */
class BodyBuffer {
  readonly #limit: number;
  readonly #take: (bytes: number) => boolean;
  #held: Buffer = Buffer.alloc(0);
  #size = 0;
  #truncated = false;

  /** `take` requests bytes beyond the free ones. */
  constructor(limit: number, take: (bytes: number) => boolean) {
    this.#limit = limit;
    this.#take = take;
  }

  /** Returns `full` once there was more than the limit. */
  add(chunk: Buffer): 'kept' | 'full' | 'out_of_memory' {
    const room = this.#limit - this.#size;
    this.#truncated = chunk.length > room;
    const buffer = this.#truncated ? chunk.subarray(0, room) : chunk;
    if (!this.#makeRoom(this.#size + buffer.length)) return 'out_of_memory';
    buffer.copy(this.#held, this.#size);
    this.#size += buffer.length;
    return this.#truncated ? 'full' : 'kept';
  }

  body(): ResponseBody {
    return { bytes: this.#held.subarray(0, this.#size), truncated: this.#truncated };
  }

  /** Doubles the memory each time, so that copying stays proportional to the body. */
  #makeRoom(size: number): boolean {
    if (size <= this.#held.length) return true;
    const length = Math.min(this.#limit, Math.max(size, 2 * this.#held.length));
    const beyond = length - Math.max(this.#held.length, FREE_BODY_BYTES);
    if (beyond > 0 && !this.#take(beyond)) return false;
    const larger = Buffer.allocUnsafeSlow(length);
    this.#held.copy(larger, 0, 0, this.#size);
    this.#held = larger;
    return true;
  }
}
