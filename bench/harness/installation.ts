import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../cli/embedded-postgres/start.ts';
import { closeDatabase, openDatabase, type Database } from '../../models/database.ts';
import { createSecretBox } from '../../models/secrets/secret-box.ts';
import { createPartitions } from '../../models/system/partitions.ts';
import { startRedis } from '../../tools/redis-server.ts';
import type { Harness } from './harness.ts';
import { startProgram } from './program.ts';

export const BACKENDS = ['redis', 'postgres'] as const;
export type Backend = (typeof BACKENDS)[number];

/** Servers with a first tenant, and the environment that our programs need to run on them. */
export type Installation = {
  databaseUrl: string;
  redisUrls: string[];
  database: Database;
  tenantId: string;
  token: string;
  env: Record<string, string>;
  postgresPid: number;
  /** The process ids of the servers, to measure their CPU. */
  serverPids: number[];
};

/** Makes a directory that is removed after the benchmark. */
export async function newDirectory(harness: Harness): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'spotcheck-bench-'));
  harness.defer(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }));
  return directory;
}

/**
 * Starts PostgreSQL as `npm start` does, with every commit on disk, and Redis if the queues need it; migrates and
 * bootstraps.
 */
export async function startInstallation(harness: Harness, backend: Backend): Promise<Installation> {
  const dataDir = await newDirectory(harness);
  const postgres = await startEmbeddedPostgres({ dataDir, onProgress: () => undefined });
  harness.defer(postgres.stop);
  const redis = backend === 'redis' ? await startRedis() : null;
  if (backend === 'redis' && redis === null) throw new Error('redis-server is not installed');
  if (redis !== null) harness.defer(redis.stop);

  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const key = randomBytes(32);
  const env = {
    DATABASE_URL: postgres.databaseUrl,
    ...(redis !== null && { REDIS_URL: redis.url }),
    SECRET_KEYS: `bench:${key.toString('base64')}`,
    BOOTSTRAP_TOKEN: token,
    ALLOW_PRIVATE_NETWORK: 'true',
    PLAN_COUNT_LIMITS: 'false',
  };
  const [status] = (await startProgram(harness, ['cli/spotcheck.ts', 'migrate'], env).exited) as [number];
  if (status !== 0) throw new Error('The database could not be prepared');

  const database = openDatabase({
    databaseUrl: postgres.databaseUrl,
    secrets: createSecretBox([{ id: 'bench', key }]),
    poolSize: 10,
  });
  harness.defer(() => closeDatabase(database));
  await createPartitions(database, Date.now());
  const { rows } = await database.pool.query<{ id: string }>('SELECT id FROM tenants');
  const postgresPid = Number(
    (await readFile(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8')).split('\n')[0],
  );
  return {
    databaseUrl: postgres.databaseUrl,
    redisUrls: redis === null ? [] : [redis.url],
    database,
    tenantId: rows[0]?.id ?? '',
    token,
    env,
    postgresPid,
    serverPids: [postgresPid, ...(redis === null ? [] : [redis.pid])],
  };
}
