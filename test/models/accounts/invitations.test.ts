import test, { type ExecutionContext } from 'ava';
import { provisionUser } from '../../../models/accounts/identities.ts';
import {
  acceptInvitation,
  createInvitation,
  generateInvitationToken,
  listInvitations,
} from '../../../models/accounts/invitations.ts';
import { MAX_MEMBERS, listMembers } from '../../../models/accounts/users.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

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
