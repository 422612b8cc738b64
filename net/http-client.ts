import http, { type Agent, type ClientRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { bodyBudget, bodyScope, OutOfBodyMemory, type BodyScope } from './body-budget.ts';
import {
  explainVerification,
  isVerificationError,
  readCertificate,
  watchRefusedCertificate,
  type Certificate,
} from './certificate.ts';
import { connect, createDestinations, type Destination } from './destination.ts';
import {
  BLOCKED,
  BODY_FAILURES,
  failureOf,
  isUnsendable,
  NEVER_FINAL,
  timeoutFailure,
  UNSENDABLE,
  type Failure,
} from './failure.ts';
import { FreshRequest, type IncomingResponse, type RequestEvents } from './fresh-request.ts';
import { readBody, sampleBody, type ResponseBody } from './response-body.ts';
import { startDeadline, Timeline, type Timings } from './timeline.ts';

/** One request; the caller handles redirects. */
export type HttpRequest = {
  /** http or https; its username and password are not used. */
  url: URL;
  method: string;
  /** Values in Latin-1 without control characters; Host and Content-Length are added automatically. */
  headers: Readonly<Record<string, string>>;
  body?: string | Buffer;
  /** Timeout of the whole exchange in milliseconds, including the body of the response. */
  deadlineMs: number;
  /**
   * How many bytes of the decoded body to keep, determined once the head of the response has arrived. With 0 the
   * connection is closed without reading further.
   */
  bodyLimit: (status: number, headers: IncomingHttpHeaders) => number;
  /** How many bytes to sample of a decoded body that is not read, after the response. Absent or 0: none. */
  bodySampleLimit?: (status: number, headers: IncomingHttpHeaders) => number;
  /** False: the body is kept as received, without decoding its Content-Encoding. */
  decodes?: boolean;
  /**
   * True: the body stays charged until the work that sent the request ends (`holdingBodies`), and not only until the
   * response is complete.
   */
  keepsBody?: boolean;
  /** Keeps connections for later requests; without it, each request opens a fresh connection. */
  agent?: Agent;
};

/**
 * The response to a request. `body` is empty if it was not to be read. `bodySample` is present if a sample of such a
 * body was requested. It resolves after the response, soon and within the deadline, with the bytes that have arrived by
 * then, however the body ends, and never rejects.
 */
export type HttpResponse = {
  outcome: 'answered';
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  truncated: boolean;
  bodySample?: Promise<Buffer>;
};

/**
 * Returns the wait that a Retry-After header requests, in milliseconds, from seconds or a date (RFC 9110, 10.2.3). Null
 * if it is absent, or neither. It has no upper limit.
 */
export function readRetryAfter({ headers }: Pick<HttpResponse, 'headers'>, nowMs: number): number | null {
  const header = headers['retry-after']?.trim() ?? '';
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  // `Date.parse` would read a bare negative number as a year.
  const atMs = /[a-z]/i.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}

/** A response whose head arrived but whose body was not read to its end; `body` is its start. */
type PartialResponse = { status: number; body: Buffer };

type Outcome = HttpResponse | ({ outcome: 'failed'; partial: PartialResponse | null } & Failure);

/** Result and duration of one exchange; `certificate` is null without TLS. */
export type HttpExchange = Outcome & {
  /** Excludes `waitedMs`, for which the body waited for memory; a response that is not read does not wait. */
  durationMs: number;
  waitedMs: number;
  timings: Timings;
  certificate: Certificate | null;
};

/**
 * Sends one HTTP/1.1 request. Failures of the other side are values; it rejects only if this machine lacks resources
 * (descriptors, ports, memory for bodies).
 */
export type HttpClient = (request: HttpRequest) => Promise<HttpExchange>;

const MAX_HEADER_BYTES = 64 * 1024;
const EMPTY = Buffer.alloc(0);

/** Share of its deadline that a body may wait for memory before a failure no longer counts as the target's. */
const LEAST_SHARE = 0.25;
/**
 * Share of its deadline for which others may hold memory that a body waits for: less than the above, so that its vote
 * counts.
 */
const PATIENT_SHARE = 0.2;

/**
 * Maximum 1xx responses before the final one. Servers send two or three; an endless series would occupy the client
 * until the deadline.
 */
const MAX_INFORMATIONAL = 100;

/** How long a sample waits for the body, in milliseconds: most bodies arrive with the head. */
const BODY_SAMPLE_MS = 300;

/**
 * `purpose` names work that serves no single account; its bodies share one part of memory, whatever caused the request.
 */
type HttpClientOptions = { allowPrivateNetwork: boolean; purpose?: string };

/** Owner of bodies without a purpose and outside the work of an account. */
const NO_ACCOUNT = 'nobody';

/** Creates an HTTP client over Node's; without `allowPrivateNetwork` it reaches public addresses only (D-30). */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  return createClient(options, openWithNode);
}

/**
 * Creates the HTTP client for checks, written for this service, which takes less CPU than Node's. Checks never reuse a
 * connection: their requests have no `agent`.
 */
export function createProbeClient(options: HttpClientOptions): HttpClient {
  return createClient(options, (destination, request, events) => new FreshRequest(destination, request, events));
}

function createClient(options: HttpClientOptions, open: OpenRequest): HttpClient {
  const findDestination = createDestinations(options);
  return (request) =>
    new Promise((resolve, reject) => {
      const scope = bodyScope();
      const account = options.purpose ?? scope?.account ?? NO_ACCOUNT;
      new RunningExchange({ request, open, scope, account, resolve, reject }).start(findDestination(request.url));
    });
}

/** Sends a request with Node's own client, which can keep connections for later requests. */
function openWithNode(destination: Destination, request: HttpRequest, events: RequestEvents): ClientRequest {
  const { url, method, headers, agent, body } = request;
  const options: RequestOptions = {
    ...destination,
    protocol: url.protocol,
    defaultPort: destination.isSecure ? 443 : 80,
    method,
    path: url.pathname + url.search,
    headers: body === undefined ? headers : { ...headers, 'Content-Length': Buffer.byteLength(body) },
    maxHeaderSize: MAX_HEADER_BYTES,
  };
  if (agent !== undefined) options.agent = agent;
  else options.createConnection = () => connect(destination);
  const opened = destination.isSecure ? https.request(options) : http.request(options);
  opened.once('socket', events.onSocket);
  opened.once('response', events.onResponse);
  // A 101 is a response like any other; its protocol is not supported, so it has no body.
  opened.once('upgrade', events.onResponse);
  opened.on('information', events.onInformational);
  opened.on('error', events.onError);
  return opened.end(body);
}

/** A running request: its socket, if it has one, and the function that ends it. */
type OpenedRequest = { socket: Socket | null; destroy: () => void };
type OpenRequest = (destination: Destination, request: HttpRequest, events: RequestEvents) => OpenedRequest;

type Settlement = { resolve: (exchange: HttpExchange) => void; reject: (error: Error) => void };

/** `account` owns the body. */
type ExchangeStart = Settlement & {
  request: HttpRequest;
  open: OpenRequest;
  scope: BodyScope | undefined;
  account: string;
};

class RunningExchange {
  readonly #request: HttpRequest;
  readonly #open: OpenRequest;
  readonly #resolve: Settlement['resolve'];
  readonly #reject: Settlement['reject'];
  readonly #timeline: Timeline;
  #callOffDeadline: () => void = () => {};
  #isSettled = false;
  #informational = 0;
  #certificate: Certificate | null = null;
  /** Scope in which the body stays charged once it is complete; undefined if it is not kept. */
  readonly #scope: BodyScope | undefined;
  readonly #account: string;
  /** Closes the open connection when the deadline passes. */
  #abandon: () => void = () => {};
  /** True if the body waits for memory or has waited for long: then a failure proves nothing about the target. */
  #hasWaited: () => boolean = () => false;
  /** State of a response whose body is being read. */
  #partial: () => PartialResponse | null = () => null;
  /** The certificate that failed verification. */
  #refusedCertificate: () => Certificate | null = () => null;

  constructor({ request, open, scope, account, resolve, reject }: ExchangeStart) {
    this.#request = request;
    this.#open = open;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#scope = request.keepsBody === true ? scope : undefined;
    this.#account = account;
    this.#timeline = new Timeline(request.url.protocol === 'https:');
  }

  start(destination: Destination | null): void {
    if (destination === null) return this.#fail(BLOCKED);
    let opened: OpenedRequest;
    try {
      opened = this.#open(destination, this.#request, {
        onSocket: (socket) => this.#watch(socket, destination),
        onInformational: () => this.#passInformational(),
        onResponse: (response) => this.#receive(response),
        onError: (error) => this.#lose(error, opened.socket),
      });
    } catch (error) {
      if (!isUnsendable(error)) throw error;
      return this.#fail(UNSENDABLE);
    }
    this.#abandon = () => opened.destroy();
    this.#callOffDeadline = startDeadline(this.#request.deadlineMs, () => this.#passDeadline());
  }

  #watch(socket: Socket, { isNamed }: Destination): void {
    this.#timeline.watch(socket, isNamed);
    if (socket.connecting && socket instanceof TLSSocket) this.#refusedCertificate = watchRefusedCertificate(socket);
  }

  #passInformational(): void {
    this.#informational += 1;
    if (this.#informational > MAX_INFORMATIONAL) this.#giveUp(NEVER_FINAL);
  }

  #receive(response: IncomingResponse): void {
    const { bodyLimit, bodySampleLimit } = this.#request;
    const { statusCode = 0, headers } = response;
    if (statusCode === 101) return this.#receiveHead(response);
    const limit = bodyLimit(statusCode, headers);
    if (limit > 0) return void this.#receiveBody(response, limit);
    const sampleLimit = bodySampleLimit?.(statusCode, headers) ?? 0;
    if (sampleLimit > 0) this.#receiveSample(response, sampleLimit);
    else this.#receiveHead(response);
  }

  /** Completes the response with its head alone: the body can no longer change it. */
  #receiveSample(response: IncomingResponse, limit: number): void {
    const { socket } = response;
    this.#markResponse(socket);
    const withinMs = Math.max(0, Math.min(BODY_SAMPLE_MS, this.#request.deadlineMs - this.#timeline.elapsedMs()));
    const bodySample = sampleBody(response, { limit, withinMs }).finally(() => socket.destroy());
    this.#complete(response, { bytes: EMPTY, truncated: false }, bodySample);
  }

  #receiveHead(response: IncomingResponse): void {
    this.#markResponse(response.socket);
    this.#complete(response, { bytes: EMPTY, truncated: false });
    response.socket.destroy();
  }

  async #receiveBody(response: IncomingResponse, limit: number): Promise<void> {
    // Once the response has ended, Node detaches the socket of a connection that could be kept alive.
    const { socket } = response;
    this.#markResponse(socket);
    const coming = readBody(response, { limit, decodes: this.#request.decodes ?? true, charge: () => charge });
    const charge = bodyBudget.open(this.#account, coming.giveUp, PATIENT_SHARE * this.#request.deadlineMs);
    this.#partial = () => ({ status: response.statusCode ?? 0, body: coming.soFar() });
    this.#timeline.waitedMs = coming.waitedMs;
    this.#hasWaited = () => coming.waits() || coming.waitedMs() >= LEAST_SHARE * this.#request.deadlineMs;
    const abandon = this.#abandon;
    this.#abandon = () => {
      coming.abandon();
      abandon();
    };
    const body = await coming.ended;
    this.#timeline.markBodyEnd();
    charge.complete();
    if (this.#scope === undefined || this.#isSettled || typeof body === 'string') charge.release();
    else this.#scope.charges.push(charge);
    if (body === 'out_of_memory') this.#rejectWith(new OutOfBodyMemory());
    else if (typeof body === 'string') this.#fail(BODY_FAILURES[body]);
    else this.#complete(response, body);
    const isReusable = this.#request.agent !== undefined && typeof body !== 'string' && !body.truncated;
    if (!isReusable) socket.destroy();
  }

  #markResponse(socket: Socket): void {
    this.#timeline.markResponse();
    if (socket instanceof TLSSocket) this.#certificate = readCertificate(socket);
  }

  #lose(error: Error, socket: Socket | null): void {
    // An error that neither a socket nor a parser raised is a bug in this code.
    const failure = 'code' in error ? failureOf(error, this.#timeline.step()) : null;
    if (failure === null) {
      this.#rejectWith(error);
    } else if (isVerificationError(socket)) {
      this.#certificate = this.#refusedCertificate();
      this.#fail(explainVerification(failure, this.#certificate));
    } else {
      this.#fail(failure);
    }
  }

  #giveUp(failure: Failure): void {
    this.#fail(failure);
    this.#abandon();
  }

  #passDeadline(): void {
    this.#giveUp(timeoutFailure(this.#timeline.step()));
  }

  #complete(response: IncomingResponse, { bytes, truncated }: ResponseBody, bodySample?: Promise<Buffer>): void {
    this.#settle({
      outcome: 'answered',
      status: response.statusCode ?? 0,
      headers: response.headers,
      body: bytes,
      truncated,
      ...(bodySample && { bodySample }),
    });
  }

  #fail(failure: Failure): void {
    if (this.#hasWaited()) this.#rejectWith(new OutOfBodyMemory());
    else this.#settle({ outcome: 'failed', ...failure, partial: this.#partial() });
  }

  #rejectWith(error: Error): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#callOffDeadline();
    this.#reject(error);
  }

  #settle(outcome: Outcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#callOffDeadline();
    this.#resolve({
      ...outcome,
      durationMs: this.#timeline.elapsedMs(),
      waitedMs: this.#timeline.waitedMs(),
      timings: this.#timeline.timings(),
      certificate: this.#certificate,
    });
  }
}
