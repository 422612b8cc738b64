import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Harness } from '../../bench/harness/harness.ts';

/** A link to a server that can be slow or lose data; for a TCP stream loss is a stall, and finally a reset. */
export type Link = {
  port: number;
  /** Delays everything by this much in both directions from now on; 0 = no delay. */
  slow: (delayMs: number) => void;
  /** Lets nothing through any more, without closing connections. */
  stall: () => void;
  /** Resets the connections, and accepts new ones. */
  reset: () => void;
};

/** Opens a link to a port of 127.0.0.1. */
export async function layLink(harness: Harness, serverPort: number): Promise<Link> {
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
      // Later chunks never overtake earlier ones, not even when the link becomes fast in between.
      freeAtMs = atMs;
      setTimeout(() => to.writable && to.write(chunk), atMs - nowMs);
    });
    from.on('end', () => setTimeout(() => to.end(), Math.max(0, freeAtMs - performance.now()) + 1));
  };

  const server = createServer((inner) => {
    const outer = connect(serverPort, '127.0.0.1');
    for (const [socket, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      // Broken connections are what this is for. Who is killed at one end is gone at the other one, too.
      socket
        .on('error', () => other.destroy())
        .once('close', () => {
          sockets.delete(socket);
          if (!state.isStalled) other.destroySoon();
        });
      pass(socket, other);
      if (state.isStalled) socket.pause();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  const drop = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  harness.defer(async () => {
    const closed = once(server, 'close');
    server.close();
    drop();
    await closed;
  });
  return {
    port: (server.address() as AddressInfo).port,
    slow(delayMs) {
      state.delayMs = delayMs;
    },
    stall() {
      state.isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    reset() {
      state.isStalled = false;
      drop();
    },
  };
}

/** The same URL with another port of 127.0.0.1. */
export function byWayOf(url: string, { port }: Pick<Link, 'port'>): string {
  return Object.assign(new URL(url), { hostname: '127.0.0.1', port: `${port}` }).href;
}
