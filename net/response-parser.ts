import type { IncomingHttpHeaders } from 'node:http';

/**
 * The head of a final or informational response, its names in lower case and repeated headers joined as Node does; the
 * version as `1.1`.
 */
export type ResponseHead = { version: string; status: number; headers: IncomingHttpHeaders };

/** Callbacks of a parser, called in this order; informational responses precede the final one. */
type ResponseHandlers = {
  onInformational: () => void;
  onHead: (head: ResponseHead) => void;
  /** Receives bytes of the body, which share the memory of the bytes passed to `take` and change with them. */
  onBody: (bytes: Buffer) => void;
  onEnd: () => void;
};

/** Error for a response that is not valid HTTP, with a code of Node's own parser. */
class InvalidResponse extends Error {
  readonly code: 'HPE_INVALID_RESPONSE' | 'HPE_HEADER_OVERFLOW';

  constructor(code: InvalidResponse['code'] = 'HPE_INVALID_RESPONSE') {
    super('The response is not valid HTTP');
    this.code = code;
  }
}

const MAX_HEADER_BYTES = 64 * 1024;
/** Maximum bytes of a chunk's size line with its extensions; also of the extensions of all chunks together. */
const MAX_CHUNK_LINE_BYTES = 16 * 1024;
/** Maximum digits of a chunk's size; more characters in its line are extensions or leading zeros. */
const MAX_CHUNK_SIZE_DIGITS = 16;
/** Maximum length of a body or a chunk, in bytes: no client reads that far. */
const MAX_LENGTH = 2 ** 64;
/** Maximum digits of a chunk's size for which a number holds it exactly. */
const MAX_PLAIN_DIGITS = 8;
const LINE_FEED = 10;
const RETURN = 13;

const STATUS_LINE = /^HTTP\/(0\.9|1\.0|1\.1|2\.0) (\d{3})(?: [^\0\r\n]*)?$/;
/** Starts of valid status lines; an incomplete line must be the start of one. */
const STATUS_LINE_STARTS = ['HTTP/1.1 ', 'HTTP/1.0 ', 'HTTP/2.0 ', 'HTTP/0.9 '];
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~\w]+):([\t -~\x80-\xff]*)$/;
const CHUNK_LINE = /^([\da-f]+)(?:;[\t -~\x80-\xff]+)?$/i;
const CHUNK_LINE_START = /^[\da-f]+(?:[;\r]|$)/i;
const DIGITS = /^\d+$/;

/**
 * Headers whose first value counts, where others of one name are joined (as documented for Node's `message.headers`).
 */
const SINGLE = new Set(
  `age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since
  last-modified location max-forwards proxy-authorization referer retry-after server user-agent`.split(/\s+/),
);

/** Position of the next byte within a response. */
type State = 'status' | 'headers' | 'length' | 'close' | 'chunk_size' | 'chunk' | 'chunk_end' | 'trailers' | 'ended';

/**
 * Parses the one response of a connection that serves one request: its head in one pass, then its body as it arrives.
 * Bytes after the response are ignored. It is as strict as Node's parser, so that servers are judged alike.
 */
export class ResponseParser {
  readonly #handlers: ResponseHandlers;
  readonly #isHead: boolean;
  #state: State = 'status';
  /** The start of a line whose end has not arrived. */
  #line = '';
  /** Bytes of the head, including informational ones before it, or of the trailers. */
  #headerBytes = 0;
  #version = '';
  #status = 0;
  #headers = newHeaders();
  #extensionBytes = 0;
  /** Range of body bytes within the current bytes; 0 while there are none. */
  #bodyStart = 0;
  #bodyEnd = 0;
  /** Remaining bytes of the body or of the chunk. */
  #remaining = 0;

  /** A response to a `method` of HEAD has no body. */
  constructor(method: string, handlers: ResponseHandlers) {
    this.#isHead = method === 'HEAD';
    this.#handlers = handlers;
  }

  /**
   * Parses the next bytes. A body in many chunks is moved together in them, to be passed on as one piece. Throws
   * `InvalidResponse`, after which `take` must not be called.
   */
  take(bytes: Buffer): void {
    if (this.#hasEnded()) return;
    this.#bodyStart = this.#bodyEnd = 0;
    let at = 0;
    try {
      while (at < bytes.length && !this.#hasEnded()) at = this.#step(bytes, at);
    } finally {
      if (this.#bodyEnd > 0) this.#handlers.onBody(bytes.subarray(this.#bodyStart, this.#bodyEnd));
    }
    if (this.#hasEnded()) this.#handlers.onEnd();
  }

  /** Handles the end of the connection; returns true if it completes the response. Throws as `take` does. */
  close(): boolean {
    if (/\r[^]/.test(this.#line)) throw new InvalidResponse();
    if (this.#state === 'close') {
      this.#state = 'ended';
      this.#handlers.onEnd();
    }
    return this.#hasEnded();
  }

  #hasEnded(): boolean {
    return this.#state === 'ended';
  }

  /** Parses one line or one piece of body at an offset; returns the offset after it. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'length':
      case 'chunk':
        return this.#takeBody(bytes, at);
      case 'close':
        return this.#gather(bytes, at, bytes.length);
      case 'chunk_size':
        return this.#takeChunkSize(bytes, at);
      default:
        return this.#takeLine(bytes, at);
    }
  }

  /** Parses a chunk's size line in its usual form: complete, with the size alone. Any other is parsed as a line. */
  #takeChunkSize(bytes: Buffer, at: number): number {
    let size = 0;
    let next = at;
    for (; next < at + MAX_PLAIN_DIGITS; next += 1) {
      const digit = hexDigit(bytes[next]);
      if (digit === -1) break;
      size = size * 16 + digit;
    }
    const isPlain = this.#line === '' && next > at && bytes[next] === RETURN && bytes[next + 1] === LINE_FEED;
    if (!isPlain) return this.#takeLine(bytes, at);
    this.#expectBytes(size);
    return next + 2;
  }

  #takeLine(chunk: Buffer, at: number): number {
    const end = chunk.indexOf(LINE_FEED, at);
    const next = end === -1 ? chunk.length : end + 1;
    this.#count(next - at);
    this.#line += chunk.toString('latin1', at, next);
    if (end === -1) {
      this.#expectStart();
      return next;
    }
    const line = this.#line;
    this.#line = '';
    // Some servers send an extra empty line.
    if (this.#state === 'status' && /^\r*\n$/.test(line)) return next;
    if (!line.endsWith('\r\n')) throw new InvalidResponse();
    this.#readLine(line.slice(0, -2));
    return next;
  }

  #count(bytes: number): void {
    this.#headerBytes += bytes;
    if (this.#state === 'chunk_size' || this.#state === 'chunk_end') {
      if (this.#headerBytes > MAX_CHUNK_LINE_BYTES) throw new InvalidResponse();
    } else if (this.#headerBytes > MAX_HEADER_BYTES) throw new InvalidResponse('HPE_HEADER_OVERFLOW');
  }

  /** Rejects other protocols by the first bytes of a line, which may never end. */
  #expectStart(): void {
    const line = this.#line;
    const isExpected =
      this.#state === 'chunk_size'
        ? CHUNK_LINE_START.test(line)
        : this.#state !== 'status' ||
          /^\r+$/.test(line) ||
          STATUS_LINE_STARTS.some((start) => line.startsWith(start.slice(0, line.length)));
    if (!isExpected) throw new InvalidResponse();
  }

  #readLine(line: string): void {
    switch (this.#state) {
      case 'status':
        return this.#readStatus(line);
      case 'headers':
        return line === '' ? this.#endHead() : this.#readHeader(line);
      case 'chunk_size':
        return this.#readChunkSize(line);
      case 'chunk_end':
        if (line !== '') throw new InvalidResponse();
        return this.#expectChunk();
      default:
        if (line === '') this.#state = 'ended';
        else if (!HEADER_LINE.test(line)) throw new InvalidResponse();
    }
  }

  #readStatus(line: string): void {
    const [, version, status] = STATUS_LINE.exec(line) ?? [];
    if (version === undefined || status === undefined) throw new InvalidResponse();
    this.#version = version;
    this.#status = Number(status);
    this.#headers = newHeaders();
    this.#state = 'headers';
  }

  #readHeader(line: string): void {
    const [, name, text] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined || text === undefined) throw new InvalidResponse();
    const key = name.toLowerCase();
    const value = trimBlanks(text);
    const headers = this.#headers;
    const before = headers[key];
    if (key === 'content-length') this.#readLength(value);
    if (key === 'transfer-encoding' && value === '') throw new InvalidResponse();
    if (key === 'set-cookie') (headers['set-cookie'] ??= []).push(value);
    else if (before === undefined) headers[key] = value;
    else if (!SINGLE.has(key)) headers[key] = `${String(before)}${key === 'cookie' ? '; ' : ', '}${value}`;
    this.#expectOneFraming();
  }

  // Two framings of one body would allow smuggling in another response.
  #expectOneFraming(): void {
    const { 'content-length': length, 'transfer-encoding': codings } = this.#headers;
    if (length !== undefined && codings !== undefined) throw new InvalidResponse();
  }

  #readLength(value: string): void {
    this.#remaining = DIGITS.test(value) ? Number(value) : Number.NaN;
    if (this.#headers['content-length'] !== undefined || !(this.#remaining <= MAX_LENGTH)) throw new InvalidResponse();
  }

  #endHead(): void {
    const status = this.#status;
    const headers = this.#headers;
    if (isInformational(status) && status !== 101) {
      this.#state = 'status';
      return this.#handlers.onInformational();
    }
    this.#headerBytes = 0;
    this.#state = this.#framing();
    this.#handlers.onHead({ version: this.#version, status, headers });
  }

  /** Returns how the body is delimited (RFC 9112, 6.3). */
  #framing(): State {
    const { 'content-length': length, 'transfer-encoding': codings } = this.#headers;
    if (this.#isHead || isInformational(this.#status) || this.#status === 204 || this.#status === 304) return 'ended';
    if (codings !== undefined) return /(?:^|,)[\t ]*chunked$/i.test(codings) ? 'chunk_size' : 'close';
    if (length === undefined) return 'close';
    return this.#remaining === 0 ? 'ended' : 'length';
  }

  #takeBody(bytes: Buffer, at: number): number {
    const next = Math.min(bytes.length, at + this.#remaining);
    this.#remaining -= next - at;
    this.#gather(bytes, at, next);
    if (this.#remaining > 0) return next;
    if (this.#state === 'length') this.#state = 'ended';
    else if (bytes[next] === RETURN && bytes[next + 1] === LINE_FEED) {
      this.#expectChunk();
      return next + 2;
    } else this.#state = 'chunk_end';
    return next;
  }

  /** Appends a piece of body to the previous ones; returns its end. */
  #gather(bytes: Buffer, from: number, to: number): number {
    if (this.#bodyEnd === 0) this.#bodyStart = this.#bodyEnd = from;
    if (this.#bodyEnd < from) bytes.copyWithin(this.#bodyEnd, from, to);
    this.#bodyEnd += to - from;
    return to;
  }

  #expectChunk(): void {
    this.#state = 'chunk_size';
    this.#headerBytes = 0;
  }

  #readChunkSize(line: string): void {
    const size = Number.parseInt(CHUNK_LINE.exec(line)?.[1] ?? '', 16);
    this.#extensionBytes += Math.max(0, line.length - MAX_CHUNK_SIZE_DIGITS);
    if (!(size <= MAX_LENGTH) || this.#extensionBytes > MAX_CHUNK_LINE_BYTES) throw new InvalidResponse();
    this.#expectBytes(size);
  }

  #expectBytes(size: number): void {
    this.#headerBytes = 0;
    this.#remaining = size;
    this.#state = size === 0 ? 'trailers' : 'chunk';
  }
}

function isInformational(status: number): boolean {
  return status >= 100 && status < 200;
}

/**
 * Trims spaces and tabs from a header's value. In one pass, because a pattern would scan the blanks again from each of
 * them.
 */
function trimBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text, start)) start += 1;
  while (end > start && isBlank(text, end - 1)) end -= 1;
  return text.slice(start, end);
}

function isBlank(text: string, at: number): boolean {
  return text[at] === ' ' || text[at] === '\t';
}

/** Returns the value of a hexadecimal digit, -1 for any other byte. */
function hexDigit(byte = 0): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

/** Creates headers without a prototype, because a header may have any name. */
function newHeaders(): IncomingHttpHeaders {
  return Object.create(null) as IncomingHttpHeaders;
}
