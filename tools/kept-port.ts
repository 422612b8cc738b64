import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that Linux gives to those that ask for any, which begin with 32768, and above well-known ones. */
const [FIRST, LAST] = [10_000, 29_999];

/**
 * Finds a port of 127.0.0.1 for a server that goes away and comes back on it: the system gives it to no other
 * meanwhile.
 */
export async function findKeptPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
