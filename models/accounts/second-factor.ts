import type { Database } from '../database.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import type { Authored } from './audit-log.ts';
import { endOtherSessions } from './sessions.ts';
import { recordMemberChange } from './user-row.ts';

/**
 * What a person's codes are made from (RFC 6238), in base32, and its stored form. `confirmedAt` is in Unix seconds;
 * null = no code has confirmed it yet.
 */
type SecondFactor = { secret: string; sealed: string; confirmedAt: number | null };

/** Whose second factor, and which of their sessions is to stay when it changes. */
type FactorOwner = { userId: string; keepSessionId: string };

/** What a sealed secret is bound to. */
export function totpContext(userId: string): string {
  return `user:${userId}:totp`;
}

/** The second factor of a person, in use or begun; null when there is none. */
export async function findSecondFactor(
  { pool, secrets }: Pick<Database, 'pool' | 'secrets'>,
  userId: string,
): Promise<SecondFactor | null> {
  const [row] = await runOn(pool)<{ sealed_totp_secret: string | null; totp_confirmed_at: number | null }>(
    'SELECT sealed_totp_secret, totp_confirmed_at FROM users WHERE id = $1',
    [userId],
  );
  if (row === undefined || row.sealed_totp_secret === null) return null;
  return {
    secret: secrets.open(row.sealed_totp_secret, totpContext(userId)),
    sealed: row.sealed_totp_secret,
    confirmedAt: row.totp_confirmed_at,
  };
}

/**
 * Stores a secret that waits for its first code, in the place of one that did; false when a second factor is in use.
 */
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

/** Takes the code of a time step; false when one of that step or a later one was taken already (RFC 6238, 5.2). */
export async function takeTotpStep(database: Pick<Database, 'pool'>, userId: string, step: number): Promise<boolean> {
  const rows = await runOn(database.pool)(
    'UPDATE users SET totp_step = $2 WHERE id = $1 AND totp_confirmed_at IS NOT NULL AND coalesce(totp_step, -1) ' +
      '< $2 RETURNING id',
    [userId, step],
  );
  return rows.length > 0;
}

/** Uses up a recovery code; false when it is none of the person's, or was used. */
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

/** How many recovery codes a person has left. */
export async function countRecoveryCodes(database: Pick<Database, 'pool'>, userId: string): Promise<number> {
  const [row] = await runOn(database.pool)<{ count: number }>(
    'SELECT count(*) FROM recovery_codes WHERE user_id = $1',
    [userId],
  );
  return row?.count ?? 0;
}

/**
 * Puts a begun second factor to use, with its first code's step and its recovery codes, and ends the other sessions.
 * False when it is in use already, or another one was begun since `sealed` was read: the code was none of that.
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

/** Puts new recovery codes in the place of the old ones; false when no second factor is in use. */
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
 * Drops a second factor that is in use, its recovery codes too, and ends the other sessions. How many ended; null when
 * none is in use.
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
