import test, { type ExecutionContext } from 'ava';
import { bootstrap } from '../../cli/commands/accounts.ts';
import { findTokenHolders } from '../../models/accounts/api-tokens.ts';
import { createTenant, listTenants } from '../../models/accounts/tenants.ts';
import { findUserByEmail } from '../../models/accounts/users.ts';
import { closeDatabase, type Database } from '../../models/database.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import { verifyPassword } from '../../models/secrets/password.ts';
import { recordFirstStartOver } from '../../models/system/service-marks.ts';
import { createTestDatabase, openTestDatabase } from '../helpers/database.ts';

const newId = createIdSource();
const NOW_MS = Date.now();

async function emptyInstallation(t: ExecutionContext): Promise<Database> {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const database = openTestDatabase(databaseUrl);
  t.teardown(() => closeDatabase(database));
  return database;
}

/** Performs a first start that is killed before it can print its credentials. */
const startInVain = (database: Database, given: { token?: string; password?: string } = {}) =>
  bootstrap(database, { newId, nowMs: NOW_MS, token: given.token ?? null, password: given.password ?? null });

const start: typeof startInVain = async (database, given) => {
  const made = await startInVain(database, given);
  await recordFirstStartOver(database, NOW_MS);
  return made;
};

test('the first start creates an account, a user and a token, and prints only generated credentials', async (t) => {
  const made = await start(await emptyInstallation(t));
  t.regex(made?.token ?? '', /^spk_/);
  t.true((made?.password ?? '').length >= 12);
  t.deepEqual(await start(await emptyInstallation(t), { token: 'spk_given', password: 'given' }), {
    token: null,
    email: 'admin@localhost',
    password: null,
  });
  t.like(await start(await emptyInstallation(t), { password: 'given' }), { password: null });
});

test('later starts create nothing, even with the user deleted, token revoked and account renamed', async (t) => {
  const database = await emptyInstallation(t);
  await start(database, { token: 'spk_given' });
  await database.pool.query(`DELETE FROM users`);
  await database.pool.query(`UPDATE api_tokens SET revoked_at = 1`);
  await database.pool.query(`UPDATE tenants SET name = 'renamed'`);
  for (const token of ['spk_given', 'spk_another']) t.is(await start(database, { token, password: 'given' }), null);
  t.is(await findUserByEmail(database, 'admin@localhost'), null);
  t.deepEqual(await findTokenHolders(database, ['spk_given', 'spk_another'], NOW_MS), [null, null]);
  t.is((await listTenants(database)).length, 1);
});

test('an installation that already has an account has no first start', async (t) => {
  const database = await emptyInstallation(t);
  await createTenant(database, { id: newId('ten'), name: 'default', plan: 'pro', nowMs: NOW_MS, author: null });
  t.is(await start(database, { token: 'spk_given' }), null);
  t.is(await findUserByEmail(database, 'admin@localhost'), null);
});

test('a first start killed at any point is completed by the next, even with its token revoked', async (t) => {
  for (const { lost, token } of [
    { lost: ['DELETE FROM users', 'DELETE FROM api_tokens', 'DELETE FROM tenants'], token: 'spk_given' },
    { lost: ['DELETE FROM users', 'DELETE FROM api_tokens'], token: 'spk_given' },
    { lost: ['DELETE FROM users', 'UPDATE api_tokens SET revoked_at = 1'], token: 'spk_given' },
  ]) {
    const database = await emptyInstallation(t);
    await start(database, { token });
    for (const statement of lost) await database.pool.query(statement);
    await database.pool.query(`UPDATE service_marks SET at = 0 WHERE name = 'first start'`);
    t.like(await start(database, { token }), { email: 'admin@localhost' });
    t.like(await findUserByEmail(database, 'admin@localhost'), { isOperator: true, role: 'owner' });
    t.is((await listTenants(database)).length, 1);
    t.is(await start(database, { token }), null);
  }
});

test('after a killed first start the next one generates new credentials, and both tokens stay valid', async (t) => {
  const database = await emptyInstallation(t);
  const lost = await startInVain(database);
  const made = await start(database);
  // The first token may have been printed just before the kill, so both stay valid.
  for (const each of [lost, made])
    t.like(await findTokenHolders(database, [each?.token ?? ''], NOW_MS), [{ tokenName: 'first start' }]);
  const user = await findUserByEmail(database, 'admin@localhost');
  const opens = (password = '') => verifyPassword(password, user?.passwordHash ?? '');
  t.false(await opens(lost?.password ?? ''));
  t.true(await opens(made?.password ?? ''));
  const { rows } = await database.pool.query(
    'SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM tenants WHERE name = $1) AS tenants',
    ['default'],
  );
  t.deepEqual(rows, [{ users: 1, tenants: 1 }]);
  t.is(await start(database), null);
});

test('after 12 killed first starts the last one has a valid token', async (t) => {
  const database = await emptyInstallation(t);
  const made: Awaited<ReturnType<typeof startInVain>>[] = [];
  for (let times = 0; times < 12; times += 1) made.push(await startInVain(database));
  t.like(await findTokenHolders(database, [made.at(-1)?.token ?? ''], NOW_MS), [{ tokenName: 'first start' }]);
});

test('a first start with a given token and password prints nothing and is complete at once', async (t) => {
  const database = await emptyInstallation(t);
  t.like(await startInVain(database, { token: 'spk_given', password: 'given' }), { token: null, password: null });
  t.is(await startInVain(database, { token: 'spk_given', password: 'given' }), null);
});

test('after the first user has signed in, a repeated first start changes nothing', async (t) => {
  const database = await emptyInstallation(t);
  await startInVain(database, { token: 'spk_given' });
  await database.pool.query('UPDATE users SET last_signed_in_at = 1');
  t.is(await startInVain(database), null);
  await database.pool.query('UPDATE users SET last_signed_in_at = NULL');
  t.is(await startInVain(database), null, 'nor does a later start');
});
