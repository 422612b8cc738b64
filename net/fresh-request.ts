import { EventEmitter } from 'node:events';
import { validateHeaderName, validateHeaderValue, type IncomingHttpHeaders } from 'node:http';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import type { Destination } from './destination.ts';
import { ResponseParser, type ResponseHead } from './response-parser.ts';

/**
 * A response whose body may still arrive, with the events of Node's `IncomingMessage`: data, end, error, close. The
 * memory of a data chunk is overwritten after its event.
 */
export type IncomingResponse = Pick<EventEmitter, 'on' | 'off'> & {
  /** As in `1.1`. */
  httpVersion: string;
  statusCode?: number;
  headers: IncomingHttpHeaders;
  /** True once the body has ended. */
  complete: boolean;
  /** True if a pause stops reading from the socket; other responses read on and queue the data. */
  stopsAtOnce?: true;
  socket: Socket;
  pause: () => void;
  resume: () => void;
};

/** A request to send; header values are bytes in Latin-1. */
type SentRequest = {
  url: URL;
  method: string;
  headers: Readonly<Record<string, string>>;
  body?: string | Buffer;
};

/** Callbacks of a request. After an error, or once its socket was destroyed, no more are called. */
export type RequestEvents = {
  onSocket: (socket: Socket) => void;
  onResponse: (response: IncomingResponse) => void;
  onInformational: () => void;
  onError: (error: Error) => void;
};

/** Methods whose requests have no Content-Length unless they have a body. */
const BODILESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/**
 * Size of the buffers that sockets read into, in bytes, each reused by the next socket. Most responses fit into one.
 */
const READ_BYTES = 16 * 1024;
const MAX_SPARE_BUFFERS = 64;
const spareBuffers: Buffer[] = [];

/**
 * One HTTP/1.1 request on its own connection, which is closed afterwards: written at once, and its response parsed in
 * one pass. Throws Node's error if HTTP cannot express a header.
 */
export class FreshRequest {
  readonly socket: Socket;
  readonly #events: RequestEvents;
  readonly #parser: ResponseParser;
  #response: ReceivedResponse | null = null;
  #buffer: Buffer | null = null;

  constructor(destination: Destination, request: SentRequest, events: RequestEvents) {
    const head = writeHead(request);
    this.#events = events;
    this.#parser = new ResponseParser(request.method, {
      onInformational: events.onInformational,
      onHead: (received) => this.#begin(received),
      onBody: (bytes) => this.#pass(bytes),
      onEnd: () => this.#response?.finish(),
    });
    this.socket = this.#connect(destination);
    events.onSocket(this.socket);
    this.socket.on('end', () => this.#end()).on('error', (error) => this.#fail(error));
    this.socket.once('close', () => this.#close());
    // Nothing is sent before the certificate is verified.
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

  #begin(head: ResponseHead): void {
    this.#response = new ReceivedResponse(this.socket, head);
    this.#events.onResponse(this.#response);
  }

  #pass(bytes: Buffer): void {
    if (!this.socket.destroyed) this.#response?.emit('data', bytes);
  }

  /** Handles the end of the server's data. */
  #end(): void {
    this.#parse(() => {
      if (this.#parser.close()) return;
      if (this.#response === null) throw Object.assign(new Error('The connection was closed'), { code: 'ECONNRESET' });
      this.socket.destroy();
    });
  }

  #fail(error: Error): void {
    if (this.#response?.complete === true) return;
    this.#events.onError(error);
    this.socket.destroy();
  }

  #close(): void {
    if (this.#buffer !== null && spareBuffers.length < MAX_SPARE_BUFFERS) spareBuffers.push(this.#buffer);
    this.#buffer = null;
    this.#response?.emit('close');
  }
}

class ReceivedResponse extends EventEmitter implements IncomingResponse {
  readonly stopsAtOnce = true;
  readonly socket: Socket;
  readonly httpVersion: string;
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  complete = false;

  constructor(socket: Socket, { version, status, headers }: ResponseHead) {
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
