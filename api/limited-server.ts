import { createServer, type RequestListener, type Server } from 'node:http';

/** How long clients may take, in milliseconds. */
export type ConnectionLimits = {
  /** From the first moment of a connection, or the end of its last request, to the end of the next one's headers. */
  headersMs: number;
  /** To the end of its body. */
  requestMs: number;
  /** Without a byte in either direction, such as by a client that does not read its answer. */
  silenceMs: number;
  /**
   * Between two requests. A load balancer that keeps connections for longer than we do would now and then send into one
   * that we are just closing.
   */
  idleMs: number;
  /** How often connections are checked for the first two, in milliseconds. */
  connectionCheckMs: number;
};

/**
 * Node's own limits (60 s, 300 s, none, 5 s, looked at every 30 s) let a handful of slow clients hold thousands of
 * connections for minutes, and close idle ones before load balancers do, which mostly keep them for 60 s.
 */
const LIMITS: ConnectionLimits = {
  headersMs: 20_000,
  requestMs: 60_000,
  silenceMs: 60_000,
  idleMs: 75_000,
  connectionCheckMs: 2000,
};

/**
 * Makes an http server that cuts slow clients off. A request without a Host header reaches the listener, which has a
 * better answer than the server's bare one.
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
  const server = createServer(options, listener);
  server.setTimeout(limits.silenceMs);
  return server;
}
