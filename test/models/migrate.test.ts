import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { withClient } from '../../cli/embedded-postgres/connection.ts';
import { migrate } from '../../models/migrate.ts';
import { listMigrationFiles, requireSchema } from '../../models/schema-state.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { openTestRuntime } from '../helpers/runtime.ts';
import { until } from '../helpers/until.ts';

/** A migration that changes tables in use, and what takes it back. */
const LAST = {
  name: '0012-order-and-quiet.sql',
  undo:
    'ALTER TABLE deliveries DROP COLUMN after_id; ALTER TABLE channels DROP COLUMN quiet_until; ALTER TABLE ' +
    'summary_changes DROP COLUMN sequence',
};

/** A migrated database of the test's own, and a connection to it. */
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

/** Migrates and returns what was said. */
async function migrated(databaseUrl: string): Promise<string[]> {
  const said: string[] = [];
  await migrate(databaseUrl, (text) => said.push(text));
  return said;
}

test('of several that migrate an empty database at once one does it all, and all of them find it done', async (t) => {
  const { databaseUrl, query } = await openMigrated(t);
  await query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  const names = (await listMigrationFiles()).map(({ name }) => `migration ${name}`);
  const said = await Promise.all([1, 2, 3].map(() => migrated(databaseUrl)));
  t.deepEqual(said.flat().toSorted(), names);
  t.deepEqual(await query('SELECT count(*)::int AS n, count(checksum)::int AS sums FROM schema_migrations'), [
    { n: names.length, sums: names.length },
  ]);
});

test('a migration that does not get its lock lets others through and comes again', async (t) => {
  const { databaseUrl, query, client } = await openMigrated(t);
  await query(`${LAST.undo}; DELETE FROM schema_migrations WHERE name = '${LAST.name}'`);
  await client.query('BEGIN; LOCK TABLE deliveries IN ACCESS SHARE MODE');
  const migrating = migrated(databaseUrl);
  const isWaiting = () =>
    withClient(
      databaseUrl,
      async (other) =>
        (await other.query(`SELECT FROM pg_locks WHERE NOT granted AND relation = 'deliveries'::regclass`)).rowCount ===
        1,
    );
  await until(isWaiting);
  const startedAt = performance.now();
  await withClient(databaseUrl, (other) => other.query(`SET lock_timeout = '5s'; SELECT count(*) FROM deliveries`));
  t.true(performance.now() - startedAt < 3000);
  await client.query('COMMIT');
  t.deepEqual(await migrating, [`migration ${LAST.name}`]);
  t.is(
    (await query(`SELECT FROM information_schema.columns WHERE table_name = 'deliveries' AND column_name = 'after_id'`))
      .length,
    1,
  );
});

test(
  'an applied migration whose text is another one now is refused by name; one of before there were checksums gets ' +
    'its own',
  async (t) => {
    const { databaseUrl, query } = await openMigrated(t);
    await query(`UPDATE schema_migrations SET checksum = NULL WHERE name = '${LAST.name}'`);
    t.deepEqual(await migrated(databaseUrl), []);
    t.deepEqual(await query('SELECT name FROM schema_migrations WHERE checksum IS NULL'), []);
    await query(`UPDATE schema_migrations SET checksum = 'other' WHERE name = '${LAST.name}'`);
    await t.throwsAsync(migrate(databaseUrl), {
      message:
        `The migration ${LAST.name} is not the one that was applied: put its text back, and write what is to change ` +
        'into a new one',
    });
  },
);

test('an older release runs on a newer schema and says so; if a migration is missing no process starts', async (t) => {
  const { databaseUrl, database } = await openTestRuntime(t);
  await database.pool.query(
    `INSERT INTO schema_migrations (name, checksum) VALUES ('9999-of-the-future.sql', 'unknown')`,
  );
  t.deepEqual(await migrated(databaseUrl), [
    'a newer release has applied 9999-of-the-future.sql, which this one does not know',
  ]);
  await t.notThrowsAsync(requireSchema(database));
  await database.pool.query(`DELETE FROM schema_migrations WHERE name LIKE '0013%'`);
  await t.throwsAsync(requireSchema(database), {
    message: `The database lacks 0013-accounting.sql: run the release's migrate first`,
  });
  await database.pool.query('DROP TABLE schema_migrations');
  await t.throwsAsync(requireSchema(database), {
    message: /^The database lacks 0001-accounts\.sql, .*: run the release's migrate first$/,
  });
});
