import test from 'ava';
import { createInvitation, generateInvitationToken, listInvitations } from '../../../models/accounts/invitations.ts';
import { MAX_MEMBERS } from '../../../models/accounts/users.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

test('a full account keeps the invitation that a new one would replace', async (t) => {
  const { database, tenantId, newId } = await openTestRuntime(t);
  const invite = (email: string) =>
    createInvitation(database, {
      id: newId('inv'),
      tenantId,
      email,
      role: 'viewer',
      token: generateInvitationToken(),
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
