import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { Transform } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { ProxyServer } from 'httpxy';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { cellOfRequest } from '../core/accounts/cells.ts';
import { addCount } from '../core/bounded-map.ts';
import type { IdPrefix } from '../models/secrets/ids.ts';
import { cellCookie } from './accounts/session/cookie.ts';
import { ApiError, badRequest } from './api-error.ts';
import { clientAddress, networkOf } from './client-address.ts';
import { PING_PATH } from './heartbeats/pings.ts';
import { bearerTokenOf } from './middleware/authentication.ts';
import { errorResponse, onlyGet } from './middleware/error-response.ts';
import { basePathOf, cutBasePath, requestForm } from './middleware/request-form.ts';
import { assignRequestId, requestLog } from './middleware/request-log.ts';
import { addressOf, contextOf } from './request-context.ts';
import {
  LISTEN_BACKLOG,
  answerUnreadable,
  answerUnroutable,
  closeServer,
  createLimitedServer,
} from './system/unreadable-request.ts';

/** An independent installation behind the router; `url` is the origin of its API. */
type Cell = Readonly<{ name: string; url: string }>;

/** Limits of the router. */
export type CellRouterLimits = {
  /** Client connections; further ones are closed at once. */
  connections: number;
  /** Requests and streams in progress to one cell; further ones get 503. */
  requestsOfCell: number;
  /** Of these, those of one client network; further ones get 429, so that it cannot take the cell from others. */
  requestsOfNetwork: number;
  /** Bytes of a request body. */
  bodyBytes: number;
  /** Time until a cell accepts a connection, in milliseconds. */
  connectMs: number;
  /** Time without a byte from the cell, in milliseconds; its streams send one every 15 s. */
  silenceMs: number;
};

export type CellRouterOptions = {
  port: number;
  /** Null = all addresses of this machine. */
  host: string | null;
  /** The first gets requests that name no cell, or an unknown one. */
  cells: readonly Cell[];
  /** URL at which clients reach the router: its scheme determines the attributes of its cookie. */
  publicUrl: string;
  trustedProxies: readonly string[];
  metrics: Registry;
  logger: Logger;
  makeId: (prefix: IdPrefix) => string;
  limits?: CellRouterLimits;
};

/** A listening router. After `stop` it keeps serving for `graceMs`, while `/readyz` reports that it is stopping. */
type RunningCellRouter = { port: number; stop: (graceMs: number) => Promise<void> };

const LIMITS: CellRouterLimits = {
  connections: 10_000,
  requestsOfCell: 2000,
  requestsOfNetwork: 500,
  bodyBytes: 16 * 1_048_576,
  connectMs: 3000,
  silenceMs: 60_000,
};

/** Base path of the URLs by which a browser chooses its cell. */
const CELLS_PATH = '/cells';

/**
 * Hop-by-hop headers (RFC 9110, 7.6.1), and those by which a client could claim another address, host or scheme.
 * `Transfer-Encoding` is kept: it determines where the body ends.
 */
const NOT_PASSED_ON = [
  'connection',
  'expect',
  'forwarded',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
] as const;

/** Listens for the requests of all cells' clients; rejects if the port is taken. */
export async function serveCellRouter(options: CellRouterOptions): Promise<RunningCellRouter> {
  const { limits = LIMITS, makeId, port, host } = options;
  const stopping = new AbortController();
  const router = new CellRouter({ ...options, limits });
  const app = createRouterApp(options, router, stopping.signal);
  // Express accepts a callback for unhandled requests, as any middleware does, but its types lack it.
  const route = app as unknown as (request: IncomingMessage, response: Response, giveBack: () => void) => void;
  const server = createLimitedServer((request, response) => {
    if (stopping.signal.aborted) response.setHeader('Connection', 'close');
    route(request, response as Response, () => answerUnroutable(response, makeId));
  });
  server.maxConnections = limits.connections;
  answerUnreadable(server, makeId);
  server.listen({ port, backlog: LISTEN_BACKLOG, ...(host !== null && { host }) });
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async stop(graceMs) {
      stopping.abort();
      await delay(graceMs);
      await closeServer(server);
      router.close();
    },
  };
}

function createRouterApp(options: CellRouterOptions, router: CellRouter, stopping: AbortSignal): Express {
  const { metrics, publicUrl } = options;
  const cookie = cellCookie(publicUrl);
  const app = express();
  app.disable('x-powered-by');
  app.enable('case sensitive routing').enable('strict routing');
  app.use(cutBasePath(publicUrl), assignRequestId(options), clientAddress(options), requestLog(options), requestForm);
  const open: Record<string, RequestHandler> = {
    '/healthz': (_request, response) => void response.json({ status: 'ok' }),
    '/readyz': (_request, response) =>
      void response.status(stopping.aborted ? 503 : 200).json({ status: stopping.aborted ? 'stopping' : 'ready' }),
    '/metrics': async (_request, response) => void response.type(metrics.contentType).send(await metrics.metrics()),
    [`${CELLS_PATH}/:name`]: (request, response) => {
      const name = String(request.params['name']);
      if (!router.has(name)) throw new ApiError(404, 'there is no cell of this name');
      cookie.give(response, name);
      response.set('Cache-Control', 'no-store').redirect(303, `${basePathOf(publicUrl)}/`);
    },
  };
  for (const [path, handler] of Object.entries(open)) app.route(path).get(handler).all(onlyGet);
  app.use(async (request, response) => {
    const name = cellOfRequest({
      pingToken: pingTokenOf(request),
      bearerToken: bearerTokenOf(request),
      chosenCell: cookie.read(request),
    });
    await router.send(name, request, response);
  });
  app.use(errorResponse(options));
  return app;
}

/** Returns the token in the path of a ping as the cell reads it, undecoded; null for every other path. */
function pingTokenOf({ originalUrl }: Request): string | null {
  const [path = ''] = originalUrl.split('?', 1);
  return path.startsWith(`${PING_PATH}/`) ? (path.slice(PING_PATH.length + 1).split('/', 1)[0] ?? '') : null;
}

/** `ofNetworks` counts requests in progress by client network. */
type Upstream = Cell & { agent: Agent; underWay: number; ofNetworks: Map<string, number> };

/** The cells, with the requests in progress to each. */
class CellRouter {
  readonly #publicUrl: string;
  readonly #limits: CellRouterLimits;
  readonly #upstreams: ReadonlyMap<string, Upstream>;
  readonly #first: Upstream;
  readonly #proxy = new ProxyServer<Request, Response>();

  constructor({ cells, publicUrl, limits }: Pick<Required<CellRouterOptions>, 'cells' | 'publicUrl' | 'limits'>) {
    const upstreams = cells.map((cell): Upstream => ({
      ...cell,
      agent: agentFor(cell, limits),
      underWay: 0,
      ofNetworks: new Map(),
    }));
    const [first] = upstreams;
    if (first === undefined) throw new Error('The router needs at least one cell');
    this.#publicUrl = publicUrl;
    this.#limits = limits;
    this.#first = first;
    this.#upstreams = new Map(upstreams.map((upstream) => [upstream.name, upstream]));
    this.#proxy.on('proxyReq', (sent, _request, response) => giveUpInTime(sent, response, limits));
    this.#proxy.on('proxyRes', (answer, _request, response) => {
      // The connection from the cell is not the client's, which may have to close.
      answer.headers.connection = isLastOfConnection(response) ? 'close' : 'keep-alive';
      const context = contextOf(response);
      // The client gets the request id of the cell, which the cell's own log has too.
      const id = answer.headers['x-request-id'];
      if (typeof id === 'string') context.requestId = id;
      if (answer.headers['content-type']?.startsWith('text/event-stream') === true) context.isStream = true;
    });
  }

  has(name: string): boolean {
    return this.#upstreams.has(name);
  }

  /**
   * Forwards a request to the named cell and streams its response back. Throws 503 if the cell does not respond or has
   * too many requests in progress, 429 if the client has, and 413 if the body is too long.
   */
  async send(name: string | null, request: Request, response: Response): Promise<void> {
    const upstream = this.#upstreams.get(name ?? '') ?? this.#first;
    contextOf(response).route = `cell ${upstream.name}`;
    if (!request.originalUrl.startsWith('/')) throw new ApiError(404, 'there is no endpoint at this path');
    const address = addressOf(response);
    // A null address means that the client's connection is closed.
    if (address === null) return;
    if (Number(request.headers['content-length'] ?? 0) > this.#limits.bodyBytes) throw tooLong(this.#limits);
    this.#count(upstream, networkOf(address), response);
    for (const header of NOT_PASSED_ON) delete request.headers[header];
    const { body, refused } = limitedBody(request, this.#limits);
    request.headers.host ??= new URL(this.#publicUrl).host;
    // The cell strips the path of `PUBLIC_URL`, which this router has stripped already, so it is prepended again: a
    // path that is stripped twice could become another one.
    request.url = basePathOf(this.#publicUrl) + request.originalUrl;
    const sending = this.#proxy.web(request, response, {
      target: upstream.url,
      agent: upstream.agent,
      buffer: body,
      headers: { 'x-forwarded-for': address },
    });
    try {
      await Promise.race([sending, refused]);
    } catch (error) {
      sending.catch(() => undefined);
      if (response.destroyed || response.writableEnded) return;
      if (response.headersSent) response.destroy();
      else throw error instanceof ApiError ? error : unavailable(upstream, error);
    }
  }

  /** Counts a request as in progress until its response closes; throws if there are too many. */
  #count(upstream: Upstream, network: string, response: Response): void {
    const { requestsOfCell, requestsOfNetwork } = this.#limits;
    const { ofNetworks } = upstream;
    if ((ofNetworks.get(network) ?? 0) >= requestsOfNetwork) throw tooMany();
    if (upstream.underWay >= requestsOfCell) throw unavailable(upstream, new Error(`${requestsOfCell} are under way`));
    upstream.underWay += 1;
    addCount(ofNetworks, network, 1);
    response.once('close', () => {
      upstream.underWay -= 1;
      addCount(ofNetworks, network, -1);
    });
  }

  close(): void {
    for (const { agent } of this.#upstreams.values()) agent.destroy();
  }
}

/** Reports whether the client's connection ends with this response: the client asked for it, or the router stops. */
function isLastOfConnection(response: Response): boolean {
  return !response.shouldKeepAlive || response.getHeader('connection') === 'close';
}

/**
 * Idle time after which connections are closed, in milliseconds; shorter than that of cells, so that they never close
 * one first.
 */
const IDLE_MS = 60_000;

function agentFor({ url }: Cell, { requestsOfCell }: CellRouterLimits): Agent {
  const options = { keepAlive: true, maxSockets: requestsOfCell, maxFreeSockets: 256, timeout: IDLE_MS };
  return url.startsWith('https:') ? new TlsAgent(options) : new Agent(options);
}

/** Aborts a request to a cell that does not respond in time, or whose client has been answered or has disconnected. */
function giveUpInTime(sent: ClientRequest, response: Response, { connectMs, silenceMs }: CellRouterLimits): void {
  response.once('close', () => sent.destroy());
  sent.setTimeout(silenceMs, () => sent.destroy(new Error(`it sent nothing for ${silenceMs} ms`)));
  const { socket } = sent;
  if (socket?.connecting !== true) return;
  const timer = setTimeout(() => sent.destroy(new Error(`no connection within ${connectMs} ms`)), connectMs);
  const stopTimer = () => clearTimeout(timer);
  socket.once('connect', stopTimer).once('close', stopTimer);
}

/**
 * Streams a request's body. `refused` rejects if the body is too long, or no header tells where it ends: the cell would
 * read it as the next request. Older releases of Node drop headers after the first thousand.
 */
function limitedBody(request: Request, limits: CellRouterLimits): { body: Transform; refused: Promise<never> } {
  const { promise: refused, reject } = Promise.withResolvers<never>();
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  const hasEnd = length !== undefined || encoding !== undefined;
  let bytes = 0;
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (hasEnd && bytes <= limits.bodyBytes) return done(null, chunk);
      request.unpipe(body).resume();
      reject(hasEnd ? tooLong(limits) : badRequest('the body must have a Content-Length or a Transfer-Encoding'));
    },
  });
  return { body: request.pipe(body), refused };
}

function tooLong({ bodyBytes }: CellRouterLimits): ApiError {
  return new ApiError(413, `the body must be at most ${bodyBytes} bytes`);
}

function tooMany(): ApiError {
  const message = 'too many requests of this client are under way: wait for their answers';
  return new ApiError(429, message, { 'Retry-After': '5', Connection: 'close' });
}

/** Returns a 503 whose cause is for the operator's log. */
function unavailable({ name }: Cell, reason: unknown): ApiError {
  const error = new ApiError(503, 'the part of the service that holds this account does not answer: try again soon', {
    'Retry-After': '5',
  });
  const message = reason instanceof Error ? reason.message : String(reason);
  return Object.assign(error, { cause: new Error(`cell ${name}: ${message}`, { cause: reason }) });
}
