import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { Umzug, type UmzugStorage } from 'umzug';

/** Any number that nothing else in the database locks; migrations of several processes queue up behind it. */
const MIGRATION_LOCK = 7_305_220;

/**
 * Brings the schema up to date: the SQL files of `migrations/` in order, each in a transaction of its own, under an advisory lock.
 * Forward only; running it again does nothing. `onProgress` hears one short line for each step. Throws what PostgreSQL refused.
 */
export async function migrate(databaseUrl: string, onProgress?: (text: string) => void): Promise<void> {
  const client = new Client({ connectionString: databaseUrl, application_name: 'spotcheck migrate' });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await client.query('CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())');
    await umzugOver(client, onProgress).up();
  } finally {
    await client.end();
  }
}

function umzugOver(client: Client, onProgress: ((text: string) => void) | undefined): Umzug<Client> {
  return new Umzug({
    migrations: {
      glob: ['migrations/*.sql', { cwd: fileURLToPath(new URL('.', import.meta.url)) }],
      resolve: ({ name, path = '' }) => ({
        name,
        up: async () => {
          onProgress?.(`migration ${name}`);
          await applyInTransaction(client, name, await readFile(path, 'utf8'));
        },
      }),
    },
    context: client,
    storage: ledgerOf(client),
    logger: undefined,
  });
}

/** The ledger row is written in the migration's own transaction, so that a crash leaves neither half done. */
async function applyInTransaction(client: Client, name: string, sql: string): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(sql);
    await client.query('INSERT INTO schema_migrations (name) VALUES ($1)', [name]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
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
