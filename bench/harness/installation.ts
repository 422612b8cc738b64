import { randomBytes } from 'node:crypto';
import { startEmbeddedPostgres } from '../../cli/embedded-postgres/start.ts';
import { closeDatabase, openDatabase, type Database } from '../../models/database.ts';
import { createSecretBox } from '../../models/secrets/secret-box.ts';
import { createPartitions } from '../../models/system/partitions.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import { cpuSecondsOf } from '../../test/helpers/process-tree.ts';
import { startProgram } from '../../test/helpers/program.ts';
import { postmasterPid } from '../../test/helpers/running-service.ts';
import { temporaryFolder } from '../../test/helpers/temporary-folder.ts';
import { startRedis } from '../../tools/redis-server.ts';

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
  /** Process ids of the servers, for measuring their CPU. */
  serverPids: number[];
};

/**
 * Starts PostgreSQL as `npm start` does, with every commit on disk, and Redis if the queues need it; migrates and
 * bootstraps.
 */
export async function startInstallation(harness: Harness, backend: Backend): Promise<Installation> {
  const dataDir = await temporaryFolder(harness);
  const postgres = await startEmbeddedPostgres({ dataDir, onProgress: () => undefined });
  harness.teardown(postgres.stop);
  const redis = backend === 'redis' ? await startRedis() : null;
  if (backend === 'redis' && redis === null) throw new Error('redis-server is not installed');
  if (redis !== null) harness.teardown(redis.stop);

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
  if ((await startProgram(harness, ['cli/spotcheck.ts', 'migrate'], env).exited) !== 0)
    throw new Error('The database could not be prepared');

  const database = openDatabase({
    databaseUrl: postgres.databaseUrl,
    secrets: createSecretBox([{ id: 'bench', key }]),
    poolSize: 10,
  });
  harness.teardown(() => closeDatabase(database));
  await createPartitions(database, Date.now());
  const { rows } = await database.pool.query<{ id: string }>('SELECT id FROM tenants');
  const postgresPid = await postmasterPid(dataDir);
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

/** Returns the CPU seconds that `work` takes in this process and in PostgreSQL. */
export async function cpuOf(
  { postgresPid }: Pick<Installation, 'postgresPid'>,
  work: () => Promise<void>,
): Promise<number> {
  const own = process.cpuUsage();
  const before = await cpuSecondsOf([postgresPid]);
  await work();
  const { user, system } = process.cpuUsage(own);
  return (user + system) / 1e6 + (await cpuSecondsOf([postgresPid])) - before;
}
