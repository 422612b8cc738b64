import test from 'ava';
import { closeDatabase } from '../../models/database.ts';
import { transactionOn } from '../../models/orm.ts';
import { createBatched, inTransaction, withAdvisoryLock, withClient } from '../../models/sql.ts';
import { openTestDatabase } from '../helpers/database.ts';
import { openTestRuntime } from '../helpers/runtime.ts';
import { until } from '../helpers/until.ts';

const BACKEND = 'SELECT pg_backend_pid() AS pid';

test('a lent connection that breaks between two statements costs its borrower an error, not the process', async (t) => {
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

test('a connection outlives the refusal of a transaction, and not a transaction that cannot be ended', async (t) => {
  const { databaseUrl } = await openTestRuntime(t);
  const database = openTestDatabase(databaseUrl, { poolSize: 1, queryTimeoutMs: 2000 });
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

test('records and statements share one connection: a record joins a transaction and rolls back with it', async (t) => {
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

test('a connection that breaks under a statement of the ORM makes place for another', async (t) => {
  const { databaseUrl, tenantId } = await openTestRuntime(t);
  const database = openTestDatabase(databaseUrl, { poolSize: 1 });
  t.teardown(() => closeDatabase(database));
  await t.throwsAsync(database.orm.query('SELECT pg_terminate_backend(pg_backend_pid())'));
  await until(() => database.records.tenants.findByPk(tenantId).then(Boolean, () => false));
  t.is(database.pool.totalCount, 1);
});

test('of two that want a lock one does its work, and it is free again after a failure', async (t) => {
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

test('a call that comes alone goes out at once, and its answer is its own', async (t) => {
  const batches: number[][] = [];
  const double = createBatched<number, number>((items) => {
    batches.push(items);
    return Promise.resolve(items.map((item) => 2 * item));
  });
  const first = double(1);
  t.deepEqual(batches, [[1]]);
  t.is(await first, 2);
  t.is(await double(2), 4);
  t.deepEqual(batches, [[1], [2]]);
});

test('what comes while a statement is under way goes out together as soon as it is back, in order', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = [1, 2, 3].map((item) => batched(item));
  t.deepEqual(batches, [[1]]);
  answers[0]?.resolve([10]);
  t.is(await calls[0], 10);
  await until(() => batches.length === 2, { intervalMs: 1 });
  t.deepEqual(batches, [[1], [2, 3]]);
  answers[1]?.resolve([20, 30]);
  t.deepEqual(await Promise.all(calls), [10, 20, 30]);
});

test('no caller waits for long for a statement that hangs', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = [1, 2].map((item) => batched(item));
  await until(() => batches.length === 2);
  answers[1]?.resolve([20]);
  t.is(await calls[1], 20);
  const third = batched(3);
  await until(() => answers.length === 3);
  answers[2]?.resolve([30]);
  answers[0]?.resolve([10]);
  t.deepEqual(await Promise.all([calls[0], third]), [10, 30]);
  t.deepEqual(batches, [[1], [2], [3]]);
});

test('a statement takes two hundred calls at most', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = Array.from({ length: 301 }, (_, item) => batched(item));
  for (let sent = 0; sent < 3; sent += 1) {
    const items = await until(() => batches[sent], { intervalMs: 1 });
    answers[sent]?.resolve(items);
  }
  t.deepEqual(
    await Promise.all(calls),
    Array.from({ length: 301 }, (_, item) => item),
  );
  t.deepEqual(
    batches.map(({ length }) => length),
    [1, 200, 100],
  );
});

test('a statement that fails fails its own calls, and the next ones go out', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = [1, 2, 3].map((item) => batched(item));
  answers[0]?.reject(new Error('connection lost'));
  await t.throwsAsync(calls[0] ?? Promise.resolve(), { message: 'connection lost' });
  await until(() => batches.length === 2, { intervalMs: 1 });
  answers[1]?.resolve([20, 30]);
  t.deepEqual(await Promise.all(calls.slice(1)), [20, 30]);
});

/** Returns a batcher whose batches the test answers. */
function prepare() {
  const batches: number[][] = [];
  const answers: PromiseWithResolvers<number[]>[] = [];
  const batched = createBatched<number, number>((items) => {
    batches.push(items);
    const answer = Promise.withResolvers<number[]>();
    answers.push(answer);
    return answer.promise;
  });
  return { batched, batches, answers };
}
