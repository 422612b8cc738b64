import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { canConnect } from '../../cli/embedded-postgres/connection.ts';
import { startEmbeddedPostgres } from '../../cli/embedded-postgres/start.ts';
import { withConnection } from '../../postgres/client.ts';
import type { BoundedDisk } from '../../test/helpers/bounded-disk.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import { childrenOf } from '../../test/helpers/process-tree.ts';
import { postmasterPid } from '../../test/helpers/running-service.ts';
import type { SettableClock } from '../../test/helpers/set-clock.ts';
import { until } from '../../test/helpers/until.ts';
import { startRedisCluster, type RedisCluster } from '../../tools/redis-cluster.ts';
import { startRedis, type RedisServer } from '../../tools/redis-server.ts';
import { MASTERS, type RedisKind } from './faults.ts';

/** PostgreSQL and Redis of one run, and the faults that they support. */
export type Servers = {
  databaseUrl: string;
  redisUrl: string;
  /** Stops PostgreSQL; hard = without a checkpoint, so that it recovers. Resolves when it works again. */
  stopPostgres: (isHard: boolean) => Promise<void>;
  freezePostgres: () => Promise<void>;
  thawPostgres: () => Promise<void>;
  /**
   * Fills PostgreSQL's disk for the given milliseconds; resolves when writes succeed again. Only for a disk that can be
   * filled.
   */
  fillDisk: (forMs: number) => Promise<void>;
  /** Restarts Redis, which loses its data. */
  stopRedis: () => Promise<void>;
  startRedis: () => Promise<void>;
  freezeRedis: () => void;
  thawRedis: () => void;
  flushRedis: () => Promise<void>;
  /** The Cluster, if Redis is one. */
  cluster: RedisCluster | null;
  /** Returns the index of one of the present masters. */
  findRedisMaster: (number: number) => Promise<number>;
};

/** Longest restart with crash recovery on a busy disk, in milliseconds. */
const BACK_WITHIN_MS = 60_000;

/** Time after which nodes of a Cluster consider one of them dead, in milliseconds. */
const NODE_TIMEOUT_MS = 3000;

/** Interval at which freed space is filled again, in milliseconds. */
const FILL_EVERY_MS = 200;

/** Basis of the servers: PostgreSQL's folder and clock, the kind of Redis, and a disk that can be filled. */
export type ServerOptions = {
  folder: string;
  /** Folder of PostgreSQL's log: the disk is gone after the run. */
  logs: string;
  clock: SettableClock | undefined;
  kind: RedisKind;
  disk: BoundedDisk | null;
};

/**
 * Starts both servers. PostgreSQL commits to the disk, which is in memory if it can be filled. Throws if redis-server
 * is not installed.
 */
export async function startServers(
  harness: Harness,
  { folder, logs, clock, kind, disk }: ServerOptions,
): Promise<Servers> {
  const postgres = await startEmbeddedPostgres({ dataDir: folder, onProgress: () => undefined, env: clock?.env ?? {} });
  // PostgreSQL logs lock waits.
  await withConnection(postgres.databaseUrl, async (client) => {
    await client.query('ALTER SYSTEM SET log_lock_waits = on');
    await client.query('SELECT pg_reload_conf()');
  });
  const cluster =
    kind === 'cluster'
      ? await startRedisCluster(`${folder}-redis`, {
          masters: MASTERS,
          replicas: MASTERS,
          nodeTimeoutMs: NODE_TIMEOUT_MS,
        })
      : null;
  if (cluster !== null) harness.teardown(cluster.stop);
  let redis: RedisServer | null = kind === 'server' ? await startRedis() : null;
  harness.teardown(async () => {
    await signalPostgres('SIGCONT');
    await postgres.stop();
    await copyFile(join(folder, 'postgres.log'), join(logs, 'postgres.log'));
  });
  const redisUrl = cluster?.urls.join(',') ?? redis?.url;
  if (redisUrl === undefined) throw new Error('redis-server is not installed');
  const signalRedis = (signal: NodeJS.Signals) => void (redis !== null && process.kill(redis.pid, signal));
  const stopRedis = async () => {
    signalRedis('SIGCONT');
    await redis?.stop();
    redis = null;
  };
  harness.teardown(stopRedis);

  const signalPostgres = async (signal: NodeJS.Signals): Promise<void> => {
    const pid = await postmasterPid(folder).catch(() => null);
    if (pid === null) return;
    // Sessions lead process groups of their own, which a signal to the postmaster's group does not reach. The
    // postmaster comes first: it must not start another process while its own are being stopped.
    for (const each of [pid, ...(await childrenOf(pid))]) signalOne(each, signal);
  };

  return {
    databaseUrl: postgres.databaseUrl,
    redisUrl,
    async stopPostgres(isHard) {
      const pid = await postmasterPid(folder);
      process.kill(pid, isHard ? 'SIGQUIT' : 'SIGINT');
      await until(
        async () => (await postmasterPid(folder).catch(() => pid)) !== pid && (await canConnect(postgres.databaseUrl)),
        { timeoutMs: BACK_WITHIN_MS, intervalMs: 100 },
      );
    },
    freezePostgres: () => signalPostgres('SIGSTOP'),
    thawPostgres: () => signalPostgres('SIGCONT'),
    async fillDisk(forMs) {
      const untilMs = performance.now() + forMs;
      while (performance.now() < untilMs) {
        await disk?.fill();
        await delay(FILL_EVERY_MS);
      }
      await disk?.free();
      await until(() => canStore(postgres.databaseUrl), { timeoutMs: BACK_WITHIN_MS, intervalMs: 100 });
    },
    stopRedis,
    async startRedis() {
      redis = await startRedis({ port: Number(new URL(redisUrl).port) });
    },
    freezeRedis: () => signalRedis('SIGSTOP'),
    thawRedis: () => signalRedis('SIGCONT'),
    cluster,
    async findRedisMaster(number) {
      const masters = (await cluster?.listMasters()) ?? [];
      return masters.toSorted((a, b) => a - b)[number % masters.length] ?? 0;
    },
    async flushRedis() {
      if (cluster !== null) return await cluster.flush();
      const client = new Redis(redisUrl);
      await client.flushall();
      await client.quit();
    },
  };
}

function canStore(databaseUrl: string): Promise<boolean> {
  return withConnection(databaseUrl, (client) =>
    client.query('CREATE TEMPORARY TABLE stored AS SELECT generate_series(1, 10000)'),
  ).then(
    () => true,
    () => false,
  );
}

/** Signals a process, which may have ended meanwhile. */
function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
