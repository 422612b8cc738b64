import { randomBytes } from 'node:crypto';
import type { Plan } from '../../core/accounts/plans.ts';
import { DAY_SECONDS } from '../../core/time.ts';
import { notifySessionsEnded } from '../changes.ts';
import type { Database } from '../database.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import type { Authored } from './audit-log.ts';
import type { Tenant } from './tenants.ts';
import { recordMemberChange, USER_COLUMNS, userOf, type User, type UserRow } from './user-row.ts';

/** A session of a person. Times are Unix seconds; `address` and `userAgent` are those of the sign-in. */
export type Session = {
  id: string;
  createdAt: number;
  lastSeenAt: number;
  expiresAt: number;
  address: string | null;
  userAgent: string | null;
};

/** The person and the account of a session. */
export type SessionHolder = { sessionId: string; user: User; tenant: Tenant };

/** Time from its last request, and from its beginning, after which a session ends, in seconds. */
export const IDLE_SECONDS = 14 * DAY_SECONDS;
export const LIFETIME_SECONDS = 90 * DAY_SECONDS;

/** Minimum time between two writes of `last_seen_at`, in seconds. */
const LAST_SEEN_SECONDS = 60;

/**
 * Maximum number of sessions of a person; the oldest are deleted. Programs that never sign out would fill the table.
 */
const SESSIONS_PER_USER = 50;

const SECRET_BYTES = 32;

/** Makes the secret of a session, in base64url: only the cookie contains it. */
export function generateSessionSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/**
 * `user` is the state that the password and second factor were checked against. `provider` is set for an OpenID Connect
 * sign-in: the identity, and the id of the provider's own session (null = unknown).
 */
export type NewSession = {
  id: string;
  secret: string;
  user: Pick<User, 'id' | 'passwordHash' | 'totpConfirmedAt'>;
  address: string | null;
  userAgent: string | null;
  provider?: { identityId: string; issuer: string; sid: string | null } | null;
  nowMs: number;
};

/**
 * Stores a session and deletes the person's old ones. Returns false, and stores nothing, if the person was removed
 * meanwhile or has a new password or second factor: such a change ends sessions, and this one would survive it. Also
 * false if the identity was unlinked.
 */
export async function createSession(
  database: Pick<Database, 'pool'>,
  { id, secret, user, address, userAgent, provider = null, nowMs, author }: NewSession & Authored,
): Promise<boolean> {
  const now = Math.floor(nowMs / 1000);
  const isCreated = await inTransaction(database, async (run) => {
    if (provider !== null && !(await lockIdentity(run, user.id, { ...provider, now }))) return false;
    const created = await run(
      `WITH signed_in AS (
         UPDATE users SET last_signed_in_at = $4 WHERE id = $2 AND password_hash = $7
           AND totp_confirmed_at IS NOT DISTINCT FROM $8::bigint RETURNING id
       )
       INSERT INTO sessions (id, user_id, fingerprint, created_at, last_seen_at, address, user_agent)
       SELECT $1, signed_in.id, $3, $4, $4, $5, $6 FROM signed_in RETURNING id`,
      [id, user.id, fingerprintOf(secret), now, address, userAgent, user.passwordHash, user.totpConfirmedAt],
    );
    if (created.length === 0) return false;
    if (provider !== null)
      await run('INSERT INTO open_id_sessions (session_id, identity_id, sid) VALUES ($1, $2, $3)', [
        id,
        provider.identityId,
        provider.sid,
      ]);
    await recordMemberChange(run, author, {
      userId: user.id,
      ...(provider !== null && { changes: { provider: [null, provider.issuer] } }),
    });
    return true;
  });
  // Old sessions are deleted outside the transaction, so that concurrent sign-ins do not wait for each other's while
  // they lock the person.
  await runOn(database.pool)(
    `DELETE FROM sessions WHERE user_id = $1 AND (last_seen_at <= $2 OR created_at <= $3
       OR id IN (SELECT id FROM sessions WHERE user_id = $1
         ORDER BY created_at DESC, id DESC OFFSET ${SESSIONS_PER_USER}))`,
    [user.id, now - IDLE_SECONDS, now - LIFETIME_SECONDS],
  );
  return isCreated;
}

/**
 * Records a sign-in with an identity, which stays locked until the transaction ends; false if it was unlinked
 * meanwhile.
 */
async function lockIdentity(
  run: Run,
  userId: string,
  { identityId, now }: { identityId: string; now: number },
): Promise<boolean> {
  // The person is locked first, in the same order as in all other changes of people.
  await run('SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE', [userId]);
  const held = await run(
    'UPDATE open_id_identities SET last_signed_in_at = $3 WHERE id = $1 AND user_id = $2 RETURNING id',
    [identityId, userId, now],
  );
  return held.length > 0;
}

/**
 * Finds the holder of an active session; null if the secret is unknown or the session has ended. Records its use, at
 * most once a minute.
 */
export async function findSessionHolder(
  database: Pick<Database, 'pool'>,
  secret: string,
  nowMs: number,
): Promise<SessionHolder | null> {
  const now = Math.floor(nowMs / 1000);
  const { rows } = await database.pool.query<
    UserRow & { session_id: string; last_seen_at: number; tenant_name: string; plan: Plan; tenant_created_at: number }
  >({
    name: 'find-session-holder',
    text: `SELECT s.id AS session_id, s.last_seen_at, t.name AS tenant_name, t.plan, t.created_at AS tenant_created_at,
        ${USER_COLUMNS}
           FROM sessions s JOIN users u ON u.id = s.user_id JOIN tenants t ON t.id = u.tenant_id
           WHERE s.fingerprint = $1 AND s.last_seen_at > $2 AND s.created_at > $3`,
    values: [fingerprintOf(secret), now - IDLE_SECONDS, now - LIFETIME_SECONDS],
  });
  const [row] = rows;
  if (row === undefined) return null;
  if (now - row.last_seen_at >= LAST_SEEN_SECONDS)
    await database.pool.query('UPDATE sessions SET last_seen_at = $2 WHERE id = $1 AND last_seen_at < $2', [
      row.session_id,
      now,
    ]);
  return {
    sessionId: row.session_id,
    user: userOf(row),
    tenant: { id: row.tenant_id, name: row.tenant_name, plan: row.plan, createdAt: row.tenant_created_at },
  };
}

/** Lists the active sessions of a person, newest first. */
export async function listSessions(
  database: Pick<Database, 'pool'>,
  userId: string,
  nowMs: number,
): Promise<Session[]> {
  const now = Math.floor(nowMs / 1000);
  const rows = await runOn(database.pool)<{
    id: string;
    created_at: number;
    last_seen_at: number;
    address: string | null;
    user_agent: string | null;
  }>(
    `SELECT id, created_at, last_seen_at, address, user_agent FROM sessions
     WHERE user_id = $1 AND last_seen_at > $2 AND created_at > $3 ORDER BY created_at DESC, id DESC`,
    [userId, now - IDLE_SECONDS, now - LIFETIME_SECONDS],
  );
  return rows.map((row) => ({
    id: row.id,
    createdAt: row.created_at,
    lastSeenAt: row.last_seen_at,
    expiresAt: Math.min(row.last_seen_at + IDLE_SECONDS, row.created_at + LIFETIME_SECONDS),
    address: row.address,
    userAgent: row.user_agent,
  }));
}

/** Ends one session of a person; false if they have none with this id. */
export async function endSession(
  database: Pick<Database, 'pool'>,
  { userId, id, author }: { userId: string; id: string } & Authored,
): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    const ended = await run('DELETE FROM sessions WHERE id = $2 AND user_id = $1 RETURNING id', [userId, id]);
    if (ended.length === 0) return false;
    await recordMemberChange(run, author, { userId });
    await notifySessionsEnded(run, userId);
    return true;
  });
}

/** Ends all sessions of a person except the current one, and records it; returns their number. */
export async function endSessionsElsewhere(
  database: Pick<Database, 'pool'>,
  { userId, keepSessionId, author }: { userId: string; keepSessionId: string } & Authored,
): Promise<number> {
  return await inTransaction(database, async (run) => {
    const ended = await endOtherSessions(run, { userId, keepSessionId });
    if (ended > 0) await recordMemberChange(run, author, { userId, changes: { ended_sessions: [null, ended] } });
    return ended;
  });
}

/** Ends the session with this secret, of any user; does nothing if there is none. */
export async function endSessionOf(database: Pick<Database, 'pool'>, secret: string): Promise<void> {
  const run = runOn(database.pool);
  const [ended] = await run<{ user_id: string }>('DELETE FROM sessions WHERE fingerprint = $1 RETURNING user_id', [
    fingerprintOf(secret),
  ]);
  if (ended !== undefined) await notifySessionsEnded(run, ended.user_id);
}

/** Deletes ended sessions of all users, because people who never return do not trigger it; returns their number. */
export async function deleteOverSessions(database: Pick<Database, 'pool'>, nowMs: number): Promise<number> {
  const now = Math.floor(nowMs / 1000);
  const [row] = await runOn(database.pool)<{ deleted: number }>(
    'WITH gone AS (DELETE FROM sessions WHERE last_seen_at <= $1 OR created_at <= $2 RETURNING 1) SELECT ' +
      'count(*) AS deleted FROM gone',
    [now - IDLE_SECONDS, now - LIFETIME_SECONDS],
  );
  return row?.deleted ?? 0;
}

/**
 * Ends all sessions of a person but one (null = all), within the caller's transaction if there is one; returns their
 * number.
 */
export async function endOtherSessions(
  run: Run,
  { userId, keepSessionId }: { userId: string; keepSessionId: string | null },
): Promise<number> {
  const rows = await run('DELETE FROM sessions WHERE user_id = $1 AND id IS DISTINCT FROM $2::text RETURNING id', [
    userId,
    keepSessionId,
  ]);
  if (rows.length > 0) await notifySessionsEnded(run, userId);
  return rows.length;
}

/**
 * Returns those of the sessions and API tokens that are still valid, and of the users that exist, by id, in one
 * statement. Does not count as use: `last_seen_at` stays.
 */
export async function listValidCallers(
  database: Pick<Database, 'pool'>,
  {
    sessionIds,
    userIds,
    tokenIds,
    nowMs,
  }: { sessionIds: readonly string[]; userIds: readonly string[]; tokenIds: readonly string[]; nowMs: number },
): Promise<Set<string>> {
  const now = Math.floor(nowMs / 1000);
  const rows = await runOn(database.pool)<{ id: string }>(
    `SELECT id FROM sessions WHERE id = ANY($1::text[]) AND last_seen_at > $3 AND created_at > $4
     UNION ALL
     SELECT id FROM api_tokens WHERE id = ANY($2::text[]) AND revoked_at IS NULL AND (expires_at IS NULL
       OR expires_at > $5)
     UNION ALL
     SELECT id FROM users WHERE id = ANY($6::text[])`,
    [sessionIds, tokenIds, now - IDLE_SECONDS, now - LIFETIME_SECONDS, now, userIds],
  );
  return new Set(rows.map(({ id }) => id));
}
