import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { createInvitation, generateInvitationToken, listInvitations } from '../../../models/accounts/invitations.ts';
import {
  beginSecondFactor,
  confirmSecondFactor,
  findSecondFactor,
  removeSecondFactor,
  takeRecoveryCode,
  takeTotpStep,
} from '../../../models/accounts/second-factor.ts';
import {
  createSession,
  findSessionHolder,
  generateSessionSecret,
  listSessions,
} from '../../../models/accounts/sessions.ts';
import { recordSignInClients } from '../../../models/accounts/sign-in-clients.ts';
import type { User } from '../../../models/accounts/user-row.ts';
import {
  changePassword,
  createUser,
  findUserByEmail,
  resetAccess,
  updateUser,
} from '../../../models/accounts/users.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { findWebhook, rotateSigningSecret } from '../../../models/alerts/webhook-secrets.ts';
import { inTransaction } from '../../../models/sql.ts';
import { pullBackTimes } from '../../../models/system/future-times.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';

const START_MS = 1_763_720_000_000;
const DAY_MS = 86_400_000;

async function open(t: ExecutionContext): Promise<{
  runtime: TestRuntime;
  user: User;
  signIn: (user: User, nowMs?: number) => Promise<{ id: string; secret: string; isCreated: boolean }>;
}> {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, newId } = runtime;
  const user = await createUser(database, {
    id: newId('usr'),
    tenantId,
    email: 'Ada@Example.org',
    role: 'owner',
    passwordHash: 'old',
    isOperator: false,
    nowMs: START_MS,
    author: null,
  });
  if (user === null) throw new Error('The user was not made');
  const signIn = async (as: User, nowMs = START_MS) => {
    const [id, secret] = [newId('ses'), generateSessionSecret()];
    return {
      id,
      secret,
      isCreated: await createSession(database, {
        id,
        secret,
        user: as,
        address: '192.0.2.1',
        userAgent: null,
        nowMs,
        author: null,
      }),
    };
  };
  return { runtime, user, signIn };
}

test('after the clock was set back, access given before lasts no longer than if it were given now', async (t) => {
  const { runtime, user, signIn } = await open(t);
  const { database, tenantId, newId } = runtime;
  const backMs = 10 * DAY_MS;
  const [aheadMs, now] = [START_MS + backMs, START_MS / 1000];
  await resetAccess(database, { userId: user.id, passwordHash: 'new', nowMs: aheadMs, author: null });
  const reset = await findUserByEmail(database, user.email);
  if (reset === null) throw new Error('The user is gone');
  await signIn(reset, START_MS - 1000);
  await signIn(reset, aheadMs);
  const account = { account: user.id, userId: user.id };
  await recordSignInClients(database, account, { clients: ['network:192.0.2.1'], nowMs: START_MS - 1000 });
  await recordSignInClients(database, account, { clients: ['network:192.0.2.2'], nowMs: aheadMs });
  const invite = { tenantId, role: 'viewer', invitedBy: user.id, author: null } as const;
  for (const [email, nowMs] of [
    ['before@example.org', START_MS - DAY_MS],
    ['ahead@example.org', aheadMs],
  ] as const)
    await createInvitation(database, { ...invite, id: newId('inv'), token: generateInvitationToken(), email, nowMs });
  const channels = [];
  for (const type of ['telegram', 'email', 'webhook'] as const) {
    const id = newId('nch');
    const fields = { type, name: type, allMonitors: true, monitorIds: [], nowMs: START_MS, author: null } as const;
    await createChannel(database, {
      ...fields,
      id,
      tenantId,
      status: type === 'webhook' ? 'connected' : 'pending',
      ...(type === 'webhook'
        ? { webhook: { url: 'https://hooks.example/', signingSecret: 'whsec_first' } }
        : { connectCode: { fingerprint: randomBytes(32), expiresAtSeconds: aheadMs / 1000 } }),
    });
    channels.push(id);
  }
  const [, , id = ''] = channels;
  const rotation = { signingSecret: 'whsec_second', nowMs: aheadMs };
  await rotateSigningSecret(database, { tenantId, id, author: null }, rotation);
  await inTransaction(database, (_, client) => pullBackTimes(client, { nowMs: START_MS, backMs }));

  const { rows: codes } = await database.pool.query(
    'SELECT expires_at FROM connect_codes WHERE channel_id = ANY($1) ORDER BY expires_at',
    [channels],
  );
  t.deepEqual(codes, [{ expires_at: now + 3600 }, { expires_at: now + 86_400 }]);
  const previousAt = async (nowMs: number) => (await findWebhook(database, { tenantId, id }, nowMs))?.previousSecret;
  t.truthy(await previousAt(START_MS + DAY_MS - 1));
  t.is(await previousAt(START_MS + DAY_MS), null);

  const sessions = await listSessions(database, user.id, START_MS);
  t.deepEqual(
    sessions.map(({ createdAt, lastSeenAt }) => [createdAt, lastSeenAt]),
    [
      [now, now],
      [now - 1, now - 1],
    ],
  );
  t.deepEqual(
    (await listInvitations(database, tenantId, START_MS)).map(({ createdAt, expiresAt }) => [createdAt, expiresAt]),
    [
      [now - 86_400, now + 6 * 86_400],
      [now, now + 7 * 86_400],
    ],
  );
  t.is((await findUserByEmail(database, user.email))?.passwordSignInUntil, now + 86_400);
  const { rows: places } = await database.pool.query('SELECT place, seen_at FROM sign_in_places ORDER BY place');
  t.deepEqual(places, [
    { place: 'network:192.0.2.1', seen_at: now - 1 },
    { place: 'network:192.0.2.2', seen_at: now },
  ]);
});

test('email addresses are found and unique regardless of case', async (t) => {
  const {
    runtime: { database, tenantId, newId },
    user,
  } = await open(t);
  t.is(user.email, 'ada@example.org');
  for (const email of ['ada@example.org', 'ADA@EXAMPLE.ORG'])
    t.is((await findUserByEmail(database, email))?.id, user.id);
  t.is(await findUserByEmail(database, 'ada@example.org\0'), null);
  t.is(
    await createUser(database, {
      id: newId('usr'),
      tenantId,
      email: 'ADA@example.ORG',
      role: 'viewer',
      passwordHash: 'x',
      isOperator: false,
      nowMs: START_MS,
      author: null,
    }),
    null,
  );
  // Addresses could be stored like this before they were lower-cased.
  await database.pool.query(`UPDATE users SET email = 'Ada@Example.org'`);
  t.is((await findUserByEmail(database, 'Ada@Example.org'))?.id, user.id);
});

test('fields not given in a user update are unchanged', async (t) => {
  const {
    runtime: { database },
    user,
  } = await open(t);
  t.like(await updateUser(database, { id: user.id, author: null }, { name: 'Ada' }), { name: 'Ada', theme: 'system' });
  t.like(await updateUser(database, { id: user.id, author: null }, { theme: 'dark' }), { name: 'Ada', theme: 'dark' });
  t.is(await updateUser(database, { id: 'usr_none', author: null }, { name: 'x' }), null);
});

test('a sign-in in progress during a change of password or second factor creates no session', async (t) => {
  const {
    runtime: { database },
    user,
    signIn,
  } = await open(t);
  const { id } = await signIn(user);
  t.is(
    await changePassword(database, {
      userId: user.id,
      oldHash: 'old',
      newHash: 'new',
      keepSessionId: id,
      nowMs: START_MS,
      author: null,
    }),
    0,
  );
  t.false((await signIn(user)).isCreated);
  const changed = { ...user, passwordHash: 'new' };
  t.true((await signIn(changed)).isCreated);
  await beginSecondFactor(database, { userId: user.id, secret: 'SECRET', author: null });
  t.true((await signIn(changed)).isCreated, 'a second factor that is not confirmed yet is not required');
  const { sealed = '' } = (await findSecondFactor(database, user.id)) ?? {};
  t.true(
    await confirmSecondFactor(
      database,
      { userId: user.id, keepSessionId: id, author: null },
      { sealed, step: 5, codes: ['a'], nowMs: START_MS },
    ),
  );
  t.false((await signIn(changed)).isCreated);
  t.deepEqual(
    (await listSessions(database, user.id, START_MS)).map((session) => session.id),
    [id],
  );
  t.is(
    await changePassword(database, {
      userId: user.id,
      oldHash: 'old',
      newHash: 'third',
      keepSessionId: id,
      nowMs: START_MS,
      author: null,
    }),
    null,
  );
  await database.pool.query('DELETE FROM users');
  t.false((await signIn(changed)).isCreated);
});

test('a user keeps the newest fifty sessions, and a sign-in deletes expired ones', async (t) => {
  const {
    runtime: { database },
    user,
    signIn,
  } = await open(t);
  const first = await signIn(user);
  for (let count = 1; count <= 50; count += 1) await signIn(user, START_MS + count * 1000);
  const nowMs = START_MS + 60_000;
  t.is((await listSessions(database, user.id, nowMs)).length, 50);
  t.is(await findSessionHolder(database, first.secret, nowMs), null);
  await signIn(user, nowMs + 15 * 86_400_000);
  const { rows } = await database.pool.query<{ count: number }>('SELECT count(*) FROM sessions');
  t.is(rows[0]?.count, 1);
});

test('a second factor can be restarted until it is confirmed, and its time steps only move forward', async (t) => {
  const {
    runtime: { database },
    user,
  } = await open(t);
  t.false(await takeTotpStep(database, user.id, 1), 'there is no second factor');
  t.false(
    await confirmSecondFactor(
      database,
      { userId: user.id, keepSessionId: '-', author: null },
      { sealed: '', step: 1, codes: [], nowMs: START_MS },
    ),
  );
  t.true(await beginSecondFactor(database, { userId: user.id, secret: 'FIRST', author: null }));
  const first = await findSecondFactor(database, user.id);
  t.true(await beginSecondFactor(database, { userId: user.id, secret: 'SECOND', author: null }));
  t.false(await takeTotpStep(database, user.id, 1), 'not confirmed yet');
  const second = await findSecondFactor(database, user.id);
  t.like(second, { secret: 'SECOND', confirmedAt: null });
  t.false(
    await confirmSecondFactor(
      database,
      { userId: user.id, keepSessionId: '-', author: null },
      { sealed: first?.sealed ?? '', step: 5, codes: [], nowMs: START_MS },
    ),
    'the code belongs to the first secret',
  );
  t.true(
    await confirmSecondFactor(
      database,
      { userId: user.id, keepSessionId: '-', author: null },
      { sealed: second?.sealed ?? '', step: 5, codes: ['a', 'b'], nowMs: START_MS },
    ),
  );
  t.false(await beginSecondFactor(database, { userId: user.id, secret: 'THIRD', author: null }));
  const steps: boolean[] = [];
  for (const step of [4, 5, 6, 6, 5, 8]) steps.push(await takeTotpStep(database, user.id, step));
  t.deepEqual(steps, [false, false, true, false, false, true]);
  t.deepEqual(
    [
      await takeRecoveryCode(database, user.id, 'a'),
      await takeRecoveryCode(database, user.id, 'a'),
      await takeRecoveryCode(database, user.id, 'c'),
    ],
    [true, false, false],
  );
  t.is(await removeSecondFactor(database, { userId: user.id, keepSessionId: '-', author: null }), 0);
  t.is(await removeSecondFactor(database, { userId: user.id, keepSessionId: '-', author: null }), null);
  t.false(await takeRecoveryCode(database, user.id, 'b'), 'its codes were deleted with it');
  t.is(await findSecondFactor(database, user.id), null);
});
