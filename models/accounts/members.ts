import { goneWith } from '../../core/accounts/field-changes.ts';
import type { Role } from '../../core/accounts/roles.ts';
import { notifySessionsEnded } from '../changes.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import { recordChange, type Authored } from './audit-log.ts';
import { memberObject } from './recorded-fields.ts';
import { endOtherSessions } from './sessions.ts';
import { USER_COLUMNS, userOf, type User, type UserRow } from './user-row.ts';

/** How many people an account can have. */
export const MOST_MEMBERS = 1000;

/** Which member of which account. */
type MemberKey = { tenantId: string; id: string };

/** Everybody of an account, by arrival. */
export async function listMembers(database: Pick<Database, 'pool'>, tenantId: string): Promise<User[]> {
  const rows = await runOn(database.pool)<UserRow>(
    `SELECT ${USER_COLUMNS} FROM users u WHERE u.tenant_id = $1 ORDER BY u.created_at, u.id`,
    [tenantId],
  );
  return rows.map(userOf);
}

/**
 * Gives a member another role, and ends their sessions but the one of `keepSessionId` (null keeps none). Null when the
 * account has no such member, `last_owner` and nothing is changed where the account would have no owner any more.
 */
export async function changeRole(
  database: Pick<Database, 'pool'>,
  { author, ...key }: MemberKey & Authored,
  { role, keepSessionId }: { role: Role; keepSessionId: string | null },
): Promise<User | 'last_owner' | null> {
  return await inTransaction(database, async (run) => {
    const member = await lockMember(run, key);
    if (member === null || member.role === role) return member;
    if (await isLastOwner(run, member)) return 'last_owner';
    await run('UPDATE users SET role = $2 WHERE id = $1', [member.id, role]);
    await endOtherSessions(run, { userId: member.id, keepSessionId });
    if (member.role === 'owner') await dropInvitationsBy(run, member.id);
    await recordChange(run, author, {
      tenantId: key.tenantId,
      object: memberObject(member),
      changes: { role: [member.role, role] },
    });
    return { ...member, role };
  });
}

/**
 * Removes a member, their sessions and their open invitations. Null when the account has no such member, `last_owner`
 * as above.
 */
export async function removeMember(
  database: Pick<Database, 'pool'>,
  { author, ...key }: MemberKey & Authored,
): Promise<User | 'last_owner' | null> {
  return await inTransaction(database, async (run) => {
    const member = await lockMember(run, key);
    if (member === null) return null;
    if (await isLastOwner(run, member)) return 'last_owner';
    await dropInvitationsBy(run, member.id);
    await run('DELETE FROM users WHERE id = $1', [member.id]);
    await notifySessionsEnded(run, member.id);
    const { email, name, role } = member;
    await recordChange(run, author, {
      tenantId: key.tenantId,
      object: memberObject(member),
      changes: goneWith({ email, name, role }),
    });
    return member;
  });
}

/** The account is held as well: of two owners who remove each other at once, one stays. */
async function lockMember(run: Run, { tenantId, id }: MemberKey): Promise<User | null> {
  await run('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
  const [row] = await run<UserRow>(
    `SELECT ${USER_COLUMNS} FROM users u WHERE u.id = $2 AND u.tenant_id = $1 FOR UPDATE`,
    [tenantId, id],
  );
  return row === undefined ? null : userOf(row);
}

async function isLastOwner(run: Run, { id, tenantId, role }: User): Promise<boolean> {
  if (role !== 'owner') return false;
  const others = await run(`SELECT 1 FROM users WHERE tenant_id = $1 AND role = 'owner' AND id <> $2 LIMIT 1`, [
    tenantId,
    id,
  ]);
  return others.length === 0;
}

/** The member who invited knows the links, and could come back by one. */
async function dropInvitationsBy(run: Run, userId: string): Promise<void> {
  await run('DELETE FROM invitations WHERE invited_by = $1 AND accepted_at IS NULL', [userId]);
}
