import test from 'ava';
import { listAuditLog } from '../../../models/accounts/audit-log.ts';
import {
  IDLE_SECONDS,
  LIFETIME_SECONDS,
  createSession,
  findSessionHolder,
  generateSessionSecret,
  listSessions,
} from '../../../models/accounts/sessions.ts';
import { findSignInClients, recordSignInClients } from '../../../models/accounts/sign-in-clients.ts';
import { createTenant } from '../../../models/accounts/tenants.ts';
import { createUser } from '../../../models/accounts/users.ts';
import { retainHistory } from '../../../workers/system/retention.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

const NOW_MS = 1_763_720_000_000;
const NOW = NOW_MS / 1000;

test('expired sessions are deleted and valid ones kept, to the second', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, newId } = runtime;
  const user = await createUser(database, {
    id: newId('usr'),
    tenantId,
    email: 'ada@example.org',
    role: 'owner',
    passwordHash: 'x',
    isOperator: false,
    nowMs: NOW_MS,
    author: null,
  });
  if (user === null) throw new Error('The user was not made');
  const add = async (createdAt: number, lastSeenAt: number) => {
    const [id, secret] = [newId('ses'), generateSessionSecret()];
    await createSession(database, { id, secret, user, address: null, userAgent: null, nowMs: NOW_MS, author: null });
    return {
      id,
      secret,
      age: () =>
        database.pool.query('UPDATE sessions SET created_at = $2, last_seen_at = $3 WHERE id = $1', [
          id,
          createdAt,
          lastSeenAt,
        ]),
    };
  };
  const over = [
    await add(NOW - IDLE_SECONDS, NOW - IDLE_SECONDS),
    await add(NOW - LIFETIME_SECONDS, NOW),
    await add(NOW - LIFETIME_SECONDS * 2, NOW - LIFETIME_SECONDS),
  ];
  const good = [
    await add(NOW - IDLE_SECONDS + 1, NOW - IDLE_SECONDS + 1),
    await add(NOW - LIFETIME_SECONDS + 1, NOW),
    await add(NOW, NOW),
  ];
  // Signing in cleans up as well, so all sessions are aged together.
  for (const { age } of [...over, ...good]) await age();
  t.like(await retainHistory({ ...runtime, now: () => NOW_MS }), { sessions: 3, invitations: 0 });
  const { rows } = await database.pool.query<{ id: string }>('SELECT id FROM sessions');
  t.deepEqual(rows.map(({ id }) => id).toSorted(), good.map(({ id }) => id).toSorted());
  for (const { secret } of good) t.is((await findSessionHolder(database, secret, NOW_MS))?.user.id, user.id);
  t.like(await retainHistory({ ...runtime, now: () => NOW_MS }), { sessions: 0 });
  t.is((await listSessions(database, user.id, NOW_MS)).length, 3);
});

test('a browser or network without a sign-in for 180 days is deleted, to the second', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const recordPlace = (client: string, nowMs: number) =>
    recordSignInClients(database, { account: 'queue-board', userId: null }, { clients: [client], nowMs });
  await recordPlace('network:192.0.2.1', NOW_MS - 180 * 86_400_000);
  await recordPlace('network:192.0.2.2', NOW_MS - 180 * 86_400_000 + 1000);
  t.like(await retainHistory({ ...runtime, now: () => NOW_MS }), { signInClients: 1 });
  t.deepEqual(await findSignInClients(database, 'queue-board', ['network:192.0.2.1', 'network:192.0.2.2']), [
    'network:192.0.2.2',
  ]);
});

test('audit log entries of every account are deleted after 400 days, to the second', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, newId } = runtime;
  const other = newId('ten');
  await createTenant(database, { id: other, name: 'another', plan: 'free', nowMs: NOW_MS, author: null });
  const kept = 400 * 86_400;
  const add = (owner: string, name: string, at: number) =>
    database.pool.query(
      `INSERT INTO audit_log (id, tenant_id, at, actor_kind, actor_name, action, object_kind, object_id, object_name,
       changes) VALUES ($1, $2, $3, 'operator', 'Operator', 'token.created', 'token', $1, $4, '{}')`,
      [newId('aud'), owner, at, name],
    );
  for (const owner of [tenantId, other]) {
    await add(owner, 'old', NOW - kept * 2);
    await add(owner, 'just old', NOW - kept);
    await add(owner, 'nearly old', NOW - kept + 1);
    await add(owner, 'new', NOW);
  }
  t.like(await retainHistory({ ...runtime, now: () => NOW_MS }), { auditEntries: 4 });
  for (const owner of [tenantId, other]) {
    const left = await listAuditLog(database, { tenantId: owner, filter: {}, limit: 10 });
    t.deepEqual(
      left.map(({ object }) => object.name),
      ['new', 'nearly old'],
    );
  }
});

test('an invitation is deleted 30 days after its expiry, accepted or not, to the second', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, newId } = runtime;
  const kept = 30 * 86_400;
  const rows: [what: string, expiresAt: number, acceptedAt: number | null][] = [
    ['good', NOW + 1, null],
    ['newly past', NOW - 1, null],
    ['past for nearly 30 days', NOW - kept + 1, null],
    ['past for 30 days', NOW - kept, null],
    ['taken up long ago', NOW - kept * 2, NOW - kept * 2 - 60],
    ['taken up just now', NOW + 60, NOW],
  ];
  for (const [what, expiresAt, acceptedAt] of rows) {
    await database.pool.query(
      'INSERT INTO invitations (id, tenant_id, email, role, fingerprint, created_at, expires_at, accepted_at) ' +
        'VALUES ($1, $2, $3, $4, $5, $6, $7, $8)',
      [newId('inv'), tenantId, what, 'viewer', Buffer.from(what), expiresAt - 7 * 86_400, expiresAt, acceptedAt],
    );
  }
  t.like(await retainHistory({ ...runtime, now: () => NOW_MS }), { invitations: 2 });
  const { rows: left } = await database.pool.query<{ email: string }>('SELECT email FROM invitations ORDER BY email');
  t.deepEqual(
    left.map(({ email }) => email),
    ['good', 'newly past', 'past for nearly 30 days', 'taken up just now'],
  );
});

test('a failed deletion fails the chore but does not prevent other deletions', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database, logLines } = runtime;
  await recordSignInClients(
    database,
    { account: 'queue-board', userId: null },
    { clients: ['network:192.0.2.1'], nowMs: NOW_MS - 181 * 86_400_000 },
  );
  await database.pool.query('ALTER TABLE domains RENAME TO away');
  await t.throwsAsync(retainHistory({ ...runtime, now: () => NOW_MS }), { message: /domains/ });
  t.deepEqual(await findSignInClients(database, 'queue-board', ['network:192.0.2.1']), []);
  const failed = logLines.filter(({ msg }) => msg === 'retention.failed');
  t.deepEqual(
    failed.map(({ what }) => what),
    ['domains'],
  );
});
