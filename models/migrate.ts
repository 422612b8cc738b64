import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Client } from 'pg';
import type { Umzug, UmzugStorage } from 'umzug';
import { clientClass, refuseTransactionPooling } from '../postgres/client.ts';
import type { Database } from './database.ts';
import { sqlStateOf } from './sql.ts';

const FOLDER = fileURLToPath(new URL('migrations/', import.meta.url));

/** SQLSTATE of a missing table. */
const NO_TABLE = '42P01';

/** A migration in this release. */
type MigrationFile = { name: string; sql: string; checksum: string };

/** Lists the migrations of this release in the order in which they are applied. */
export async function listMigrationFiles(): Promise<MigrationFile[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).toSorted();
  return await Promise.all(
    names.map(async (name) => {
      const sql = await readFile(`${FOLDER}${name}`, 'utf8');
      return { name, sql, checksum: checksumOf(sql) };
    }),
  );
}

/** Returns the SHA-256 of a migration's text, in hex; line endings are ignored, because a checkout may change them. */
function checksumOf(sql: string): string {
  return createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex');
}

/**
 * Resolves if PostgreSQL responds and has all migrations of this release. Rejects with PostgreSQL's reason if it does
 * not respond, and with the remedy if some are missing. A newer schema is accepted: it supports the previous release as
 * well, so that old and new processes can run side by side.
 */
export async function requireSchema(database: Pick<Database, 'pool' | 'Client'>): Promise<void> {
  await refuseTransactionPooling(database.Client);
  const lack = await findSchemaLack(database);
  if (lack !== null) throw lack;
}

/** Returns an error with the migrations of this release that the database lacks, and the remedy; null if it has all. */
export async function findSchemaLack({ pool }: Pick<Database, 'pool'>): Promise<Error | null> {
  const { rows } = await pool
    .query<{ name: string }>('SELECT name FROM schema_migrations')
    .catch((error: Error & { code?: string }) => {
      if (error.code === NO_TABLE) return { rows: [] };
      throw error;
    });
  const applied = new Set(rows.map(({ name }) => name));
  const missing = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql') && !applied.has(name)).toSorted();
  return missing.length === 0
    ? null
    : new Error(`The database lacks ${missing.join(', ')}: run the release's migrate first`);
}

/** Arbitrary number that nothing else in the database locks; migrations of several processes wait for it. */
const MIGRATION_LOCK = 7_305_220;

/**
 * Time that a statement waits for its lock, in milliseconds. All later queries of the table wait behind it, so a
 * migration that does not get its lock steps back, lets the others through, and retries.
 */
const LOCK_TIMEOUT_MS = 1000;
const LOCK_PAUSE_MS = 1000;
const LOCK_ATTEMPTS = 60;

/**
 * The migrations that `0001-schema.sql` replaced: a database at the last of them has that schema (D-398). The ledger
 * keeps their names, which processes of the previous release look up.
 */
const BEFORE_THE_SCHEMA = (
  'accounts monitors history alerts domains vendor-pages heartbeats deliveries-by-channel first-looks agents ' +
  'alerts-people-rely-on order-and-quiet accounting telegram-updates console live-monitors live-incidents ' +
  'live-channels live-agents asked-checks processes audit-log behind set-aside overload bounded-stores ping-rates ' +
  'pings-in-vain sign-in-places'
)
  .split(' ')
  .map((name, index) => `${String(index + 1).padStart(4, '0')}-${name}.sql`);

/** SQLSTATEs of a lock timeout and of a deadlock. */
const HELD_BY_OTHERS: ReadonlySet<string | null> = new Set(['55P03', '40P01']);

/**
 * Migrates the schema: runs the SQL files of `migrations/` in order, each in its own transaction, under an advisory
 * lock. Forward only; running it again does nothing. `onProgress` receives one short line for each step, and for
 * migrations that only a newer release has: the schema is left as it is then. Throws PostgreSQL's error, and if the
 * text of an applied migration has changed, or the schema is older than `0001-schema.sql`.
 */
export async function migrate(databaseUrl: string, onProgress?: (text: string) => void): Promise<void> {
  const Connection = clientClass(databaseUrl, { application_name: 'spotcheck migrate' });
  await refuseTransactionPooling(Connection);
  const client = new Connection();
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await client.query(
      'CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL ' +
        'DEFAULT now(), checksum text)',
    );
    const files = await listMigrationFiles();
    await adoptSchema(client, files);
    const applied = await compareApplied(client, files, onProgress);
    // Most starts find nothing to do, and the migration package is slow to load.
    if (files.some(({ name }) => !applied.has(name))) await (await umzugOver(client, files, onProgress)).up();
  } finally {
    await client.end();
  }
}

/**
 * Records `0001-schema.sql` in the ledger of a database that has all previous migrations; throws if it has only some of
 * them. Any other database is left as it is.
 */
async function adoptSchema(client: Client, [schema]: readonly MigrationFile[]): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT name FROM schema_migrations WHERE name = ANY($1) ORDER BY name',
    [BEFORE_THE_SCHEMA],
  );
  const newest = rows.at(-1);
  if (schema === undefined || newest === undefined) return;
  if (rows.length < BEFORE_THE_SCHEMA.length)
    throw new Error(
      `The database is at ${newest.name}, which is too old for this release: run the migrate of the last release ` +
        `that has ${BEFORE_THE_SCHEMA.at(-1)} first, then this one`,
    );
  await client.query('INSERT INTO schema_migrations (name, checksum) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    schema.name,
    schema.checksum,
  ]);
}

/**
 * Compares the applied migrations with the files: otherwise two databases of one release could differ. Migrations from
 * before checksums get theirs. Returns the names of the applied ones.
 */
async function compareApplied(
  client: Client,
  files: readonly MigrationFile[],
  onProgress: ((text: string) => void) | undefined,
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string; checksum: string | null }>(
    'SELECT name, checksum FROM schema_migrations ORDER BY name',
  );
  for (const { name, checksum } of rows) {
    if (BEFORE_THE_SCHEMA.includes(name)) continue;
    const file = files.find((known) => known.name === name);
    if (file === undefined) onProgress?.(`a newer release has applied ${name}, which this one does not know`);
    else if (checksum === null)
      await client.query('UPDATE schema_migrations SET checksum = $2 WHERE name = $1', [name, file.checksum]);
    else if (checksum !== file.checksum)
      throw new Error(
        `The migration ${name} was changed after it was applied: restore its text, and put the change in a new ` +
          'migration',
      );
  }
  return new Set(rows.map(({ name }) => name));
}

async function umzugOver(
  client: Client,
  files: readonly MigrationFile[],
  onProgress: ((text: string) => void) | undefined,
): Promise<Umzug<Client>> {
  const { Umzug } = await import('umzug');
  return new Umzug({
    migrations: files.map((file) => ({
      name: file.name,
      up: async () => {
        onProgress?.(`migration ${file.name}`);
        await applyInTurn(client, file);
      },
    })),
    context: client,
    storage: ledgerOf(client),
    logger: undefined,
  });
}

/** Applies a migration, and retries while another session holds a lock; finally throws PostgreSQL's error. */
async function applyInTurn(client: Client, file: MigrationFile): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await applyInTransaction(client, file);
      return;
    } catch (error) {
      if (!HELD_BY_OTHERS.has(sqlStateOf(error)) || attempt === LOCK_ATTEMPTS) throw error;
      await delay(LOCK_PAUSE_MS);
    }
  }
}

/** The ledger row is written in the migration's own transaction, so that a crash leaves neither half done. */
async function applyInTransaction(client: Client, { name, sql, checksum }: MigrationFile): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query(sql);
    await client.query('INSERT INTO schema_migrations (name, checksum) VALUES ($1, $2)', [name, checksum]);
    await client.query('COMMIT');
  } catch (error) {
    // If the connection is lost, the original error is the one to report.
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

function ledgerOf(client: Client): UmzugStorage<Client> {
  return {
    logMigration: () => Promise.resolve(),
    unlogMigration: () => Promise.reject(new Error('Migrations only go forward')),
    executed: async () => {
      const { rows } = await client.query<{ name: string }>('SELECT name FROM schema_migrations ORDER BY name');
      return rows.map((row) => row.name);
    },
  };
}
