import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { refuseTransactionPooling } from '../postgres/pooling.ts';
import type { Database } from './database.ts';

const FOLDER = fileURLToPath(new URL('migrations/', import.meta.url));

/** SQLSTATE of a table that is not there. */
const NO_TABLE = '42P01';

/** A migration that this release brings. */
export type MigrationFile = { name: string; sql: string; checksum: string };

/** The migrations of this release in the order in which they are applied. */
export async function listMigrationFiles(): Promise<MigrationFile[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).toSorted();
  return await Promise.all(
    names.map(async (name) => {
      const sql = await readFile(`${FOLDER}${name}`, 'utf8');
      return { name, sql, checksum: checksumOf(sql) };
    }),
  );
}

/** SHA-256 of a migration's text, in hex; how its lines end does not count, which a checkout may change. */
function checksumOf(sql: string): string {
  return createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex');
}

/**
 * Resolves when PostgreSQL answers and has all migrations of this release. Rejects with its reason where it does not
 * answer, and with the remedy where some are missing. A newer schema is as good: it serves the release before as well,
 * or old and new processes could not run side by side.
 */
export async function requireSchema(database: Pick<Database, 'pool' | 'Client'>): Promise<void> {
  await refuseTransactionPooling(database.Client);
  const { rows } = await database.pool
    .query<{ name: string }>('SELECT name FROM schema_migrations')
    .catch((error: Error & { code?: string }) => {
      if (error.code === NO_TABLE) return { rows: [] };
      throw error;
    });
  const applied = new Set(rows.map(({ name }) => name));
  const missing = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql') && !applied.has(name)).toSorted();
  if (missing.length > 0) throw new Error(`The database lacks ${missing.join(', ')}: run the release's migrate first`);
}
