import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { findKeptPort } from '../../tools/kept-port.ts';
import type { Harness } from './harness.ts';

/** A link to a server that can be slowed, cut, or made to lose data (a stall for a TCP stream, and finally a reset). */
export type Link = {
  port: number;
  /** The server's URL with the link's port. */
  url: string;
  /** Delays all data by this time in both directions from now on; 0 = no delay. */
  slow: (delayMs: number) => void;
  /** Stops all data without closing connections. */
  stall: () => void;
  /** Resets the connections, and accepts new ones. */
  reset: () => void;
  /** Closes the connections, and refuses new ones. */
  cut: () => Promise<void>;
  /** Undoes `stall` and `cut`; stalled connections are reset. */
  mend: () => Promise<void>;
};

/** Opens a link to the server of a URL. */
export async function layLink(harness: Harness, serverUrl: string): Promise<Link> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const state = { delayMs: 0, isStalled: false };

  const pass = (from: Socket, to: Socket): void => {
    let freeAtMs = 0;
    from.on('data', (chunk) => {
      const nowMs = performance.now();
      const atMs = Math.max(freeAtMs, nowMs + state.delayMs);
      if (state.delayMs === 0 && freeAtMs <= nowMs) {
        if (to.write(chunk)) return;
        from.pause();
        to.once('drain', () => state.isStalled || from.resume());
        return;
      }
      // Later chunks never overtake earlier ones, even if the link becomes faster in between.
      freeAtMs = atMs;
      setTimeout(() => to.writable && to.write(chunk), atMs - nowMs);
    });
    from.on('end', () => setTimeout(() => to.end(), Math.max(0, freeAtMs - performance.now()) + 1));
  };

  const server = createServer((inner) => {
    const outer = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      // Broken connections are expected. A side that was killed closes the other one as well.
      socket
        .on('error', () => other.destroy())
        .once('close', () => {
          sockets.delete(socket);
          if (!state.isStalled) other.destroySoon();
        });
      pass(socket, other);
      if (state.isStalled) socket.pause();
    }
  });
  const port = await findKeptPort();
  const listen = async (): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen();

  const drop = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const reset = (): void => {
    state.isStalled = false;
    drop();
  };
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    drop();
    await closed;
  };
  harness.teardown(cut);
  return {
    port,
    url: Object.assign(new URL(target), { hostname: '127.0.0.1', port: `${port}` }).href,
    slow(delayMs) {
      state.delayMs = delayMs;
    },
    stall() {
      state.isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    reset,
    cut,
    async mend() {
      reset();
      if (!server.listening) await listen();
    },
  };
}
