import test, { type ExecutionContext } from 'ava';
import { provisionUser } from '../../../models/accounts/identities.ts';
import {
  acceptInvitation,
  createInvitation,
  findOpenInvitation,
  generateInvitationToken,
  listInvitations,
} from '../../../models/accounts/invitations.ts';
import { createTenant } from '../../../models/accounts/tenants.ts';
import { MAX_MEMBERS, createUser, listMembers, removeMember } from '../../../models/accounts/users.ts';
import { inTransaction } from '../../../models/sql.ts';
import { WAITING } from '../../helpers/database.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

async function openAccount(t: ExecutionContext) {
  const { database, tenantId, newId } = await openTestRuntime(t);
  const invite = (email: string, token = generateInvitationToken()) =>
    createInvitation(database, {
      id: newId('inv'),
      tenantId,
      email,
      role: 'viewer',
      token,
      invitedBy: 'usr_1',
      nowMs: Date.now(),
      author: null,
    });
  const addUsers = (from: number, to: number) =>
    database.pool.query(
      `INSERT INTO users (id, tenant_id, email, role, password_hash, created_at)
       SELECT 'usr_' || n, $1, n || '@example.com', 'viewer', '', 0 FROM generate_series($2::int, $3::int) AS n`,
      [tenantId, from, to],
    );
  const provision = (name: string) => {
    const [email, nowMs] = [`${name}@example.net`, Date.now()];
    const identity = { id: newId('idn'), issuer: 'https://id.example', subject: name, email, nowMs };
    return provisionUser(database, { id: newId('usr'), tenantId, email, name, role: 'viewer', identity, author: null });
  };
  return { database, tenantId, newId, invite, provision, addUsers };
}

test('a full account keeps the invitation that a new one would replace', async (t) => {
  const { database, tenantId, invite, addUsers } = await openAccount(t);
  await addUsers(1, MAX_MEMBERS - 2);
  t.like(await invite('guest@example.org'), { email: 'guest@example.org' });
  t.like(
    await invite('guest@example.org'),
    { email: 'guest@example.org' },
    'a new invitation replaces the previous one',
  );
  await addUsers(MAX_MEMBERS - 1, MAX_MEMBERS);
  t.is(await invite('guest@example.org'), 'full');
  t.is((await listInvitations(database, tenantId, Date.now())).length, 1);
});

test('the invitation of a person who became a member in another way takes no place', async (t) => {
  const { invite, provision, addUsers } = await openAccount(t);
  await addUsers(1, MAX_MEMBERS - 3);
  await invite('ann@example.net');
  t.like(await provision('ann'), { email: 'ann@example.net' });
  t.like(await provision('bob'), { email: 'bob@example.net' });
  t.like(await invite('guest@example.org'), { email: 'guest@example.org' });
  t.is(await provision('eve'), 'full');
  t.is(await invite('other@example.org'), 'full');
});

test('people of a provisioned domain take no place of those who are invited', async (t) => {
  const { database, tenantId, newId, invite, provision, addUsers } = await openAccount(t);
  await addUsers(1, MAX_MEMBERS - 2);
  const token = generateInvitationToken();
  await invite('guest@example.org', token);
  await invite('ann@example.net');
  t.is(await provision('bob'), 'full');
  t.like(await provision('ann'), { email: 'ann@example.net' }, 'a person takes the place of their own invitation');
  const accepted = { token, userId: newId('usr'), name: 'Guest', passwordHash: 'x', nowMs: Date.now(), author: null };
  t.like(await acceptInvitation(database, accepted), { email: 'guest@example.org' });
  t.is((await listMembers(database, tenantId)).length, MAX_MEMBERS);
});

test('who becomes a member in another way ends their invitation to this account, and to no other', async (t) => {
  const { database, tenantId, newId, invite, provision, addUsers } = await openAccount(t);
  const [nowMs, other] = [Date.now(), newId('ten')];
  await createTenant(database, { id: other, name: 'other', plan: 'pro', nowMs, author: null });
  await addUsers(1, 1);
  const tokens = ['ann', 'ada', 'guest'].map((name) => ({ name, token: generateInvitationToken() }));
  for (const { name, token } of tokens) await invite(`${name}@example.net`, token);
  const elsewhere = generateInvitationToken();
  const invitation = { id: newId('inv'), email: 'ann@example.net', role: 'owner', token: elsewhere } as const;
  await createInvitation(database, { ...invitation, tenantId: other, invitedBy: 'usr_1', nowMs, author: null });
  await provision('ann');
  const ada = { id: newId('usr'), tenantId, email: 'Ada@example.net', role: 'viewer', passwordHash: 'x' } as const;
  await createUser(database, { ...ada, isOperator: false, nowMs, author: null });
  const open = [];
  for (const { name, token } of [...tokens, { name: 'elsewhere', token: elsewhere }])
    if ((await findOpenInvitation(database, token, nowMs)) !== null) open.push(name);
  t.deepEqual(open, ['guest', 'elsewhere']);
});

test('a removed member cannot return by an invitation to their address that is still open', async (t) => {
  const { database, tenantId, newId, invite, addUsers } = await openAccount(t);
  await addUsers(1, 2);
  const token = generateInvitationToken();
  await invite('guest@example.net', token);
  // As a former release left it, for a member whose address it stored as it was typed.
  await database.pool.query(`UPDATE users SET email = 'Guest@Example.net' WHERE id = 'usr_2'`);
  t.like(await removeMember(database, { tenantId, id: 'usr_2', author: null }), { id: 'usr_2' });
  const accepted = { token, userId: newId('usr'), name: 'Guest', passwordHash: 'x', nowMs: Date.now(), author: null };
  t.is(await acceptInvitation(database, accepted), null);
});

test('an invitation is accepted only after other changes of members, which may end it', async (t) => {
  const { database, tenantId, newId, invite, addUsers } = await openAccount(t);
  await addUsers(1, 1);
  const token = generateInvitationToken();
  await invite('ann@example.net', token);
  const accepted = { token, userId: newId('usr'), name: 'Ann', passwordHash: 'x', nowMs: Date.now(), author: null };
  let accepting: ReturnType<typeof acceptInvitation> | undefined;
  const ended = await inTransaction(database, async (run) => {
    await run('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
    accepting = acceptInvitation(database, accepted);
    await until(async () => (await database.pool.query(WAITING)).rowCount === 1);
    // In the opposite order the two would wait for each other.
    return await run('DELETE FROM invitations WHERE tenant_id = $1 RETURNING id', [tenantId]);
  });
  t.is(ended.length, 1);
  t.is(await accepting, null);
});
