import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findFreePort } from '../cli/embedded-postgres/start.ts';
import { startRedis, type RedisServer } from './redis-server.ts';

/** A Redis with a replica, watched by three sentinels, for tests; `url` contains everything that a client needs. */
export type WatchedRedis = {
  url: string;
  /** Kills the master as kill -9 does; the sentinels promote the replica once two of them miss it for a second. */
  killMaster: () => Promise<void>;
  /** Makes the sentinels promote the replica by an orderly failover. */
  failOver: () => Promise<void>;
  /** Returns the port of the master, according to the sentinels. */
  findMaster: () => Promise<number>;
  stop: () => Promise<void>;
};

const NAME = 'queues';
const SENTINELS = 3;
const QUORUM = 2;

/** Time limit for the sentinels to discover each other and the replica, in milliseconds. */
const AGREED_WITHIN_MS = 60_000;

/** Starts all five with different passwords for servers and sentinels; null if redis-server is not installed. */
export async function startWatchedRedis(
  folder: string,
  { password, sentinelPassword }: { password: string; sentinelPassword: string },
): Promise<WatchedRedis | null> {
  const started: RedisServer[] = [];
  const clients: Redis[] = [];
  const stop = async () => {
    for (const client of clients) client.disconnect();
    await Promise.all(started.map((server) => server.stop('SIGKILL')));
  };
  const start = async (kind: Parameters<typeof startRedis>[0]) => {
    const server = await startRedis(kind);
    if (server !== null) started.push(server);
    return server;
  };
  const login = ['--requirepass', password, '--masterauth', password, '--repl-diskless-sync-delay', '0'];
  const master = await start({ args: login });
  if (master === null) return null;
  const replica = await start({ args: [...login, '--replicaof', '127.0.0.1', `${master.port}`] });
  const sentinelPorts: number[] = [];
  for (let number = 0; number < SENTINELS; number += 1) {
    const port = await findFreePort();
    const own = join(folder, `sentinel-${port}`);
    await mkdir(own, { recursive: true });
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `requirepass "${sentinelPassword}"`,
      `sentinel sentinel-pass "${sentinelPassword}"`,
      `sentinel monitor ${NAME} 127.0.0.1 ${master.port} ${QUORUM}`,
      `sentinel auth-pass ${NAME} "${password}"`,
      `sentinel down-after-milliseconds ${NAME} 1000`,
      `sentinel failover-timeout ${NAME} 10000`,
    ];
    await writeFile(join(own, 'sentinel.conf'), `${lines.join('\n')}\n`);
    await start({ port, args: ['sentinel.conf', '--sentinel'], folder: own, isSentinel: true });
    sentinelPorts.push(port);
    const client = new Redis({ port, host: '127.0.0.1', password: sentinelPassword });
    // Stopping a client while it connects raises an 'error' event, which is harmless.
    client.on('error', () => undefined);
    clients.push(client);
  }
  const [first] = clients;
  if (first === undefined || replica === null) throw new Error('there are no sentinels');
  const findMaster = async () =>
    Number(((await first.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as string[])[1]);
  for (const client of clients) await untilAgreed(client);
  const addresses = sentinelPorts.map((port) => `127.0.0.1:${port}`);
  const parameters = `name=${NAME}&sentinel_password=${encodeURIComponent(sentinelPassword)}`;
  return {
    url: `redis+sentinel://:${encodeURIComponent(password)}@${addresses.join(',')}/0?${parameters}`,
    async killMaster() {
      const port = await findMaster();
      const index = started.findIndex((server) => server.port === port);
      await started.splice(index, 1)[0]?.stop('SIGKILL');
    },
    async failOver() {
      await first.call('SENTINEL', 'FAILOVER', NAME);
    },
    findMaster,
    stop,
  };
}

/** Waits until the sentinels have discovered each other, which happens through the master every two seconds. */
async function untilAgreed(client: Redis): Promise<void> {
  for (const deadline = Date.now() + AGREED_WITHIN_MS; ; await delay(100)) {
    const state = (await client.call('SENTINEL', 'MASTER', NAME)) as string[];
    const valueOf = (field: string) => Number(state[state.indexOf(field) + 1]);
    if (valueOf('num-slaves') >= 1 && valueOf('num-other-sentinels') >= SENTINELS - 1) return;
    if (Date.now() > deadline) throw new Error(`the sentinels did not agree: ${state.join(' ')}`);
  }
}
