import type { Database } from '../database.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import type { Authored } from './audit-log.ts';
import { endOtherSessions } from './sessions.ts';
import { recordMemberChange } from './user-row.ts';

/**
 * The secret that a person's codes are computed from (RFC 6238), in base32, and its sealed form. `confirmedAt` is in
 * Unix seconds; null = no code has confirmed it yet.
 */
type SecondFactor = { secret: string; sealed: string; confirmedAt: number | null };

/** Owner of a second factor, and the session that is kept when it changes. */
type FactorOwner = { userId: string; keepSessionId: string };

/** Returns the context that a secret is sealed with. */
export function totpContext(userId: string): string {
  return `user:${userId}:totp`;
}

/** Thrown for a second factor, confirmed or not, whose secret no key of the ring opens. */
export class SecondFactorLocked extends Error {
  readonly isConfirmed: boolean;

  constructor(userId: string, isConfirmed: boolean, cause: unknown) {
    super(`The second factor of ${userId} cannot be decrypted`, { cause });
    this.isConfirmed = isConfirmed;
  }
}

/**
 * Finds the second factor of a person, active or unconfirmed; null if there is none. Throws `SecondFactorLocked` if
 * its secret does not open.
 */
export async function findSecondFactor(
  { pool, secrets }: Pick<Database, 'pool' | 'secrets'>,
  userId: string,
): Promise<SecondFactor | null> {
  const [row] = await runOn(pool)<{ sealed_totp_secret: string | null; totp_confirmed_at: number | null }>(
    'SELECT sealed_totp_secret, totp_confirmed_at FROM users WHERE id = $1',
    [userId],
  );
  if (row === undefined || row.sealed_totp_secret === null) return null;
  const { sealed_totp_secret: sealed, totp_confirmed_at: confirmedAt } = row;
  try {
    return { secret: secrets.open(sealed, totpContext(userId)), sealed, confirmedAt };
  } catch (error) {
    throw new SecondFactorLocked(userId, confirmedAt !== null, error);
  }
}

/** Stores an unconfirmed secret in place of a previous one; false if a second factor is active. */
export async function beginSecondFactor(
  database: Pick<Database, 'pool' | 'secrets'>,
  { userId, secret, author }: { userId: string; secret: string } & Authored,
): Promise<boolean> {
  const sealed = database.secrets.seal(secret, totpContext(userId));
  return await inTransaction(database, async (run) => {
    const rows = await run(
      'UPDATE users SET sealed_totp_secret = $2, totp_step = NULL WHERE id = $1 AND totp_confirmed_at IS NULL ' +
        'RETURNING id',
      [userId, sealed],
    );
    if (rows.length > 0) await recordMemberChange(run, author, { userId, changes: { second_factor: 'changed' } });
    return rows.length > 0;
  });
}

/** Marks the code of a time step as used; false if one of that step or a later one was used before (RFC 6238, 5.2). */
export async function takeTotpStep(database: Pick<Database, 'pool'>, userId: string, step: number): Promise<boolean> {
  const rows = await runOn(database.pool)(
    'UPDATE users SET totp_step = $2 WHERE id = $1 AND totp_confirmed_at IS NOT NULL AND coalesce(totp_step, -1) ' +
      '< $2 RETURNING id',
    [userId, step],
  );
  return rows.length > 0;
}

/** Uses up a recovery code; false if it is not one of the person's, or was used before. */
export async function takeRecoveryCode(
  database: Pick<Database, 'pool'>,
  userId: string,
  code: string,
): Promise<boolean> {
  const rows = await runOn(database.pool)(
    'DELETE FROM recovery_codes WHERE user_id = $1 AND fingerprint = $2 RETURNING user_id',
    [userId, fingerprintOf(code)],
  );
  return rows.length > 0;
}

/** Returns the number of recovery codes that a person has left. */
export async function countRecoveryCodes(database: Pick<Database, 'pool'>, userId: string): Promise<number> {
  const [row] = await runOn(database.pool)<{ count: number }>(
    'SELECT count(*) FROM recovery_codes WHERE user_id = $1',
    [userId],
  );
  return row?.count ?? 0;
}

/**
 * Activates an unconfirmed second factor, with its first code's step and its recovery codes, and ends the other
 * sessions. Returns false if one is active already, or another secret was stored since `sealed` was read: the code
 * belongs to the old one.
 */
export async function confirmSecondFactor(
  database: Pick<Database, 'pool'>,
  { userId, keepSessionId, author }: FactorOwner & Authored,
  { sealed, step, codes, nowMs }: { sealed: string; step: number; codes: readonly string[]; nowMs: number },
): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    const confirmed = await run(
      'UPDATE users SET totp_confirmed_at = $2, totp_step = $3 WHERE id = $1 AND sealed_totp_secret = $4 AND ' +
        'totp_confirmed_at IS NULL RETURNING id',
      [userId, Math.floor(nowMs / 1000), step, sealed],
    );
    if (confirmed.length === 0) return false;
    await storeCodes(run, userId, codes);
    await endOtherSessions(run, { userId, keepSessionId });
    await recordMemberChange(run, author, {
      userId,
      changes: { second_factor: [false, true], recovery_codes: 'changed' },
    });
    return true;
  });
}

/** Replaces the recovery codes; false if no second factor is active. */
export async function replaceRecoveryCodes(
  database: Pick<Database, 'pool'>,
  { userId, codes, author }: { userId: string; codes: readonly string[] } & Authored,
): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    const held = await run('SELECT id FROM users WHERE id = $1 AND totp_confirmed_at IS NOT NULL FOR NO KEY UPDATE', [
      userId,
    ]);
    if (held.length === 0) return false;
    await storeCodes(run, userId, codes);
    await recordMemberChange(run, author, { userId, changes: { recovery_codes: 'changed' } });
    return true;
  });
}

/**
 * Removes an active second factor with its recovery codes, and ends the other sessions. Returns the number of ended
 * sessions, or null if none is active.
 */
export async function removeSecondFactor(
  database: Pick<Database, 'pool'>,
  { userId, keepSessionId, author }: FactorOwner & Authored,
): Promise<number | null> {
  return await inTransaction(database, async (run) => {
    const removed = await run(
      'UPDATE users SET sealed_totp_secret = NULL, totp_confirmed_at = NULL, totp_step = NULL WHERE id = $1 AND ' +
        'totp_confirmed_at IS NOT NULL RETURNING id',
      [userId],
    );
    if (removed.length === 0) return null;
    await run('DELETE FROM recovery_codes WHERE user_id = $1', [userId]);
    await recordMemberChange(run, author, {
      userId,
      changes: { second_factor: [true, false], recovery_codes: 'changed' },
    });
    return await endOtherSessions(run, { userId, keepSessionId });
  });
}

async function storeCodes(run: Run, userId: string, codes: readonly string[]): Promise<void> {
  await run('DELETE FROM recovery_codes WHERE user_id = $1', [userId]);
  await run('INSERT INTO recovery_codes (user_id, fingerprint) SELECT $1, unnest($2::bytea[])', [
    userId,
    codes.map(fingerprintOf),
  ]);
}
