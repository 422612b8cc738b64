import { once } from 'node:events';
import { STATUS_CODES, type Server, type ServerResponse, createServer, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { IdPrefix } from '../../models/secrets/ids.ts';

/** Time limits for clients, in milliseconds. */
export type ConnectionLimits = {
  /** From the opening of a connection, or the end of its last request, to the end of the next one's headers. */
  headersMs: number;
  /** From the same moment to the end of the body. */
  requestMs: number;
  /** Without a byte in either direction, such as from a client that does not read its response. */
  silenceMs: number;
  /**
   * Between two requests. A load balancer that keeps connections for longer than this server would sometimes send into
   * one that is just closing.
   */
  idleMs: number;
  /** Interval of checking connections for the first two limits, in milliseconds. */
  connectionCheckMs: number;
};

/**
 * Stricter than Node's own limits (60 s, 300 s, none, 5 s, checked every 30 s). Those let a handful of slow clients
 * hold thousands of connections for minutes, and close idle ones before load balancers do, which usually keep them for
 * 60 s.
 */
const LIMITS: ConnectionLimits = {
  headersMs: 20_000,
  requestMs: 60_000,
  silenceMs: 60_000,
  idleMs: 75_000,
  connectionCheckMs: 2000,
};

/**
 * Connections that the system opens for a busy process; further ones are tried again after a second and more. With
 * Node's 511, that meets the jobs of many machines that ping at a full minute. Linux allows 4096 by default.
 */
export const LISTEN_BACKLOG = 4096;

/**
 * Makes an http server that disconnects slow clients and handles the requests of a connection one after the other. A
 * request without a Host header reaches the listener, whose response is better than the server's bare one.
 */
export function createLimitedServer(listener: RequestListener, limits = LIMITS): Server {
  const { headersMs, requestMs, idleMs, connectionCheckMs } = limits;
  const options = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: connectionCheckMs,
    requireHostHeader: false,
  };
  const server = createServer(options, inOrder(listener));
  server.setTimeout(limits.silenceMs);
  return server;
}

/**
 * Maximum number of requests of a connection that wait for earlier responses; with one more the connection is closed
 * (D-709).
 */
const MAX_PIPELINED = 16;

const pipelined = new WeakMap<Socket, number>();

/**
 * Handles a request once the earlier responses of its connection are sent. Otherwise its response would hold memory,
 * and its account's turn, until the client reads the others.
 */
function inOrder(listener: RequestListener): RequestListener {
  return (request, response) => {
    const { socket } = request;
    const waiting = pipelined.get(socket) ?? 0;
    if (response.socket !== null) listener(request, response);
    else if (waiting === MAX_PIPELINED) socket.destroy();
    else {
      pipelined.set(socket, waiting + 1);
      response.once('socket', () => {
        pipelined.set(socket, (pipelined.get(socket) ?? 1) - 1);
        listener(request, response);
      });
    }
  };
}

/** Time limit for running requests when the process stops, in milliseconds. */
const DRAIN_MS = 10_000;

/** Lets running requests finish, then closes the remaining connections. */
export async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const cutOff = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(cutOff);
}

type Refusal = { status: number; error: string };

const REFUSALS: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: { status: 431, error: 'the request line and the headers are too long' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'the request took too long to arrive' },
};
const NO_HTTP: Refusal = { status: 400, error: 'the request must be well-formed HTTP/1.1 with a known method' };
const NO_PROXY: Refusal = { status: 405, error: 'CONNECT is not allowed: this is not a proxy' };
const NO_PATH: Refusal = { status: 400, error: 'the target of the request must be a path, such as /v1/monitors' };
const NO_SUCH_EXPECTATION: Refusal = { status: 417, error: 'Expect must be 100-continue or absent' };

const METHODS = 'GET, HEAD, POST, PATCH, DELETE';

/**
 * Time that a refused client may go on sending before it is disconnected, in milliseconds. If disconnected at once, it
 * might lose the response; if never, it would keep its connection.
 */
const LINGER_MS = 1000;

type MakeId = (prefix: IdPrefix) => string;

/**
 * Responds in the same form (D-03) to requests that Node cannot parse, or would answer by itself: they never reach the
 * application.
 */
export function answerUnreadable(server: Server, makeId: MakeId): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else refuse(socket, REFUSALS[error.code ?? ''] ?? NO_HTTP, makeId);
  });
  server.on('connect', (_request, socket) => refuse(socket, NO_PROXY, makeId));
  server.on(
    'checkExpectation',
    inOrder((_request, response) => answer(response, NO_SUCH_EXPECTATION, makeId)),
  );
}

/**
 * Ends requests that the application does not handle: one whose target is not a path, such as `http://a:99999/`, or one
 * whose response was cut off.
 */
export function answerUnroutable(response: ServerResponse, makeId: MakeId): void {
  if (response.headersSent) response.destroy();
  else answer(response, NO_PATH, makeId);
}

function answer(response: ServerResponse, { status, error }: Refusal, makeId: MakeId): void {
  const { body, headers } = render(error, makeId);
  response.writeHead(status, headers).end(body);
}

function refuse(socket: Duplex, { status, error }: Refusal, makeId: MakeId): void {
  const { body, headers } = render(error, makeId);
  const lines = Object.entries(status === NO_PROXY.status ? { ...headers, Allow: METHODS } : headers).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  socket.resume();
  const cutOff = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.on('error', () => undefined).once('close', () => clearTimeout(cutOff));
}

function render(error: string, makeId: MakeId) {
  const id = makeId('req');
  const body = JSON.stringify({ error, request_id: id });
  return {
    body,
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      'X-Request-Id': id,
      Connection: 'close',
    },
  };
}
