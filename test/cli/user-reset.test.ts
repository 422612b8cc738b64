import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { listAuditLog } from '../../models/accounts/audit-log.ts';
import {
  beginSecondFactor,
  confirmSecondFactor,
  countRecoveryCodes,
  findSecondFactor,
} from '../../models/accounts/second-factor.ts';
import {
  createSession,
  findSessionHolder,
  generateSessionSecret,
  listSessions,
} from '../../models/accounts/sessions.ts';
import { createTenant } from '../../models/accounts/tenants.ts';
import type { User } from '../../models/accounts/user-row.ts';
import { createUser, findUserByEmail, resetAccess } from '../../models/accounts/users.ts';
import { closeDatabase, openDatabase } from '../../models/database.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import { verifyPassword } from '../../models/secrets/password.ts';
import { createSecretBox } from '../../models/secrets/secret-box.ts';
import { hostCommands } from '../helpers/command.ts';
import { createTestDatabase } from '../helpers/database.ts';

const NOW_MS = Date.now();
const runHosted = hostCommands(test);

/**
 * Opens a test database with two users, both signed in and with a second factor. The commands `user reset` and `user
 * operator` run on it.
 */
async function open(t: ExecutionContext) {
  const { databaseUrl, drop } = await createTestDatabase();
  const key = randomBytes(32);
  const database = openDatabase({ databaseUrl, secrets: createSecretBox([{ id: 'k1', key }]) });
  t.teardown(async () => {
    await closeDatabase(database);
    await drop();
  });
  const newId = createIdSource();
  const tenantId = newId('ten');
  await createTenant(database, { id: tenantId, name: 'acme', plan: 'pro', nowMs: NOW_MS, author: null });
  const add = async (
    email: string,
  ): Promise<{ user: User; signIn: () => Promise<{ secret: string; isCreated: boolean }> }> => {
    const made = await createUser(database, {
      id: newId('usr'),
      tenantId,
      email,
      role: 'owner',
      passwordHash: 'forgotten',
      isOperator: false,
      nowMs: NOW_MS,
      author: null,
    });
    if (made === null) throw new Error(`${email} is taken`);
    await beginSecondFactor(database, { userId: made.id, secret: 'LOST', author: null });
    const { sealed = '' } = (await findSecondFactor(database, made.id)) ?? {};
    await confirmSecondFactor(
      database,
      { userId: made.id, keepSessionId: '-', author: null },
      { sealed, step: 1, codes: ['a', 'b'], nowMs: NOW_MS },
    );
    const user = await findUserByEmail(database, email);
    if (user === null) throw new Error(`${email} is gone`);
    const signIn = async () => {
      const secret = generateSessionSecret();
      return {
        secret,
        isCreated: await createSession(database, {
          id: newId('ses'),
          secret,
          user,
          address: null,
          userAgent: null,
          nowMs: NOW_MS,
          author: null,
        }),
      };
    };
    return { user, signIn };
  };
  const [ada, bob] = [await add('ada@example.org'), await add('bob@example.org')];
  const run = (...args: string[]) =>
    runHosted(['user', ...args], { DATABASE_URL: databaseUrl, SECRET_KEYS: `k1:${key.toString('base64')}` });
  return { database, ada, bob, run, reset: (...args: string[]) => run('reset', ...args) };
}

test('a reset sets a new password, removes the second factor and ends all sessions, of that user only', async (t) => {
  const { database, ada, bob, reset } = await open(t);
  const sessions = [await ada.signIn(), await ada.signIn()];
  const other = await bob.signIn();
  const { status, stdout, stderr } = await reset('--email', ' ADA@Example.org ', '--json');
  t.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  const { password, ...rest } = JSON.parse(stdout);
  t.deepEqual(rest, { id: ada.user.id, email: 'ada@example.org', second_factor_removed: true, ended_sessions: 2 });
  t.regex(password, /^[\w-]{16}$/);

  const after = await findUserByEmail(database, 'ada@example.org');
  t.like(after, { totpConfirmedAt: null, passwordChangedAt: null, role: 'owner' }, 'the user still has to change it');
  const opensFor = (after?.passwordSignInUntil ?? 0) - Date.now() / 1000;
  t.true(
    opensFor > 82_800 && opensFor <= 86_400,
    'it is accepted for a day even if only sign-in at a provider is allowed',
  );
  t.is(bob.user.passwordSignInUntil, null);
  t.true(await verifyPassword(password, after?.passwordHash ?? null));
  t.is(await findSecondFactor(database, ada.user.id), null);
  t.is(await countRecoveryCodes(database, ada.user.id), 0);
  for (const { secret } of sessions) t.is(await findSessionHolder(database, secret, NOW_MS), null);
  t.false((await ada.signIn()).isCreated, 'a concurrent sign-in with the old password fails');

  t.is((await findSessionHolder(database, other.secret, NOW_MS))?.user.id, bob.user.id);
  t.like(await findUserByEmail(database, 'bob@example.org'), {
    passwordHash: 'forgotten',
    totpConfirmedAt: bob.user.totpConfirmedAt,
  });
  t.is(await countRecoveryCodes(database, bob.user.id), 2);

  const [entry, ...others] = await listAuditLog(database, {
    tenantId: ada.user.tenantId,
    filter: { action: 'member.reset' },
    limit: 10,
  });
  t.like(entry, {
    actor: { kind: 'operator', id: null, name: 'Operator' },
    object: { kind: 'member', id: ada.user.id, name: 'ada@example.org' },
    address: null,
  });
  t.deepEqual(entry?.changes, { password: 'changed', second_factor: [true, false] });
  t.deepEqual(others, []);

  const again = await reset('--email', 'ada@example.org');
  t.is(again.status, 0);
  const second = /^password: (?<password>\S+)$/m.exec(again.stdout)?.groups?.['password'] ?? '';
  t.regex(again.stdout, /^second_factor_removed: false$/m);
  t.not(second, password);
  t.true(await verifyPassword(second, (await findUserByEmail(database, 'ada@example.org'))?.passwordHash ?? null));
});

test('an unknown address exits with 1, a missing one with 2, and both change nothing', async (t) => {
  const { database, ada, reset } = await open(t);
  await ada.signIn();
  const unknown = await reset('--email', 'nobody@example.org', '--json');
  t.deepEqual(unknown, {
    status: 1,
    stdout: '',
    stderr: 'No console user with the email address "nobody@example.org" was found\n',
  });
  t.is((await reset('--email', 'ada@example')).status, 1);
  t.is((await reset()).status, 2);
  t.is(await resetAccess(database, { userId: 'usr_none', passwordHash: 'x', nowMs: Date.now(), author: null }), null);
  t.is((await listSessions(database, ada.user.id, NOW_MS)).length, 1);
});

test('a reset that fails halfway changes nothing', async (t) => {
  const { database, ada } = await open(t);
  const { secret } = await ada.signIn();
  await database.pool.query(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the disk is full'; END $$`,
  );
  await database.pool.query('CREATE TRIGGER refuse BEFORE DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION refuse()');
  await t.throwsAsync(
    resetAccess(database, { userId: ada.user.id, passwordHash: 'new', nowMs: Date.now(), author: null }),
    {
      message: /the disk is full/,
    },
  );
  t.deepEqual(
    await findUserByEmail(database, 'ada@example.org'),
    (await findSessionHolder(database, secret, NOW_MS))?.user,
  );
  t.like(await findUserByEmail(database, 'ada@example.org'), {
    passwordHash: 'forgotten',
    totpConfirmedAt: ada.user.totpConfirmedAt,
  });
  t.is(await countRecoveryCodes(database, ada.user.id), 2);
});

test('a user is made operator from the next request on and revoked again, with audit log entries', async (t) => {
  const { database, ada, bob, run } = await open(t);
  const { secret } = await ada.signIn();
  t.is((await findSessionHolder(database, secret, NOW_MS))?.user.isOperator, false);
  const { status, stdout, stderr } = await run('operator', '--email', 'Ada@example.org', '--json');
  t.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  t.deepEqual(JSON.parse(stdout), { id: ada.user.id, email: 'ada@example.org', operator: true });
  t.is((await findSessionHolder(database, secret, NOW_MS))?.user.isOperator, true);
  t.like(await findUserByEmail(database, 'bob@example.org'), { isOperator: false, role: bob.user.role });

  t.is((await run('operator', '--email', 'ada@example.org')).status, 0, 'repeating it changes nothing');
  t.regex((await run('operator', '--email', 'ada@example.org', '--revoke')).stdout, /^operator: false$/m);
  t.is((await findSessionHolder(database, secret, NOW_MS))?.user.isOperator, false);
  const entries = await listAuditLog(database, {
    tenantId: ada.user.tenantId,
    filter: { action: 'member.changed' },
    limit: 10,
  });
  t.deepEqual(
    entries.map(({ actor, object, changes }) => [actor.kind, object.id, changes]),
    [
      ['operator', ada.user.id, { operator: [true, false] }],
      ['operator', ada.user.id, { operator: [false, true] }],
    ],
  );
});
