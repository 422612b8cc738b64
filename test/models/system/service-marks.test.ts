import test, { type ExecutionContext } from 'ava';
import { closeDatabase } from '../../../models/database.ts';
import { createWriteProof } from '../../../models/system/service-marks.ts';
import { createTestDatabase, openTestDatabase } from '../../helpers/database.ts';
import { until } from '../../helpers/until.ts';
import { withClient } from '../../helpers/with-client.ts';

/**
 * Creates a database, with a function that changes a setting for all new connections, and a count of the statements
 * sent.
 */
async function stage(t: ExecutionContext) {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const name = new URL(databaseUrl).pathname.slice(1);
  const statements = { sent: 0 };
  const open = () => {
    const database = openTestDatabase(databaseUrl, { acquireTimeoutMs: 500 });
    t.teardown(() => closeDatabase(database));
    const query = database.pool.query.bind(database.pool);
    database.pool.query = ((...given: Parameters<typeof query>) => {
      statements.sent += 1;
      return query(...given);
    }) as typeof query;
    return createWriteProof(database);
  };
  return {
    open,
    statements,
    set: (setting: string) =>
      withClient(databaseUrl, (client) => client.query(`ALTER DATABASE ${name} SET ${setting}`)),
  };
}

test('the write check sends at most one statement a second, however often it is called', async (t) => {
  const { open, statements } = await stage(t);
  const isStoring = open();
  const startedAt = performance.now();
  let calls = 0;
  await until(async () => {
    const roundAt = performance.now();
    const answers = await Promise.all(Array.from({ length: 50 }, () => isStoring()));
    calls += 50;
    t.true(answers.every(Boolean) || performance.now() - roundAt >= 450, 'false only if PostgreSQL is slow');
    return answers.every(Boolean) && performance.now() - startedAt > 1500;
  });
  t.true(
    statements.sent <= 1 + (performance.now() - startedAt) / 1000,
    `${statements.sent} statements for ${calls} calls`,
  );
});

test('a read-only or full server fails the write check, which still sends one statement a second', async (t) => {
  for (const refusal of ['default_transaction_read_only = on', 'temp_file_limit = 0']) {
    const { open, statements, set } = await stage(t);
    await set(refusal);
    const isStoring = open();
    const startedAt = performance.now();
    for (let round = 0; round < 3; round += 1)
      t.deepEqual(await Promise.all([isStoring(), isStoring()]), [false, false], refusal);
    t.is(statements.sent, 3);
    t.true(performance.now() - startedAt > 1900);
  }
});
