import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Harness } from './harness.ts';

/**
 * A way to a server that can be cut (connections refused), frozen (nothing gets through, nobody is notified) and
 * mended.
 */
export type Wire = { url: string; cut: () => Promise<void>; freeze: () => void; mend: () => Promise<void> };

/** Lays a wire to the server of a URL; `url` is the same with the wire's address. */
export async function layWire(t: Harness, serverUrl: string): Promise<Wire> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const drop = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const listen = async (port: number): Promise<Server> => {
    const server = createServer((inner) => {
      const outer = connect(Number(target.port), target.hostname);
      for (const socket of [inner, outer]) {
        sockets.add(socket);
        // A cut wire is what this is for.
        socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
        if (isFrozen) socket.pause();
      }
      if (!isFrozen) inner.pipe(outer).pipe(inner);
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server = await listen(0);
  const { port } = server.address() as AddressInfo;
  const url = Object.assign(new URL(serverUrl), { hostname: '127.0.0.1', port: `${port}` }).href;
  const cut = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    drop();
    await closed;
  };
  t.teardown(cut);
  return {
    url,
    cut,
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    async mend() {
      isFrozen = false;
      // What was frozen has lost its place in the conversation and cannot go on.
      drop();
      if (!server.listening) server = await listen(port);
    },
  };
}
