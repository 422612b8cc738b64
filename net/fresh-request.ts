import { EventEmitter } from 'node:events';
import { validateHeaderName, validateHeaderValue, type IncomingHttpHeaders } from 'node:http';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { AnswerParser, type AnswerHead } from './answer-parser.ts';
import type { Destination } from './destination.ts';

/**
 * An answer whose body may still be coming, in the words of Node's `IncomingMessage`: data, end, error, close. What
 * comes as data is overwritten after the event.
 */
export type ComingAnswer = Pick<EventEmitter, 'on' | 'off'> & {
  /** As in `1.1`. */
  httpVersion: string;
  statusCode?: number;
  headers: IncomingHttpHeaders;
  /** True once the body came to its end. */
  complete: boolean;
  /** True where a pause stops the reading of the socket; others go on, and queue what comes. */
  stopsAtOnce?: true;
  socket: Socket;
  pause: () => void;
  resume: () => void;
};

/** What is sent: header values are bytes held as Latin-1. */
export type SentRequest = {
  url: URL;
  method: string;
  headers: Readonly<Record<string, string>>;
  body?: string | Buffer;
};

/** What becomes of a request. After an error, or once its socket was destroyed, nothing more is told. */
export type RequestEvents = {
  onSocket: (socket: Socket) => void;
  onAnswer: (answer: ComingAnswer) => void;
  onInformational: () => void;
  onError: (error: Error) => void;
};

/** Methods whose requests have no length unless they have a body. */
const BODILESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/** Sockets read into buffers of this many bytes, each used again by the next one. Most answers fit into it whole. */
const READ_BYTES = 16 * 1024;
const MAX_SPARE_BUFFERS = 64;
const spareBuffers: Buffer[] = [];

/**
 * One HTTP/1.1 request on a connection of its own, which is closed after it: written at once, and its answer read in
 * one pass. Throws what Node throws where a header has no form in HTTP.
 */
export class FreshRequest {
  readonly socket: Socket;
  readonly #events: RequestEvents;
  readonly #parser: AnswerParser;
  #answer: ReceivedAnswer | null = null;
  #buffer: Buffer | null = null;

  constructor(destination: Destination, request: SentRequest, events: RequestEvents) {
    const head = writeHead(request);
    this.#events = events;
    this.#parser = new AnswerParser(request.method, {
      onInformational: events.onInformational,
      onHead: (answered) => this.#begin(answered),
      onBody: (bytes) => this.#pass(bytes),
      onEnd: () => this.#answer?.finish(),
    });
    this.socket = this.#connect(destination);
    events.onSocket(this.socket);
    this.socket.on('end', () => this.#end()).on('error', (error) => this.#fail(error));
    this.socket.once('close', () => this.#close());
    // Nothing is sent before the certificate was verified.
    if (destination.isSecure) this.socket.once('secureConnect', () => this.#send(head, request.body));
    else this.#send(head, request.body);
  }

  destroy(): void {
    this.socket.destroy();
  }

  #send(head: string, body: SentRequest['body']): void {
    if (body === undefined) return void this.socket.write(head, 'latin1');
    this.socket.cork();
    this.socket.write(head, 'latin1');
    this.socket.write(body);
    this.socket.uncork();
  }

  #connect(destination: Destination): Socket {
    const buffer = (this.#buffer = spareBuffers.pop() ?? Buffer.allocUnsafeSlow(READ_BYTES));
    const callback = (bytes: number): boolean => {
      this.#take(buffer.subarray(0, bytes));
      return true;
    };
    const options = { ...destination, onread: { buffer, callback } };
    return destination.isSecure ? tls.connect(options) : net.connect(options);
  }

  #take(chunk: Buffer): void {
    if (!this.socket.destroyed) this.#parse(() => this.#parser.take(chunk));
  }

  #parse(read: () => void): void {
    try {
      read();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #begin(head: AnswerHead): void {
    this.#answer = new ReceivedAnswer(this.socket, head);
    this.#events.onAnswer(this.#answer);
  }

  #pass(bytes: Buffer): void {
    if (!this.socket.destroyed) this.#answer?.emit('data', bytes);
  }

  /** The server says no more. */
  #end(): void {
    this.#parse(() => {
      if (this.#parser.close()) return;
      if (this.#answer === null) throw Object.assign(new Error('The connection was closed'), { code: 'ECONNRESET' });
      this.socket.destroy();
    });
  }

  #fail(error: Error): void {
    if (this.#answer?.complete === true) return;
    this.#events.onError(error);
    this.socket.destroy();
  }

  #close(): void {
    if (this.#buffer !== null && spareBuffers.length < MAX_SPARE_BUFFERS) spareBuffers.push(this.#buffer);
    this.#buffer = null;
    this.#answer?.emit('close');
  }
}

class ReceivedAnswer extends EventEmitter implements ComingAnswer {
  readonly stopsAtOnce = true;
  readonly socket: Socket;
  readonly httpVersion: string;
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  complete = false;

  constructor(socket: Socket, { version, status, headers }: AnswerHead) {
    super();
    this.socket = socket;
    this.httpVersion = version;
    this.statusCode = status;
    this.headers = headers;
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  finish(): void {
    this.complete = true;
    this.emit('end');
  }
}

function writeHead({ url, method, headers, body }: SentRequest): string {
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  const names = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    names.add(name.toLowerCase());
    head += `${name}: ${value}\r\n`;
  }
  if (body !== undefined || !BODILESS.has(method)) head += `Content-Length: ${Buffer.byteLength(body ?? '')}\r\n`;
  if (!names.has('host')) head += `Host: ${url.host}\r\n`;
  if (!names.has('connection')) head += 'Connection: close\r\n';
  return `${head}\r\n`;
}
