import { once } from 'node:events';
import http, { type RequestListener } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Server, type Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import type { Harness } from './harness.ts';

/** A server that closes, with all of its connections, when the test ends. */
export type TestServer = { port: number; connections: () => number };

/**
 * Keeps idle connections for longer than any test takes. With Node's five seconds, a process that stood still for that
 * long could send a request over a connection that its own server is just closing.
 */
export const LASTING_CONNECTIONS = { keepAliveTimeout: 600_000 };

/** Starts an http server on a free port of 127.0.0.1, or an https one if TLS options are given. */
export function startHttpServer(t: Harness, listener: RequestListener, secured?: TlsOptions): Promise<TestServer> {
  const server =
    secured === undefined
      ? http.createServer(LASTING_CONNECTIONS, listener)
      : https.createServer({ ...LASTING_CONNECTIONS, ...secured }, listener);
  return start(t, server);
}

/** Starts a TCP server, for responses that no http server would send. */
export function startRawServer(t: Harness, onSocket: (socket: Socket) => void): Promise<TestServer> {
  return start(t, net.createServer(onSocket));
}

async function start(t: Harness, server: Server): Promise<TestServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    // Many of these tests are about clients that disconnect early.
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}
