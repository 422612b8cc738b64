import { compareFields, goneWith, madeWith, type Author } from '../../core/accounts/audit-entry.ts';
import type { Role } from '../../core/accounts/roles.ts';
import { DAY_SECONDS } from '../../core/time.ts';
import { notifySessionsEnded } from '../changes.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run, type RowKey } from '../sql.ts';
import { insertAuditEntry, type Authored } from './audit-log.ts';
import { endOtherSessions } from './sessions.ts';
import { createTenantBy, type NewTenant } from './tenants.ts';
import { USER_COLUMNS, memberObject, recordMemberChange, userOf, type User, type UserRow } from './user-row.ts';

/**
 * A person to store. `name` defaults to empty; `choseThePassword` (default false) = no other person knows the password.
 */
type NewUser = {
  id: string;
  tenantId: string;
  email: string;
  name?: string;
  role: Role;
  passwordHash: string;
  choseThePassword?: boolean;
  isOperator: boolean;
  nowMs: number;
};

/** Normalizes an e-mail address for storing, finding and counting it. */
export function normalizeEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** Thrown if the address of a new user is taken. */
class AddressTaken extends Error {}

/** Stores a tenant and its first user, or neither if the tenant's name or the user's address is taken. */
export async function createAccount(
  database: Pick<Database, 'pool'>,
  { tenant, user }: { tenant: NewTenant & Authored; user: NewUser & Authored },
): Promise<'created' | 'name_taken' | 'address_taken'> {
  try {
    return await inTransaction(database, async (run) => {
      if (!(await createTenantBy(run, tenant))) return 'name_taken';
      // The error rolls back the stored tenant.
      if ((await createUserBy(run, user)) === null) throw new AddressTaken();
      return 'created';
    });
  } catch (error) {
    if (error instanceof AddressTaken) return 'address_taken';
    throw error;
  }
}

/** Stores a console user with a normalized e-mail address; null if the address is taken, ignoring case. */
export async function createUser(database: Pick<Database, 'pool'>, user: NewUser & Authored): Promise<User | null> {
  return await inTransaction(database, (run) => createUserBy(run, user));
}

async function createUserBy(run: Run, { author, ...user }: NewUser & Authored): Promise<User | null> {
  const created = await insertUser(run, user);
  if (created === null) return null;
  await dropInvitationsTo(run, created);
  const { tenantId, email, name, role } = created;
  await insertAuditEntry(run, author, {
    tenantId,
    object: memberObject(created),
    changes: madeWith({ email, name, role }, { password: user.passwordHash }),
  });
  return created;
}

/** Stores a user without an audit log entry, within the caller's transaction if there is one. */
export async function insertUser(run: Run, user: NewUser): Promise<User | null> {
  const now = Math.floor(user.nowMs / 1000);
  const [row] = await run<UserRow>(
    `INSERT INTO users AS u (id, tenant_id, email, name, role, password_hash, password_changed_at, is_operator,
     created_at)
     SELECT $1, $2, $4, $5, $6, $7, $8::bigint, $9, $10 WHERE NOT EXISTS (SELECT 1 FROM users WHERE email IN ($3, $4))
     ON CONFLICT (email) DO NOTHING RETURNING ${USER_COLUMNS}`,
    [
      user.id,
      user.tenantId,
      user.email,
      normalizeEmail(user.email),
      user.name ?? '',
      user.role,
      user.passwordHash,
      user.choseThePassword === true ? now : null,
      user.isOperator,
      now,
    ],
  );
  return row === undefined ? null : userOf(row);
}

/** Finds a console user by e-mail address, ignoring case and surrounding blanks; null if there is none. */
export async function findUserByEmail(database: Pick<Database, 'pool'>, email: string): Promise<User | null> {
  // PostgreSQL rejects NUL, which no address contains.
  if (email.includes('\0')) return null;
  const [row] = await runOn(database.pool)<UserRow>(
    `SELECT ${USER_COLUMNS} FROM users u WHERE email IN ($1, $2) ORDER BY email = $1 DESC LIMIT 1`,
    [email.trim(), normalizeEmail(email)],
  );
  return row === undefined ? null : userOf(row);
}

/** Lists the accounts that have operators of the installation. */
export async function listOperatorTenants({ pool }: Pick<Database, 'pool'>): Promise<string[]> {
  const rows = await runOn(pool)<{ id: string }>(
    'SELECT DISTINCT tenant_id AS id FROM users WHERE is_operator ORDER BY 1',
  );
  return rows.map(({ id }) => id);
}

/** Makes a user an operator of the installation, or revokes that; null if there is no such user. */
export async function setOperator(
  database: Pick<Database, 'pool'>,
  { id, isOperator, author }: { id: string; isOperator: boolean } & Authored,
): Promise<User | null> {
  return await inTransaction(database, async (run) => {
    const [before] = await run<UserRow>(`SELECT ${USER_COLUMNS} FROM users u WHERE id = $1 FOR NO KEY UPDATE`, [id]);
    if (before === undefined) return null;
    await run('UPDATE users SET is_operator = $2 WHERE id = $1', [id, isOperator]);
    const user = { ...userOf(before), isOperator };
    if (before.is_operator === isOperator) return user;
    await insertAuditEntry(run, author, {
      tenantId: user.tenantId,
      object: memberObject(user),
      changes: { operator: [before.is_operator, isOperator] },
    });
    return user;
  });
}

/** Changes the given parts of a person's name and display settings; null if there is no such user. */
export async function updateUser(
  database: Pick<Database, 'pool'>,
  { id, author }: { id: string } & Authored,
  { name, theme, timeZone, clock }: Partial<Pick<User, 'name' | 'theme' | 'timeZone' | 'clock'>>,
): Promise<User | null> {
  return await inTransaction(database, async (run) => {
    const [before] = await run<UserRow>(`SELECT ${USER_COLUMNS} FROM users u WHERE id = $1 FOR NO KEY UPDATE`, [id]);
    const [after] = await run<UserRow>(
      `UPDATE users u SET name = coalesce($2, name), theme = coalesce($3, theme),
         time_zone = coalesce($4, time_zone), clock = coalesce($5, clock)
       WHERE id = $1 RETURNING ${USER_COLUMNS}`,
      [id, name ?? null, theme ?? null, timeZone ?? null, clock ?? null],
    );
    if (before === undefined || after === undefined) return null;
    const fieldsOf = (row: UserRow) => ({
      fields: { name: row.user_name, theme: row.theme, time_zone: row.time_zone, clock: row.clock },
    });
    const user = userOf(after);
    await insertAuditEntry(run, author, {
      tenantId: user.tenantId,
      object: memberObject(user),
      changes: compareFields(fieldsOf(before), fieldsOf(after)),
    });
    return user;
  });
}

/**
 * Replaces the password with `oldHash` and ends the person's sessions except `keepSessionId`. Returns the number of
 * ended sessions, or null, and changes nothing, if the password was changed meanwhile.
 */
export async function changePassword(
  database: Pick<Database, 'pool'>,
  {
    author,
    ...change
  }: { userId: string; oldHash: string; newHash: string; keepSessionId: string; nowMs: number } & Authored,
): Promise<number | null> {
  return await inTransaction(database, async (run) => {
    const [changed] = await run<UserRow>(
      `UPDATE users u SET password_hash = $3, password_changed_at = $4 WHERE id = $1 AND password_hash = $2
       RETURNING ${USER_COLUMNS}`,
      [change.userId, change.oldHash, change.newHash, Math.floor(change.nowMs / 1000)],
    );
    if (changed === undefined) return null;
    const user = userOf(changed);
    await insertAuditEntry(run, author, {
      tenantId: user.tenantId,
      object: memberObject(user),
      changes: { password: 'changed' },
    });
    return await endOtherSessions(run, { userId: change.userId, keepSessionId: change.keepSessionId });
  });
}

/** Access that a person lost by a password reset. */
type AccessReset = { endedSessions: number; secondFactorRemoved: boolean };

/** Time that a reset password is accepted where only the provider's sign-in is, in seconds. */
export const BREAK_GLASS_SECONDS = DAY_SECONDS;

/**
 * Replaces a person's password, removes their second factor, even an unconfirmed one, and ends all their sessions, in
 * one transaction. The password counts as issued by another person, and is accepted for a day where only the provider's
 * sign-in is (D-588). Returns null if the user no longer exists.
 */
export async function resetAccess(
  database: Pick<Database, 'pool'>,
  { userId, passwordHash, nowMs, author }: { userId: string; passwordHash: string; nowMs: number } & Authored,
): Promise<AccessReset | null> {
  return await inTransaction(database, async (run) => {
    const [held] = await run<{ totp_confirmed_at: number | null }>(
      `WITH held AS (SELECT id, totp_confirmed_at FROM users WHERE id = $1 FOR NO KEY UPDATE)
       UPDATE users u SET password_hash = $2, password_changed_at = NULL, sealed_totp_secret = NULL,
         totp_confirmed_at = NULL, totp_step = NULL, password_sign_in_until = $3
       FROM held WHERE u.id = held.id RETURNING held.totp_confirmed_at`,
      [userId, passwordHash, Math.floor(nowMs / 1000) + BREAK_GLASS_SECONDS],
    );
    if (held === undefined) return null;
    await run('DELETE FROM recovery_codes WHERE user_id = $1', [userId]);
    const secondFactorRemoved = held.totp_confirmed_at !== null;
    await recordMemberChange(run, author, {
      userId,
      changes: { password: 'changed', ...(secondFactorRemoved && { second_factor: [true, false] }) },
    });
    return { endedSessions: await endOtherSessions(run, { userId, keepSessionId: null }), secondFactorRemoved };
  });
}

/** Maximum number of members of an account. */
export const MAX_MEMBERS = 1000;

/**
 * Counts the members of an account and its open invitations, without that of `email`, in lower case. `now` is in Unix
 * seconds.
 */
export async function countMembersAndInvited(
  run: Run,
  { tenantId, email, now }: { tenantId: string; email: string; now: number },
): Promise<number> {
  const [people] = await run<{ count: number }>(
    `SELECT (SELECT count(*) FROM users WHERE tenant_id = $1) + (SELECT count(*) FROM invitations i
       WHERE i.tenant_id = $1 AND i.accepted_at IS NULL AND i.expires_at > $2 AND i.email <> $3) AS count`,
    [tenantId, now, email],
  );
  return people?.count ?? 0;
}

/** Lists the members of an account, by creation. */
export async function listMembers(database: Pick<Database, 'pool'>, tenantId: string): Promise<User[]> {
  const rows = await runOn(database.pool)<UserRow>(
    `SELECT ${USER_COLUMNS} FROM users u WHERE u.tenant_id = $1 ORDER BY u.created_at, u.id`,
    [tenantId],
  );
  return rows.map(userOf);
}

/**
 * Changes a member's role, and ends their sessions except `keepSessionId` (null keeps none). Returns null if the
 * account has no such member; `last_owner`, and changes nothing, if the account would have no owner. Throws `NoOwner`.
 */
export async function changeRole(
  database: Pick<Database, 'pool'>,
  { author, ...key }: RowKey & Authored,
  { role, keepSessionId }: { role: Role; keepSessionId: string | null },
): Promise<User | 'last_owner' | null> {
  return await inTransaction(database, async (run) => {
    const member = await lockMember(run, key);
    await requireOwner(run, author, key.tenantId);
    if (member === null || member.role === role) return member;
    if (await isLastOwner(run, member)) return 'last_owner';
    await run('UPDATE users SET role = $2 WHERE id = $1', [member.id, role]);
    await endOtherSessions(run, { userId: member.id, keepSessionId });
    if (member.role === 'owner') await dropInvitationsBy(run, member.id);
    await insertAuditEntry(run, author, {
      tenantId: key.tenantId,
      object: memberObject(member),
      changes: { role: [member.role, role] },
    });
    return { ...member, role };
  });
}

/**
 * Removes a member, their sessions, and the open invitations that they made or that are to their address. Returns null
 * if the account has no such member, and `last_owner` as above. Throws `NoOwner` if the author removes another member.
 */
export async function removeMember(
  database: Pick<Database, 'pool'>,
  { author, ...key }: RowKey & Authored,
): Promise<User | 'last_owner' | null> {
  return await inTransaction(database, async (run) => {
    const member = await lockMember(run, key);
    if (author?.actor?.id !== key.id) await requireOwner(run, author, key.tenantId);
    if (member === null) return null;
    if (await isLastOwner(run, member)) return 'last_owner';
    await dropInvitationsBy(run, member.id);
    await dropInvitationsTo(run, member);
    await run('DELETE FROM users WHERE id = $1', [member.id]);
    await notifySessionsEnded(run, member.id);
    const { email, name, role } = member;
    await insertAuditEntry(run, author, {
      tenantId: key.tenantId,
      object: memberObject(member),
      changes: goneWith({ email, name, role }),
    });
    return member;
  });
}

/** Thrown if the author of a change is no longer an owner of the account. */
export class NoOwner extends Error {}

/**
 * Throws `NoOwner` if the author is a person who is not an owner. The caller must hold the account's lock: roles change
 * under it, and a waiting request may have been admitted with an earlier role.
 */
export async function requireOwner(run: Run, author: Author | null, tenantId: string): Promise<void> {
  if (author?.actor?.kind !== 'user') return;
  const owners = await run(`SELECT 1 FROM users WHERE id = $1 AND tenant_id = $2 AND role = 'owner'`, [
    author.actor.id,
    tenantId,
  ]);
  if (owners.length === 0) throw new NoOwner();
}

/** Locks a member and the account: if two owners remove each other concurrently, one must remain. */
async function lockMember(run: Run, { tenantId, id }: RowKey): Promise<User | null> {
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

/** Deletes the open invitations that a member made: they know the links, and could use one to return. */
async function dropInvitationsBy(run: Run, userId: string): Promise<void> {
  await run('DELETE FROM invitations WHERE invited_by = $1 AND accepted_at IS NULL', [userId]);
}

/** Deletes the open invitation of an account to a member's address: once removed, they could use it to return. */
export async function dropInvitationsTo(
  run: Run,
  { tenantId, email }: Pick<User, 'tenantId' | 'email'>,
): Promise<void> {
  await run('DELETE FROM invitations WHERE tenant_id = $1 AND email = $2 AND accepted_at IS NULL', [
    tenantId,
    normalizeEmail(email),
  ]);
}
