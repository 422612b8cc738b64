import type { Database } from './database.ts';
import { recordMemberChange } from './recorded-member.ts';
import { endOtherSessions } from './sessions.ts';
import { inPoolTransaction } from './sql.ts';

/** What was taken from a person who was given a new password. */
export type AccessReset = { endedSessions: number; secondFactorRemoved: boolean };

/**
 * Gives a person another password, takes their second factor away, one that was only begun too, and ends all their
 * sessions, in one transaction. The password counts as one that was handed out. Null when there is no such user any
 * more.
 */
export async function resetAccess(
  database: Pick<Database, 'pool' | 'author'>,
  userId: string,
  passwordHash: string,
): Promise<AccessReset | null> {
  return await inPoolTransaction(database, async (run) => {
    const [held] = await run<{ totp_confirmed_at: number | null }>(
      `WITH held AS (SELECT id, totp_confirmed_at FROM users WHERE id = $1 FOR NO KEY UPDATE)
       UPDATE users u SET password_hash = $2, password_changed_at = NULL, sealed_totp_secret = NULL,
         totp_confirmed_at = NULL, totp_step = NULL
       FROM held WHERE u.id = held.id RETURNING held.totp_confirmed_at`,
      [userId, passwordHash],
    );
    if (held === undefined) return null;
    await run('DELETE FROM recovery_codes WHERE user_id = $1', [userId]);
    const secondFactorRemoved = held.totp_confirmed_at !== null;
    await recordMemberChange(run, database, {
      userId,
      changes: { password: 'changed', ...(secondFactorRemoved && { second_factor: [true, false] }) },
    });
    return { endedSessions: await endOtherSessions(run, { userId, keepSessionId: null }), secondFactorRemoved };
  });
}
