import { Redis } from 'ioredis';
import { findKeptPort } from '../../tools/kept-port.ts';
import { startRedis, type RedisServer } from '../../tools/redis-server.ts';
import type { Harness } from './harness.ts';

/** A Redis for one test, which loses its data when stopped. */
export type OwnRedis = {
  url: string;
  stop: () => Promise<void>;
  start: () => Promise<void>;
  freeze: () => void;
  thaw: () => void;
  flush: () => Promise<void>;
  disconnectAll: () => Promise<void>;
};

/** Starts a Redis that stops with the test; null if redis-server is not installed. */
export async function startOwnRedis(t: Harness): Promise<OwnRedis | null> {
  const port = await findKeptPort();
  let server: RedisServer | null = await startRedis({ port });
  if (server === null) return null;
  const { url } = server;
  const signal = (name: NodeJS.Signals) => void (server !== null && process.kill(server.pid, name));
  const stop = async () => {
    signal('SIGCONT');
    await server?.stop();
    server = null;
  };
  t.teardown(stop);
  const ask = async (question: (client: Redis) => Promise<unknown>) => {
    const client = new Redis(url);
    await question(client);
    await client.quit();
  };
  return {
    url,
    stop,
    async start() {
      server = await startRedis({ port });
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    flush: () => ask((client) => client.flushall()),
    disconnectAll: () => ask((client) => client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')),
  };
}
