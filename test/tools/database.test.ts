import test from 'ava';
import { createTestDatabase } from '../helpers/database.ts';
import { withClient } from '../helpers/with-client.ts';

const isThere = (databaseUrl: string): Promise<boolean> =>
  withClient(databaseUrl, (client) => client.query('SELECT 1')).then(
    () => true,
    () => false,
  );

test('test databases are migrated, isolated from each other, and dropped at the end', async (t) => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  await withClient(one.databaseUrl, (client) => client.query('CREATE TABLE mine (id int)'));
  const { rows } = await withClient(other.databaseUrl, (client) =>
    client.query(`SELECT to_regclass('mine') AS mine, to_regclass('schema_migrations')::text AS migrations`),
  );
  t.deepEqual(rows, [{ mine: null, migrations: 'schema_migrations' }]);
  await Promise.all([one.drop(), other.drop()]);
  t.false(await isThere(one.databaseUrl));
});
