import { goneWith, madeWith } from '../../core/accounts/audit-entry.ts';
import type { Role } from '../../core/accounts/roles.ts';
import { CANARY } from '../../core/system/canary.ts';
import { notifySessionsEnded } from '../changes.ts';
import type { Database } from '../database.ts';
import { NO_PASSWORD_HASH } from '../secrets/password.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import { insertAuditEntry, type Authored } from './audit-log.ts';
import {
  USER_COLUMNS,
  memberObject,
  personName,
  recordMemberChange,
  userOf,
  type User,
  type UserRow,
} from './user-row.ts';
import { MAX_MEMBERS, countMembersAndInvited, dropInvitationsTo, insertUser } from './users.ts';

/** A person at an OpenID Connect provider. Times are Unix seconds; `email` is empty if the provider gave none. */
export type Identity = {
  id: string;
  issuer: string;
  email: string;
  createdAt: number;
  lastSignedInAt: number | null;
};

/** The key of a person at a provider: nothing else identifies them (D-585). */
type IdentityKey = { issuer: string; subject: string };

/** An identity to store. */
export type NewIdentity = IdentityKey & { id: string; email: string; nowMs: number };

/** Finds the user of an identity; null if it is not linked. */
export async function findIdentityUser(
  database: Pick<Database, 'pool'>,
  { issuer, subject }: IdentityKey,
): Promise<{ identityId: string; user: User } | null> {
  const [row] = await runOn(database.pool)<UserRow & { identity_id: string }>(
    `SELECT i.id AS identity_id, ${USER_COLUMNS} FROM open_id_identities i JOIN users u ON u.id = i.user_id
     WHERE i.issuer = $1 AND i.subject = $2`,
    [issuer, subject],
  );
  return row === undefined ? null : { identityId: row.identity_id, user: userOf(row) };
}

/** Lists the identities of a user, by creation. */
export async function listIdentities(database: Pick<Database, 'pool'>, userId: string): Promise<Identity[]> {
  return await runOn(database.pool)<Identity>(
    `SELECT id, issuer, email, created_at AS "createdAt", last_signed_in_at AS "lastSignedInAt"
     FROM open_id_identities WHERE user_id = $1 ORDER BY created_at, id`,
    [userId],
  );
}

/**
 * Links an identity to a user. Returns `taken`, and changes nothing, if another user has it or the user has another one
 * of the same issuer; `gone` if the user no longer exists.
 */
export async function linkIdentity(
  database: Pick<Database, 'pool'>,
  { userId, identity, author }: { userId: string; identity: NewIdentity } & Authored,
): Promise<'linked' | 'taken' | 'gone'> {
  return await inTransaction(database, async (run) => {
    const held = await run('SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE', [userId]);
    if (held.length === 0) return 'gone';
    if (!(await insertIdentity(run, userId, identity))) return 'taken';
    await recordMemberChange(run, author, { userId, changes: madeWith(shownOf(identity)) });
    return 'linked';
  });
}

/** Returns an identity as the audit log shows it. */
export function shownOf({ issuer, subject, email }: IdentityKey & { email: string }) {
  return { issuer, subject, provider_email: email };
}

/** Stores an identity in the caller's transaction; false if it is linked already, or the user has one of its issuer. */
export async function insertIdentity(run: Run, userId: string, identity: NewIdentity): Promise<boolean> {
  const { id, issuer, subject, email, nowMs } = identity;
  const inserted = await run(
    `INSERT INTO open_id_identities (id, user_id, issuer, subject, email, created_at) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT DO NOTHING RETURNING id`,
    [id, userId, issuer, subject, email, Math.floor(nowMs / 1000)],
  );
  return inserted.length > 0;
}

type ProvisionedUser = {
  id: string;
  /** Null = the installation's only account. */
  tenantId: string | null;
  email: string;
  name: string;
  role: Role;
  identity: NewIdentity;
};

/**
 * Creates a user without a password, and their identity, and ends an invitation to their address. Changes nothing if
 * another user has the address or the identity (`taken`), the account has `MAX_MEMBERS` including pending invitations
 * (`full`), the account does not exist, or none was named and there are several (`no_account`).
 */
export async function provisionUser(
  database: Pick<Database, 'pool'>,
  { author, ...wanted }: ProvisionedUser & Authored,
): Promise<User | 'taken' | 'full' | 'no_account'> {
  return await inTransaction(database, async (run) => {
    const tenants = await run<{ id: string }>(
      'SELECT id FROM tenants WHERE ($1::text IS NULL OR id = $1) AND id <> $2 ORDER BY id LIMIT 2 FOR NO KEY UPDATE',
      [wanted.tenantId, CANARY.tenantId],
    );
    const [tenant] = tenants;
    if (tenant === undefined || tenants.length > 1) return 'no_account';
    const now = Math.floor(wanted.identity.nowMs / 1000);
    if ((await countMembersAndInvited(run, { tenantId: tenant.id, email: wanted.email, now })) >= MAX_MEMBERS)
      return 'full';
    const known = await run('SELECT 1 FROM open_id_identities WHERE issuer = $1 AND subject = $2', [
      wanted.identity.issuer,
      wanted.identity.subject,
    ]);
    if (known.length > 0) return 'taken';
    const user = await insertUser(run, {
      id: wanted.id,
      tenantId: tenant.id,
      email: wanted.email,
      name: wanted.name,
      role: wanted.role,
      passwordHash: NO_PASSWORD_HASH,
      isOperator: false,
      nowMs: wanted.identity.nowMs,
    });
    if (user === null) return 'taken';
    if (!(await insertIdentity(run, user.id, wanted.identity)))
      throw new Error('An identity was taken while its user was made');
    await dropInvitationsTo(run, user);
    await insertAuditEntry(run, author, {
      tenantId: tenant.id,
      actor: { kind: 'user', id: user.id, name: personName(user) },
      object: memberObject(user),
      changes: madeWith({ email: user.email, name: user.name, role: user.role, ...shownOf(wanted.identity) }),
    });
    return user;
  });
}

/**
 * Unlinks an identity from a user, and ends the sessions that it began except `keepSessionId`. Returns the number of
 * ended sessions, or null if the user has no such identity.
 */
export async function unlinkIdentity(
  database: Pick<Database, 'pool'>,
  { userId, id, keepSessionId, author }: { userId: string; id: string; keepSessionId: string } & Authored,
): Promise<number | null> {
  return await inTransaction(database, async (run) => {
    await run('SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE', [userId]);
    const ended = await endSessionsOf(run, { identityId: id, userId, keepSessionId });
    const [gone] = await run<IdentityKey & { email: string }>(
      'DELETE FROM open_id_identities WHERE id = $2 AND user_id = $1 RETURNING issuer, subject, email',
      [userId, id],
    );
    if (gone === undefined) return null;
    await recordMemberChange(run, author, { userId, changes: goneWith(shownOf(gone)) });
    return ended;
  });
}

async function endSessionsOf(
  run: Run,
  { identityId, userId, keepSessionId }: { identityId: string; userId: string; keepSessionId: string },
): Promise<number> {
  const rows = await run(
    `DELETE FROM sessions s USING open_id_sessions o WHERE o.session_id = s.id AND o.identity_id = $1
       AND s.user_id = $2 AND s.id <> $3 RETURNING s.id`,
    [identityId, userId, keepSessionId],
  );
  if (rows.length > 0) await notifySessionsEnded(run, userId);
  return rows.length;
}

/**
 * A logout that a provider reports: of one of its sessions (`sid`), of a person (`subject`), or of one session of that
 * person. `tokenId` is valid once, until `expiresAtMs`.
 */
export type ProviderLogout = {
  issuer: string;
  subject: string | null;
  sid: string | null;
  tokenId: string;
  expiresAtMs: number;
};

/**
 * Ends the sessions that a logout refers to, and records it for each person; `authorOf` makes the author of one entry.
 * Returns the number of ended sessions, or null, and changes nothing, if the token was already used.
 */
export async function endProviderSessions(
  database: Pick<Database, 'pool'>,
  logout: ProviderLogout,
  authorOf: () => Authored['author'],
): Promise<number | null> {
  const { issuer, subject, sid, tokenId, expiresAtMs } = logout;
  return await inTransaction(database, async (run) => {
    if (!(await useOnce(run, `logout ${issuer} ${tokenId}`, expiresAtMs))) return null;
    const rows = await run<{ user_id: string }>(
      `DELETE FROM sessions s USING open_id_sessions o, open_id_identities i
       WHERE o.session_id = s.id AND i.id = o.identity_id AND i.issuer = $1
         AND ($2::text IS NULL OR i.subject = $2) AND ($3::text IS NULL OR o.sid = $3) RETURNING s.user_id`,
      [issuer, subject, sid],
    );
    const users = Map.groupBy(rows, ({ user_id: userId }) => userId);
    for (const [userId, ended] of users) {
      await notifySessionsEnded(run, userId);
      await recordMemberChange(run, authorOf(), { userId, changes: { ended_sessions: [null, ended.length] } });
    }
    return rows.length;
  });
}

/**
 * Marks a one-time value as used; false if it was used before. Call it only for values that a provider has vouched for.
 */
export async function useOnce(run: Run, thing: string, expiresAtMs: number): Promise<boolean> {
  const inserted = await run(
    'INSERT INTO open_id_used (fingerprint, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING expires_at',
    [fingerprintOf(thing), Math.ceil(expiresAtMs / 1000)],
  );
  return inserted.length > 0;
}

/** Deletes used one-time values that have expired by now; returns their number. */
export async function deleteUsedOnce(database: Pick<Database, 'pool'>, nowMs: number): Promise<number> {
  const [row] = await runOn(database.pool)<{ deleted: number }>(
    'WITH gone AS (DELETE FROM open_id_used WHERE expires_at <= $1 RETURNING 1) SELECT count(*) AS deleted FROM gone',
    [Math.floor(nowMs / 1000)],
  );
  return row?.deleted ?? 0;
}
