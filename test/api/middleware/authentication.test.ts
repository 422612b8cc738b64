import anyTest, { type TestFn } from 'ava';
import type { AuditAction } from '../../../core/accounts/audit-entry.ts';
import { createApiToken, generateToken } from '../../../models/accounts/api-tokens.ts';
import { createInvitation, generateInvitationToken } from '../../../models/accounts/invitations.ts';
import { NoOwner, changeRole, listMembers, removeMember } from '../../../models/accounts/users.ts';
import { withApiServer, type ApiServer } from '../api-server.ts';
import { holdRequest } from '../held-request.ts';
import { addPerson, type Person } from '../person.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

test('a request whose body arrives after its caller lost the right to it changes nothing', async (t) => {
  const { api } = t.context;
  const { tenantId, owner, ownerToken } = await api.account();
  const [boss, demoted, removed] = [
    await addPerson(api, tenantId),
    await addPerson(api, tenantId),
    await addPerson(api, tenantId),
  ];
  const held = (person: Person, method: string, [path, body]: [string, object]) =>
    holdRequest(api, person.user.id, { method, path: `/v1${path}`, body, headers: person.headers });
  const tokens = (await boss.call('GET', '/v1/tokens')).json['tokens'];
  const tokenId = tokens?.find(({ scopes }) => scopes.includes('write'))?.id ?? '';
  const monitor = { name: 'Shop', type: 'http', target: 'https://shop.example/', interval_seconds: 60 };
  const requests = await Promise.all([
    held(demoted, 'PATCH', [`/members/${demoted.user.id}`, { role: 'owner' }]),
    held(demoted, 'POST', ['/invitations', { email: 'me@example.com', role: 'owner' }]),
    held(removed, 'POST', ['/tokens', { name: 'Back door', scopes: ['read', 'write'] }]),
    holdRequest(api, tokenId, {
      method: 'POST',
      path: '/v1/monitors',
      body: monitor,
      headers: { Authorization: `Bearer ${ownerToken}` },
    }),
  ]);
  t.is((await boss.call('PATCH', `/v1/members/${demoted.user.id}`, { role: 'viewer' })).status, 200);
  t.is((await boss.call('DELETE', `/v1/members/${removed.user.id}`)).status, 204);
  t.is((await boss.call('DELETE', `/v1/tokens/${tokenId}`)).status, 204);
  const answers = await Promise.all(requests.map((finish) => finish()));
  t.deepEqual(
    answers.map(({ status }) => status),
    [401, 401, 401, 401],
  );
  t.is((await owner('GET', '/v1/monitors')).status, 401);
  t.deepEqual((await boss.call('GET', '/v1/monitors')).json, { monitors: [] });
  t.deepEqual((await boss.call('GET', '/v1/invitations')).json, { invitations: [] });
  const members = await listMembers(api.database, tenantId);
  t.is(members.find(({ id }) => id === demoted.user.id)?.role, 'viewer');
});

test('a request with a slow body succeeds if its caller still has the right to it', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const { user, headers } = await addPerson(api, tenantId);
  const finish = await holdRequest(api, user.id, {
    method: 'POST',
    path: '/v1/invitations',
    body: { email: 'guest@example.com', role: 'viewer' },
    headers,
  });
  t.is((await finish()).status, 201);
});

test('owner-only changes are refused if the author is no longer an owner when they are made', async (t) => {
  const { api } = t.context;
  const { database, makeId } = api;
  const { tenantId } = await api.account();
  const [owner, former] = [await addPerson(api, tenantId), await addPerson(api, tenantId, { role: 'editor' })];
  const nowMs = Date.now();
  const authorOf = (action: AuditAction) => ({
    id: makeId('aud'),
    action,
    actor: { kind: 'user' as const, id: former.user.id, name: 'Former' },
    address: null,
    nowMs,
  });
  const key = { tenantId, id: former.user.id };
  const token = { id: makeId('tok'), tenantId, name: 'Back door', token: generateToken('spk'), nowMs };
  const invitation = { id: makeId('inv'), tenantId, email: 'me@example.com', token: generateInvitationToken(), nowMs };
  const changes = [
    () =>
      changeRole(database, { ...key, author: authorOf('member.role_changed') }, { role: 'owner', keepSessionId: null }),
    () => removeMember(database, { tenantId, id: owner.user.id, author: authorOf('member.removed') }),
    () =>
      createApiToken(database, { ...token, scopes: ['write'], expiresAt: null, author: authorOf('token.created') }, 10),
    () =>
      createInvitation(database, {
        ...invitation,
        role: 'owner',
        invitedBy: former.user.id,
        author: authorOf('invitation.created'),
      }),
  ];
  for (const change of changes) await t.throwsAsync(change, { instanceOf: NoOwner });
  t.like(await removeMember(database, { ...key, author: authorOf('member.removed') }), { id: former.user.id });
});
