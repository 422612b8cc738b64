import { randomBytes } from 'node:crypto';
import { Pool, type ClientBase } from 'pg';
import { closeDatabase, openDatabase, type Database, type DatabaseOptions } from '../../models/database.ts';
import { migrate } from '../../models/migrate.ts';
import { createSecretBox } from '../../models/secrets/secret-box.ts';
import { inTransaction } from '../../models/sql.ts';
import { createPartitions } from '../../models/system/partitions.ts';
import { testServers } from './test-servers.ts';
import { PATIENCE_MS } from './with-client.ts';

export type TestDatabase = { databaseUrl: string; drop: () => Promise<void> };

const TEMPLATE = 'spotcheck_template';
const DRAFT = 'spotcheck_template_draft';
/** Any number that nothing else in the maintenance database locks. */
const TEMPLATE_LOCK = 4_071;

/**
 * Makes a database of the caller's own, with every migration applied and the partitions of these days; `drop` throws
 * out sessions that are still connected.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await inMaintenance(async (client) => {
    await ensureTemplate(client);
    // Takes half the time of copying by way of the write-ahead log, and the checkpoints that it needs cost nothing
    // without fsync.
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY FILE_COPY`);
  });
  const drop = () => inMaintenance((client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  return { databaseUrl: urlOf(name), drop };
}

let session: Pool | null = null;

/**
 * Runs statements in the session that makes and drops the databases of this process, once those of earlier calls are
 * done. It stays open, for opening one takes as long as copying a database, and keeps no process from ending.
 */
async function inMaintenance(work: (client: ClientBase) => Promise<unknown>): Promise<void> {
  session ??= openMaintenance();
  const client = await session.connect();
  await work(client).finally(() => client.release());
}

function openMaintenance(): Pool {
  const pool = new Pool({
    connectionString: urlOf('postgres'),
    max: 1,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
    connectionTimeoutMillis: PATIENCE_MS,
  });
  // The server was stopped: whoever comes next finds out.
  pool.on('error', () => undefined);
  return pool;
}

/** Opens a database, by default under a key of its own. */
export function openTestDatabase(databaseUrl: string, options: Partial<DatabaseOptions> = {}): Database {
  return openDatabase({
    databaseUrl,
    secrets: createSecretBox([{ id: 'test', key: randomBytes(32) }]),
    // A new session reads the catalogs first, which costs more than what most tests ask of it.
    poolSize: 3,
    acquireTimeoutMs: PATIENCE_MS,
    ...options,
  });
}

/**
 * Runs a statement that fills tables with many rows. Foreign keys are not checked, which takes longer than the rest of
 * it: the rows must refer to what is there.
 */
export async function fillTables(
  database: Pick<Database, 'pool'>,
  sql: string,
  values: readonly unknown[],
): Promise<void> {
  await inTransaction(database, async (run) => {
    await run(`SET LOCAL session_replication_role = 'replica'`);
    await run(sql, [...values]);
  });
}

/** Migrates once per run: the first test file makes the template under its draft name, the others wait for the lock. */
async function ensureTemplate(client: ClientBase): Promise<void> {
  await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [TEMPLATE]);
    if (rowCount !== 0) return;
    await client.query(`DROP DATABASE IF EXISTS ${DRAFT} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${DRAFT}`);
    await migrate(urlOf(DRAFT));
    // Once per run: for all others the queue's library is a fifth of what they load.
    const { migrateQueues } = await import('../../queues/migrate.ts');
    await migrateQueues(urlOf(DRAFT));
    await makePartitions(urlOf(DRAFT));
    await client.query(`ALTER DATABASE ${DRAFT} RENAME TO ${TEMPLATE}`);
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK]);
  }
}

/**
 * Makes the partitions of the days around this one, which nearly every test writes to. Made once here, they cost a copy
 * half of what making them costs.
 */
async function makePartitions(databaseUrl: string): Promise<void> {
  const database = openTestDatabase(databaseUrl);
  await createPartitions(database, Date.now());
  await closeDatabase(database);
}

function urlOf(database: string): string {
  const url = new URL(testServers().databaseUrl);
  url.pathname = `/${database}`;
  return url.href;
}
