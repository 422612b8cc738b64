import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Range of ports above the well-known ones and below those that Linux assigns by default, from 32768 on. */
const [FIRST, LAST] = [10_000, 29_999];

/**
 * Finds a TCP port of 127.0.0.1 for a server that stops and restarts on it: meanwhile the system assigns it to no
 * other. While this process runs it holds the UDP port of the same number, so that no other process finds the port
 * either.
 */
export async function findKeptPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    const hold = createSocket('udp4').bind({ port, address: '127.0.0.1', exclusive: true });
    const server = createServer().listen(port, '127.0.0.1');
    const outcomes = await Promise.allSettled([once(hold, 'listening'), once(server, 'listening')]);
    if (server.listening) await new Promise((resolve) => server.close(resolve));
    if (outcomes.every(({ status }) => status === 'fulfilled')) {
      hold.unref();
      return port;
    }
    hold.close();
  }
}
