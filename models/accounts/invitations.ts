import { randomBytes } from 'node:crypto';
import { goneWith, madeWith } from '../../core/accounts/audit-entry.ts';
import type { Role } from '../../core/accounts/roles.ts';
import { DAY_SECONDS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { NO_PASSWORD_HASH } from '../secrets/password.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';
import { inTransaction, runOn, type Run, type RowKey } from '../sql.ts';
import { insertAuditEntry, type Authored } from './audit-log.ts';
import { insertIdentity, shownOf, type NewIdentity } from './identities.ts';
import { personName, type User } from './user-row.ts';
import { MAX_MEMBERS, countMembersAndInvited, insertUser, normalizeEmail, requireOwner } from './users.ts';

/**
 * An open invitation. Times are Unix seconds; `invitedBy` is the name or address of a member, null once they have left.
 */
export type Invitation = {
  id: string;
  email: string;
  role: Role;
  invitedBy: string | null;
  createdAt: number;
  expiresAt: number;
};

/** An invitation as the holder of its link sees it. */
type OpenInvitation = {
  id: string;
  tenantId: string;
  tenantName: string;
  /** Name of the inviting member; null if they have none, because their address is not disclosed to strangers. */
  inviterName: string | null;
  email: string;
  role: Role;
  expiresAt: number;
};

/** Validity of an invitation, and time that an expired one is kept, in seconds. */
export const INVITATION_GOOD_SECONDS = 7 * DAY_SECONDS;
const KEPT_SECONDS = 30 * DAY_SECONDS;

/** Maximum number of open invitations of an account. */
export const MAX_INVITATIONS = 100;

/** Columns of an `Invitation`: from `invitations` as `i`, and from the inviting user as `u`. */
const COLUMNS = `i.id, i.email, i.role, coalesce(nullif(u.name, ''), u.email) AS "invitedBy",
  i.created_at AS "createdAt", i.expires_at AS "expiresAt"`;

/** Makes the token at the end of an invitation's link: 32 random bytes, shown once and never stored. */
export function generateInvitationToken(): string {
  return randomBytes(32).toString('base64url');
}

type NewInvitation = {
  id: string;
  tenantId: string;
  email: string;
  role: Role;
  token: string;
  invitedBy: string;
  nowMs: number;
};

/**
 * Stores an invitation in place of an older one for the same address, in lower case, and deletes old ones. Stores
 * nothing and returns `member` for a member of the account, `too_many` beyond `MAX_INVITATIONS`, `full` if accepting
 * all of them would exceed `MAX_MEMBERS`. Throws `NoOwner`.
 */
export async function createInvitation(
  database: Pick<Database, 'pool'>,
  { id, tenantId, role, token, invitedBy, nowMs, author, ...given }: NewInvitation & Authored,
): Promise<Invitation | 'member' | 'too_many' | 'full'> {
  const [email, now] = [normalizeEmail(given.email), Math.floor(nowMs / 1000)];
  return await inTransaction(database, async (run) => {
    await run('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
    await requireOwner(run, author, tenantId);
    const members = await run('SELECT 1 FROM users WHERE tenant_id = $1 AND email IN ($2, $3)', [
      tenantId,
      given.email,
      email,
    ]);
    if (members.length > 0) return 'member';
    // Does not count the invitation that this one replaces.
    const [open] = await run<{ count: number }>(
      `SELECT count(*) FROM invitations
       WHERE tenant_id = $1 AND accepted_at IS NULL AND expires_at > $2 AND email <> $3`,
      [tenantId, now, email],
    );
    if ((open?.count ?? 0) >= MAX_INVITATIONS) return 'too_many';
    if ((await countMembersAndInvited(run, { tenantId, email, now })) >= MAX_MEMBERS) return 'full';
    await run(
      'DELETE FROM invitations WHERE tenant_id = $1 AND (expires_at <= $2 OR (email = $3 AND accepted_at IS NULL))',
      [tenantId, now - KEPT_SECONDS, email],
    );
    const [invitation] = await run<Invitation>(
      `WITH i AS (INSERT INTO invitations (id, tenant_id, email, role, fingerprint, invited_by, created_at, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING *)
       SELECT ${COLUMNS} FROM i LEFT JOIN users u ON u.id = i.invited_by`,
      [id, tenantId, email, role, fingerprintOf(token), invitedBy, now, now + INVITATION_GOOD_SECONDS],
    );
    if (invitation === undefined) throw new Error('An invitation was not stored');
    await insertAuditEntry(run, author, {
      tenantId,
      object: { kind: 'invitation', id, name: email },
      changes: madeWith({ email, role, expires_at: invitation.expiresAt }, { url: token }),
    });
    return invitation;
  });
}

/** Lists an account's open invitations by creation, including those that expired within the last 30 days. */
export async function listInvitations(
  database: Pick<Database, 'pool'>,
  tenantId: string,
  nowMs: number,
): Promise<Invitation[]> {
  return await runOn(database.pool)<Invitation>(
    `SELECT ${COLUMNS} FROM invitations i LEFT JOIN users u ON u.id = i.invited_by
     WHERE i.tenant_id = $1 AND i.accepted_at IS NULL AND i.expires_at > $2 ORDER BY i.created_at, i.id`,
    [tenantId, Math.floor(nowMs / 1000) - KEPT_SECONDS],
  );
}

/** Revokes an invitation; false if the account has no open one with this id. */
export async function deleteInvitation(
  database: Pick<Database, 'pool'>,
  { tenantId, id, author }: RowKey & Authored,
): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    const [gone] = await run<{ email: string; role: Role }>(
      'DELETE FROM invitations WHERE id = $2 AND tenant_id = $1 AND accepted_at IS NULL RETURNING email, role',
      [tenantId, id],
    );
    if (gone === undefined) return false;
    await insertAuditEntry(run, author, {
      tenantId,
      object: { kind: 'invitation', id, name: gone.email },
      changes: goneWith(gone),
    });
    return true;
  });
}

/** Deletes invitations of all accounts that expired more than 30 days ago, accepted or not; returns their number. */
export async function deletePastInvitations(database: Pick<Database, 'pool'>, nowMs: number): Promise<number> {
  const [row] = await runOn(database.pool)<{ deleted: number }>(
    'WITH gone AS (DELETE FROM invitations WHERE expires_at <= $1 RETURNING 1) SELECT count(*) AS deleted FROM gone',
    [Math.floor(nowMs / 1000) - KEPT_SECONDS],
  );
  return row?.deleted ?? 0;
}

/** Finds the invitation of a link; null if it was used or revoked, has expired, or never existed. */
export async function findOpenInvitation(
  database: Pick<Database, 'pool'>,
  token: string,
  nowMs: number,
): Promise<OpenInvitation | null> {
  return await readOpen(runOn(database.pool), token, nowMs);
}

/** `passwordHash` null = the person has no password, and signs in with `identity`. */
type Acceptance = { token: string; userId: string; name: string; nowMs: number } & (
  | { passwordHash: string; identity?: never }
  | { passwordHash: null; identity: NewIdentity }
);

/**
 * Uses up an invitation and creates its member. Returns null if it is no longer valid; `taken`, and changes nothing, if
 * a user of any account has the address by now.
 */
export async function acceptInvitation(
  database: Pick<Database, 'pool'>,
  { token, userId, name, passwordHash, identity, nowMs, author }: Acceptance & Authored,
): Promise<User | 'taken' | null> {
  return await inTransaction(database, async (run) => {
    const invitation = await readOpen(run, token, nowMs);
    if (invitation === null) return null;
    const { id, tenantId, email, role } = invitation;
    // Other changes of members lock the account first, and may then end this invitation.
    await run('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
    // Of two concurrent uses of a link, the second waits here and finds it used.
    const used = await run('SELECT 1 FROM invitations WHERE id = $1 AND accepted_at IS NULL FOR UPDATE', [id]);
    if (used.length === 0) return null;
    const user = await insertUser(run, {
      id: userId,
      tenantId,
      email,
      name,
      role,
      passwordHash: passwordHash ?? NO_PASSWORD_HASH,
      choseThePassword: passwordHash !== null,
      isOperator: false,
      nowMs,
    });
    if (user === null) return 'taken';
    if (identity !== undefined && !(await insertIdentity(run, userId, identity)))
      throw new Error('An identity became another user’s while its invitation was accepted');
    await run('UPDATE invitations SET accepted_at = $2 WHERE id = $1', [id, Math.floor(nowMs / 1000)]);
    const actor = { kind: 'user' as const, id: userId, name: personName(user) };
    await insertAuditEntry(run, author, {
      tenantId,
      actor,
      object: { kind: 'invitation', id, name: email },
      changes: madeWith(
        { member_id: userId, email, name, role, ...(identity && shownOf(identity)) },
        { password: passwordHash },
      ),
    });
    return user;
  });
}

async function readOpen(run: Run, token: string, nowMs: number): Promise<OpenInvitation | null> {
  const [invitation] = await run<OpenInvitation>(
    `SELECT i.id, i.tenant_id AS "tenantId", t.name AS "tenantName", nullif(u.name, '') AS "inviterName", i.email,
       i.role, i.expires_at AS "expiresAt"
     FROM invitations i JOIN tenants t ON t.id = i.tenant_id LEFT JOIN users u ON u.id = i.invited_by
     WHERE i.fingerprint = $1 AND i.accepted_at IS NULL AND i.expires_at > $2`,
    [fingerprintOf(token), Math.floor(nowMs / 1000)],
  );
  return invitation ?? null;
}
