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
import { FreshRequest, type ComingAnswer, type RequestEvents } from './fresh-request.ts';
import { glimpseBody, readBody, type ResponseBody } from './response-body.ts';
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
   * How many bytes of the decoded body to keep, known once the head of the response is there. With 0 the connection is
   * closed without reading on.
   */
  bodyLimit: (status: number, headers: IncomingHttpHeaders) => number;
  /** How many decoded bytes to sample of a body that is not read, after the response. Absent or 0: none. */
  glimpseLimit?: (status: number, headers: IncomingHttpHeaders) => number;
  /** False: the body is kept as it comes, whatever Content-Encoding says. */
  decodes?: boolean;
  /**
   * True: the body counts as held until the work ends in which the request was sent (`holdingBodies`), and not only
   * until the answer is there.
   */
  keepsBody?: boolean;
  /** Keeps connections for later requests; without one, each request has a fresh connection. */
  agent?: Agent;
};

/**
 * The answer to a request. `body` is empty where nothing was to be read. `glimpse` is there where a look at the start
 * of such a body was requested: it comes after the answer, within a moment and the deadline, holds what has arrived by
 * then, whatever became of the body, and never rejects.
 */
export type HttpAnswer = {
  outcome: 'answered';
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  truncated: boolean;
  glimpse?: Promise<Buffer>;
};

/**
 * What a Retry-After header asks for in milliseconds, seconds or a date (RFC 9110, 10.2.3); null for none, and for what
 * is neither. It has no bound.
 */
export function readRetryAfter({ headers }: Pick<HttpAnswer, 'headers'>, nowMs: number): number | null {
  const header = headers['retry-after']?.trim() ?? '';
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  // A bare negative number would be read as a year.
  const atMs = /[a-z]/i.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}

/** A response whose head arrived but whose body was not read to its end, and the failure. */
export type BegunAnswer = { status: number; body: Buffer };

type Outcome = HttpAnswer | ({ outcome: 'failed'; begun: BegunAnswer | null } & Failure);

/** What one exchange brought and how long it took; `certificate` is null without TLS. */
export type HttpExchange = Outcome & {
  /** Without `waitedMs`, in which the body waited for memory; a response that is not read waits for none. */
  durationMs: number;
  waitedMs: number;
  timings: Timings;
  certificate: Certificate | null;
};

/**
 * Sends one HTTP/1.1 request. Failures of the other side are values; it rejects only if our own machine lacks resources
 * (descriptors, ports, memory for bodies).
 */
export type HttpClient = (request: HttpRequest) => Promise<HttpExchange>;

const MAX_HEADER_BYTES = 64 * 1024;
const EMPTY = Buffer.alloc(0);

/** Of its deadline, the share that a body may wait for memory and a failure still be the target's. */
const LEAST_SHARE = 0.25;
/** Of its deadline, the share for which others may hold memory that a body waits for: less, so that its vote stays. */
const PATIENT_SHARE = 0.2;

/**
 * The most 1xx responses before the final one. Servers send two or three; an endless series would keep us busy until
 * the deadline.
 */
const MAX_INFORMATIONAL = 100;

/** How long a glimpse waits for the body, in milliseconds: most bodies come with the head. */
const GLIMPSE_MS = 300;

/**
 * `purpose`: names work that serves no single account; its bodies share one part of memory, whatever caused the
 * request.
 */
export type HttpClientOptions = { allowPrivateNetwork: boolean; purpose?: string };

/** The owner of bodies that neither serve a purpose nor belong to work of an account. */
const NO_ACCOUNT = 'nobody';

/** Opens the only way to the network; without `allowPrivateNetwork` it reaches public addresses only (D-30). */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  return createClient(options, openWithNode);
}

/**
 * Opens the same way for checks, by a client of our own that takes less CPU than Node's. Checks never use a connection
 * again: their requests have no `agent`.
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

/** Sends a request by Node's own client, which can keep connections for later requests. */
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
  opened.once('response', events.onAnswer);
  // A 101 is an answer like any other; the protocol that it opens is not spoken, so that it has no body.
  opened.once('upgrade', events.onAnswer);
  opened.on('information', events.onInformational);
  opened.on('error', events.onError);
  return opened.end(body);
}

/** A request under way: its socket, where it has one, and how to end it. */
type OpenedRequest = { socket: Socket | null; destroy: () => void };
type OpenRequest = (destination: Destination, request: HttpRequest, events: RequestEvents) => OpenedRequest;

type Settlement = { resolve: (exchange: HttpExchange) => void; reject: (error: Error) => void };

/** `account` is whose its body is. */
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
  /** Where the body stays counted once it is complete; undefined where it is not kept for long. */
  readonly #scope: BodyScope | undefined;
  readonly #account: string;
  /** Ends whatever is still open when the deadline passes. */
  #abandon: () => void = () => {};
  /** True where the body waits for memory or has long waited: then a failure is no fact about the target. */
  #hasWaited: () => boolean = () => false;
  /** State of a response whose body is being read. */
  #begun: () => BegunAnswer | null = () => null;
  /** The certificate with which verification failed. */
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
        onAnswer: (answer) => this.#receive(answer),
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

  #receive(response: ComingAnswer): void {
    const { bodyLimit, glimpseLimit } = this.#request;
    const { statusCode = 0, headers } = response;
    if (statusCode === 101) return this.#receiveHead(response);
    const limit = bodyLimit(statusCode, headers);
    if (limit > 0) return void this.#receiveBody(response, limit);
    const glimpsed = glimpseLimit?.(statusCode, headers) ?? 0;
    if (glimpsed > 0) this.#receiveGlimpse(response, glimpsed);
    else this.#receiveHead(response);
  }

  /** Completes the response with its head: the body can no longer change it. */
  #receiveGlimpse(response: ComingAnswer, limit: number): void {
    const { socket } = response;
    this.#markAnswer(socket);
    const withinMs = Math.max(0, Math.min(GLIMPSE_MS, this.#request.deadlineMs - this.#timeline.elapsedMs()));
    const glimpse = glimpseBody(response, { limit, withinMs }).finally(() => socket.destroy());
    this.#answer(response, { bytes: EMPTY, truncated: false }, glimpse);
  }

  #receiveHead(response: ComingAnswer): void {
    this.#markAnswer(response.socket);
    this.#answer(response, { bytes: EMPTY, truncated: false });
    response.socket.destroy();
  }

  async #receiveBody(response: ComingAnswer, limit: number): Promise<void> {
    // Once the response has ended, node detaches the socket of a connection that could be kept alive.
    const { socket } = response;
    this.#markAnswer(socket);
    const coming = readBody(response, { limit, decodes: this.#request.decodes ?? true, charge: () => charge });
    const charge = bodyBudget.open(this.#account, coming.giveUp, PATIENT_SHARE * this.#request.deadlineMs);
    this.#begun = () => ({ status: response.statusCode ?? 0, body: coming.soFar() });
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
    else this.#answer(response, body);
    const isReusable = this.#request.agent !== undefined && typeof body !== 'string' && !body.truncated;
    if (!isReusable) socket.destroy();
  }

  #markAnswer(socket: Socket): void {
    this.#timeline.markAnswer();
    if (socket instanceof TLSSocket) this.#certificate = readCertificate(socket);
  }

  #lose(error: Error, socket: Socket | null): void {
    // What no socket or parser has raised is a bug of ours.
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

  #answer(response: ComingAnswer, { bytes, truncated }: ResponseBody, glimpse?: Promise<Buffer>): void {
    this.#settle({
      outcome: 'answered',
      status: response.statusCode ?? 0,
      headers: response.headers,
      body: bytes,
      truncated,
      ...(glimpse && { glimpse }),
    });
  }

  #fail(failure: Failure): void {
    if (this.#hasWaited()) this.#rejectWith(new OutOfBodyMemory());
    else this.#settle({ outcome: 'failed', ...failure, begun: this.#begun() });
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
