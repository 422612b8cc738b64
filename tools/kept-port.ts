import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that Linux gives to those that ask for any, which begin with 32768, and above well-known ones. */
const [FIRST, LAST] = [10_000, 29_999];

/**
 * Finds a TCP port of 127.0.0.1 for a server that goes away and comes back on it: the system gives it to no other
 * meanwhile. Nor is it found by another process as long as this one runs, which holds the UDP port of that number.
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
