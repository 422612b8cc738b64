import test from 'ava';
import { closeDatabase } from '../../models/database.ts';
import { transactionOn } from '../../models/orm.ts';
import { inTransaction, runOn, sqlStateOf, withAdvisoryLock, withClient } from '../../models/sql.ts';
import { openTestDatabase } from '../helpers/database.ts';
import { openTestRuntime } from '../helpers/runtime.ts';
import { until } from '../helpers/until.ts';

const BACKEND = 'SELECT pg_backend_pid() AS pid';

test('a borrowed connection that breaks between statements fails its borrower, not the process', async (t) => {
  const { database } = await openTestRuntime(t);
  await t.throwsAsync(
    withClient(database, async (client) => {
      const { rows } = await client.query<{ pid: number }>(BACKEND);
      const gone = new Promise((resolve) => client.once('end', resolve));
      await database.pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
      await gone;
      await client.query('SELECT 1');
    }),
  );
  t.is((await database.pool.query('SELECT 1')).rowCount, 1);
});

test('a transaction that fails leaves neither rows nor locks behind', async (t) => {
  const { database, tenantId } = await openTestRuntime(t);
  const failed = inTransaction(database, async (run) => {
    await run(`UPDATE tenants SET name = 'changed' WHERE id = $1`, [tenantId]);
    throw new Error('half-way');
  });
  await t.throwsAsync(failed, { message: 'half-way' });
  const { rows } = await database.pool.query<{ name: string }>('SELECT name FROM tenants WHERE id = $1 FOR UPDATE', [
    tenantId,
  ]);
  t.is(rows[0]?.name, tenantId);
});

test('a connection survives a failed transaction, but not one that cannot be ended', async (t) => {
  const { databaseUrl } = await openTestRuntime(t);
  const database = openTestDatabase(databaseUrl, { poolSize: 1, queryTimeoutMs: 5000 });
  t.teardown(() => closeDatabase(database));
  const pidOf = async () => (await database.pool.query<{ pid: number }>(BACKEND)).rows[0]?.pid;
  const first = await pidOf();
  await t.throwsAsync(
    inTransaction(database, () => Promise.reject(new Error('refused'))),
    { message: 'refused' },
  );
  await t.throwsAsync(
    inTransaction(database, (run) => run('SELECT 1 / 0')),
    { code: '22012' },
  );
  t.is(await pidOf(), first);
  await t.throwsAsync(
    inTransaction(database, (run) => run('SELECT pg_sleep(30)')),
    { message: /timeout/ },
  );
  t.not(await pidOf(), first);
});

test('records and statements share a connection: a record joins a transaction and rolls back with it', async (t) => {
  const { databaseUrl, tenantId } = await openTestRuntime(t);
  const database = openTestDatabase(databaseUrl, { poolSize: 1 });
  t.teardown(() => closeDatabase(database));
  const nameOf = async () => (await database.records.tenants.findByPk(tenantId))?.name;
  const failed = inTransaction(database, async (run, client) => {
    await run(`UPDATE tenants SET name = 'changed' WHERE id = $1`, [tenantId]);
    const transaction = transactionOn(database, client);
    const record = await database.records.tenants.findByPk(tenantId, { transaction, rejectOnEmpty: true });
    t.is(record.name, 'changed');
    await record.update({ plan: 'solo' }, { transaction });
    t.is((await run<{ plan: string }>('SELECT plan FROM tenants WHERE id = $1', [tenantId]))[0]?.plan, 'solo');
    throw new Error('half-way');
  });
  await t.throwsAsync(failed, { message: 'half-way' });
  t.is(await nameOf(), tenantId);
  t.is(database.pool.totalCount, 1);
});

test('a connection that breaks during an ORM statement is replaced', async (t) => {
  const { databaseUrl, tenantId } = await openTestRuntime(t);
  const database = openTestDatabase(databaseUrl, { poolSize: 1 });
  t.teardown(() => closeDatabase(database));
  await t.throwsAsync(database.orm.query('SELECT pg_terminate_backend(pg_backend_pid())'));
  await until(() => database.records.tenants.findByPk(tenantId).then(Boolean, () => false));
  t.is(database.pool.totalCount, 1);
});

test('only one of two callers gets an advisory lock, which is released after a failure', async (t) => {
  const { database } = await openTestRuntime(t);
  const inner = await withAdvisoryLock(database, 'chore', async () => [
    await withAdvisoryLock(database, 'chore', () => Promise.resolve('done twice')),
  ]);
  t.deepEqual(inner, [null]);
  await t.throwsAsync(
    withAdvisoryLock(database, 'chore', () => Promise.reject(new Error('failed'))),
    { message: 'failed' },
  );
  t.is(await withAdvisoryLock(database, 'chore', () => Promise.resolve('done')), 'done');
});

test('a statement that is the victim of a deadlock is run three times at most, outside transactions', async (t) => {
  const { database } = await openTestRuntime(t);
  const { pool } = database;
  await pool.query('CREATE SEQUENCE tries');
  // A sequence counts also what is rolled back.
  await pool.query(`CREATE FUNCTION deadlock_before(last integer) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE try bigint := nextval('tries');
    BEGIN IF try < last THEN RAISE EXCEPTION 'victim' USING ERRCODE = 'deadlock_detected'; END IF; RETURN try; END $$`);
  const counted = async (last: number, run = runOn(pool)) => {
    await pool.query('ALTER SEQUENCE tries RESTART');
    const outcome = await run<{ try: number }>('SELECT deadlock_before($1) AS try', [last]).catch(sqlStateOf);
    return { outcome, tries: Number((await pool.query('SELECT last_value FROM tries')).rows[0]?.last_value) };
  };
  t.deepEqual(await counted(3), { outcome: [{ try: 3 }], tries: 3 });
  t.deepEqual(await counted(4), { outcome: '40P01', tries: 3 });
  t.deepEqual(await withClient(database, (client) => counted(3, runOn(client))), { outcome: '40P01', tries: 1 });
});
