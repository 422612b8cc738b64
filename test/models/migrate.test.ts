import { cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { listMigrationFiles, migrate, requireSchema } from '../../models/migrate.ts';
import { migrateQueues } from '../../queues/migrate.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { ROOT } from '../helpers/program.ts';
import { openTestRuntime } from '../helpers/runtime.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';

const SCHEMA = '0001-schema.sql';

/** A migration of the next release that alters a table in use. */
const NEXT = { name: '9999-next.sql', sql: 'ALTER TABLE deliveries ADD COLUMN of_the_next_release text;\n' };

/** Returns the next release's migrate: this release's sources with one more migration. */
async function nextRelease(t: ExecutionContext): Promise<typeof migrate> {
  const folder = await temporaryFolder(t);
  for (const name of ['core', 'models', 'postgres', 'package.json'])
    await cp(join(ROOT, name), join(folder, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'models/migrations', NEXT.name), NEXT.sql);
  const next: { migrate: typeof migrate } = await import(join(folder, 'models/migrate.ts'));
  return next.migrate;
}

/** Creates a migrated database, and opens a connection to it. */
async function openMigrated(t: ExecutionContext) {
  const { databaseUrl, drop } = await createTestDatabase();
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  t.teardown(async () => {
    await client.end();
    await drop();
  });
  return { databaseUrl, client, query: async (sql: string) => (await client.query(sql)).rows };
}

/** Migrates, with this release by default, and returns the progress messages. */
async function migrated(databaseUrl: string, migrateAs = migrate): Promise<string[]> {
  const said: string[] = [];
  await migrateAs(databaseUrl, (text) => said.push(text));
  return said;
}

test('of concurrent migrations of an empty database one does it all, and all succeed', async (t) => {
  const { databaseUrl, query } = await openMigrated(t);
  await query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  const names = (await listMigrationFiles()).map(({ name }) => `migration ${name}`);
  const said = await Promise.all([1, 2, 3].map(() => migrated(databaseUrl)));
  t.deepEqual(said.flat().toSorted(), names);
  t.deepEqual(await query('SELECT count(*)::int AS n, count(checksum)::int AS sums FROM schema_migrations'), [
    { n: names.length, sums: names.length },
  ]);
});

test('a migration that cannot get its lock lets other statements through and retries', async (t) => {
  const [{ databaseUrl, query, client }, migrateNext] = await Promise.all([openMigrated(t), nextRelease(t)]);
  await client.query('BEGIN; LOCK TABLE deliveries IN ACCESS SHARE MODE');
  const migrating = migrated(databaseUrl, migrateNext);
  const isWaiting = () =>
    withClient(
      databaseUrl,
      async (other) =>
        (await other.query(`SELECT FROM pg_locks WHERE NOT granted AND relation = 'deliveries'::regclass`)).rowCount ===
        1,
    );
  await until(isWaiting);
  // Behind a waiting lock, this statement would wait for the test's own transaction forever.
  await withClient(databaseUrl, (other) => other.query(`SET lock_timeout = '60s'; SELECT count(*) FROM deliveries`));
  await client.query('COMMIT');
  t.deepEqual(await migrating, [`migration ${NEXT.name}`]);
  t.is((await query(`SELECT FROM information_schema.columns WHERE column_name = 'of_the_next_release'`)).length, 1);
});

test('while a dump reads every table, a migrate with nothing to do does not wait', async (t) => {
  const { databaseUrl, client, query } = await openMigrated(t);
  const [{ database, tables }] = await query(
    `SELECT current_database() AS database, string_agg(format('%I.%I', schemaname, tablename), ', ') AS tables
     FROM pg_tables WHERE schemaname IN ('public', 'bullmq')`,
  );
  await client.query(`ALTER DATABASE ${database} SET lock_timeout = '1s'`);
  await client.query(`BEGIN; LOCK TABLE ${tables} IN ACCESS SHARE MODE`);
  t.deepEqual(await migrated(databaseUrl), []);
  await t.notThrowsAsync(migrateQueues(databaseUrl));
});

test('an applied migration that was changed is refused by name; one without a checksum gets its own', async (t) => {
  const { databaseUrl, query } = await openMigrated(t);
  await query(`UPDATE schema_migrations SET checksum = NULL WHERE name = '${SCHEMA}'`);
  t.deepEqual(await migrated(databaseUrl), []);
  t.deepEqual(await query('SELECT name FROM schema_migrations WHERE checksum IS NULL'), []);
  await query(`UPDATE schema_migrations SET checksum = 'other' WHERE name = '${SCHEMA}'`);
  await t.throwsAsync(migrate(databaseUrl), {
    message:
      `The migration ${SCHEMA} was changed after it was applied: restore its text, and put the change in a new ` +
      'migration',
  });
});

test('an older release accepts a newer schema with a notice; no process starts without a migration', async (t) => {
  const { databaseUrl, database } = await openTestRuntime(t);
  await database.pool.query(
    `INSERT INTO schema_migrations (name, checksum) VALUES ('9999-of-the-future.sql', 'unknown')`,
  );
  t.deepEqual(await migrated(databaseUrl), [
    'a newer release has applied 9999-of-the-future.sql, which this one does not know',
  ]);
  await t.notThrowsAsync(requireSchema(database));
  const lacks = (names: readonly string[]) => ({
    message: `The database lacks ${names.join(', ')}: run the release's migrate first`,
  });
  await database.pool.query('DELETE FROM schema_migrations WHERE name = $1', [SCHEMA]);
  await t.throwsAsync(requireSchema(database), lacks([SCHEMA]));
  await database.pool.query('DROP TABLE schema_migrations');
  await t.throwsAsync(requireSchema(database), lacks((await listMigrationFiles()).map(({ name }) => name)));
});

/** Ledger of the releases before the single schema, with some of their migrations. */
const LEDGER_BEFORE = (names: readonly string[]) => `
  DROP TABLE schema_migrations;
  CREATE TABLE schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now(), checksum text);
  INSERT INTO schema_migrations (name, checksum) VALUES ${names.map((name) => `('${name}', 'theirs')`).join(', ')}`;

test('a database older than the last migration before the single schema is refused with the remedy', async (t) => {
  const { databaseUrl, query } = await openMigrated(t);
  await query(LEDGER_BEFORE(['0001-accounts.sql', '0002-monitors.sql']));
  await t.throwsAsync(migrate(databaseUrl), {
    message:
      'The database is at 0002-monitors.sql, which is too old for this release: run the migrate of the last release ' +
      'that has 0029-sign-in-places.sql first, then this one',
  });
  t.deepEqual(await query('SELECT name FROM schema_migrations ORDER BY name'), [
    { name: '0001-accounts.sql' },
    { name: '0002-monitors.sql' },
  ]);
});
