import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { listMigrationFiles, migrate } from '../../models/migrate.ts';
import { readAllRows, readColumns } from '../helpers/all-rows.ts';
import { listOf } from '../helpers/api-client.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startService } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';

/**
 * A dump (`pg_dump --inserts`) of a database of the last release with 29 migrations. It holds an account whose three
 * monitors were checked for a minute, with incidents, a note, and deliveries to two receivers, one of which broke.
 */
const DUMP = new URL('before-the-one-schema.sql.gz', import.meta.url);

/** Settings with which that release was started. */
const TOKEN = `spk_${Buffer.alloc(24, 3).toString('base64url')}`;
const SECRET_KEYS = `k1:${Buffer.alloc(32, 7).toString('base64')}`;
const HEARTBEAT = { id: 'mon_01m842kmccjwe35vxr5yrafcp2', secret: 'e_wbGWcyVrAiOOnkrOaxk9e1' };

/**
 * Query for the schema's definition, one line per object. Partitions are omitted, and so is what a dump writes
 * differently (the conditions of triggers, names of NOT NULL).
 */
const SCHEMA = `
  WITH tables AS (
    SELECT oid, relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  )
  SELECT format('%s.%s %s %s %s %s %s', relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull,
           attidentity, pg_get_expr(adbin, adrelid)) AS line
    FROM tables JOIN pg_attribute a ON attrelid = oid AND attnum > 0
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  UNION ALL
  SELECT format('%s %s %s %s %s', c.relname, relkind, relpersistence, reloptions, pg_get_partkeydef(oid))
    FROM pg_class c JOIN tables USING (oid)
  UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN tables ON oid = indrelid
  UNION ALL
  SELECT format('%s %s %s', relname, conname, replace(pg_get_constraintdef(c.oid), ' NOT VALID', ''))
    FROM pg_constraint c JOIN tables t ON t.oid = conrelid WHERE contype <> 'n'
  UNION ALL
  SELECT format('%s %s %s %s %s', relname, tgname, tgtype, tgargs, tgfoid::regproc)
    FROM pg_trigger g JOIN tables t ON t.oid = tgrelid WHERE NOT tgisinternal
  UNION ALL
  SELECT regexp_replace(pg_get_functiondef(oid), '\\s+', '', 'g') FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace
  ORDER BY line`;

async function readSchema(databaseUrl: string): Promise<string[]> {
  return await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ line: string }>(SCHEMA);
    return rows.map(({ line }) => line);
  });
}

/** Restores the dump into a new database, and returns its URL. */
async function restoreDump(t: ExecutionContext): Promise<string> {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const dump = gunzipSync(await readFile(DUMP)).toString();
  await withClient(databaseUrl, (client) => client.query(`DROP SCHEMA public CASCADE; CREATE SCHEMA public; ${dump}`));
  return databaseUrl;
}

test('a database of the release before the single schema is migrated to it with all its rows', async (t) => {
  const databaseUrl = await restoreDump(t);
  const { databaseUrl: fresh, drop } = await createTestDatabase();
  t.teardown(drop);
  // Only existing columns are compared, because later migrations add some.
  const columns = await readColumns(databaseUrl);
  const before = await readAllRows(databaseUrl, columns);
  t.true(before.get('public.incidents')?.includes('HTTP 503 instead of 2xx'));

  await migrate(databaseUrl);

  const after = await readAllRows(databaseUrl, columns);
  for (const rows of [before, after]) rows.delete('public.schema_migrations');
  t.deepEqual(after, before);
  t.deepEqual(await readSchema(databaseUrl), await readSchema(fresh));
});

test('the service starts on a database of that release, and its account, monitors and incidents live on', async (t) => {
  const env = { DATABASE_URL: await restoreDump(t), SECRET_KEYS, ALLOW_PRIVATE_NETWORK: 'true' };
  const { url, call, program } = await startService(t, env, TOKEN);
  t.notRegex(program.output(), /newer release/);
  const [, ...later] = await listMigrationFiles();
  t.deepEqual(
    program.output().match(/migration \S+/g),
    later.map(({ name }) => `migration ${name}`),
  );

  const statusOf = async (id: string) => (await call('GET', `/monitors/${id}`)).json['status'];
  t.deepEqual(
    listOf(await call('GET', '/monitors'))
      .map(({ name }) => name)
      .toSorted(),
    ['Backup', 'Port', 'Shop'],
  );
  t.deepEqual(listOf(await call('GET', '/channels')).length, 3);
  t.is(await statusOf(HEARTBEAT.id), 'down');
  const shop = listOf(await call('GET', '/incidents')).find(({ reason }) => reason === 'HTTP 503 instead of 2xx');
  const incident = JSON.stringify((await call('GET', `/incidents/${String(shop?.['id'])}`)).json);
  t.true(incident.includes('A deploy went wrong'), incident);

  t.is((await fetch(`${url}/ping/${HEARTBEAT.id}.${HEARTBEAT.secret}`)).status, 200);
  await until(async () => (await statusOf(HEARTBEAT.id)) === 'up');
  t.pass();
});
