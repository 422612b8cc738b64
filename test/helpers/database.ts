import { randomBytes } from 'node:crypto';
import { Pool, type ClientBase } from 'pg';
import { closeDatabase, openDatabase, type Database, type DatabaseOptions } from '../../models/database.ts';
import { migrate } from '../../models/migrate.ts';
import { createSecretBox } from '../../models/secrets/secret-box.ts';
import { inTransaction, sqlStateOf } from '../../models/sql.ts';
import { createPartitions } from '../../models/system/partitions.ts';
import type { Harness } from './harness.ts';
import { testServers } from './test-servers.ts';
import { until } from './until.ts';
import { PATIENCE_MS } from './with-client.ts';

/** SQL: lists the statements of this test's database that wait for a lock. */
export const WAITING = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;

export type TestDatabase = { databaseUrl: string; drop: () => Promise<void> };

const OBJECT_IN_USE = '55006';

const TEMPLATE = 'spotcheck_template';
const DRAFT = 'spotcheck_template_draft';
/** Any number that no other code locks in the maintenance database. */
const TEMPLATE_LOCK = 4_071;

/**
 * Creates a database with every migration applied and the partitions around today; `drop` terminates remaining
 * sessions.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await inMaintenance(async (client) => {
    await ensureTemplate(client);
    // This takes half the time of a copy through the write-ahead log; the checkpoints that it needs are free without
    // fsync.
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY FILE_COPY`);
  });
  // PostgreSQL waits five seconds for the ends of the sessions that it terminates.
  const drop = () => inMaintenance((client) => until(() => isDropped(client, name)));
  return { databaseUrl: urlOf(name), drop };
}

/** Drops a database; false if a session of it has not ended in time. */
async function isDropped(client: ClientBase, name: string): Promise<boolean> {
  try {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    return true;
  } catch (error) {
    if (sqlStateOf(error) === OBJECT_IN_USE) return false;
    throw error;
  }
}

let session: Pool | null = null;

/**
 * Runs statements in the session that creates and drops this process's databases, after those of earlier calls. The
 * session stays open, because opening one takes as long as copying a database, but does not keep the process alive.
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
  // The server was stopped: the next statement fails and reports it.
  pool.on('error', () => undefined);
  return pool;
}

/** Opens a database, by default with a random key. */
export function openTestDatabase(databaseUrl: string, options: Partial<DatabaseOptions> = {}): Database {
  return openDatabase({
    databaseUrl,
    secrets: createSecretBox([{ id: 'test', key: randomBytes(32) }]),
    // A new session first reads the catalogs, which costs more than the queries of most tests.
    poolSize: 3,
    acquireTimeoutMs: PATIENCE_MS,
    ...options,
  });
}

/**
 * Runs a statement that inserts many rows. It skips foreign key checks, which take longer than the rest, so the rows
 * must refer to existing ones.
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

/** Records the statements that go through the pool itself, outside of transactions, with their values. */
export function recordStatements(t: Pick<Harness, 'teardown'>, { pool }: Pick<Database, 'pool'>): unknown[][] {
  const statements: unknown[][] = [];
  const { query } = pool;
  pool.query = ((...statement: unknown[]) => {
    statements.push(statement);
    return Reflect.apply(query, pool, statement);
  }) as typeof query;
  t.teardown(() => void (pool.query = query));
  return statements;
}

/**
 * Migrates once per run: the first test file creates the template under its draft name, the others wait for the lock.
 */
async function ensureTemplate(client: ClientBase): Promise<void> {
  await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [TEMPLATE]);
    if (rowCount !== 0) return;
    await client.query(`DROP DATABASE IF EXISTS ${DRAFT} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${DRAFT}`);
    await migrate(urlOf(DRAFT));
    // Imported only here, once per run: in other test files the queue library would be a fifth of the loaded code.
    const { migrateQueues } = await import('../../queues/migrate.ts');
    await migrateQueues(urlOf(DRAFT));
    await makePartitions(urlOf(DRAFT));
    await client.query(`ALTER DATABASE ${DRAFT} RENAME TO ${TEMPLATE}`);
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK]);
  }
}

/**
 * Creates the partitions of the days around today, which nearly every test writes to. As part of the template they cost
 * half of creating them each time.
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
