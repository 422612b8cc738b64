import { DAY_SECONDS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

/** The owner of browsers and networks: a user, or an account without one such as the queue board (`userId` null). */
type SignInAccount = { account: string; userId: string | null };

/** The browsers and networks of a sign-in, and its time. */
type SignIn = { clients: readonly string[]; nowMs: number };

/** Time without a sign-in after which a client is deleted, in seconds. */
export const KEPT_SECONDS = 180 * DAY_SECONDS;

/** Minimum time between two updates of a known client's `seen_at`, in seconds. */
const REFRESHED_AFTER_SECONDS = DAY_SECONDS;

/**
 * Maximum number of clients of a kind per account; the oldest are deleted, because programs may sign in any number of
 * times.
 */
const CLIENTS_PER_KIND = 25;

type SignInDatabase = Pick<Database, 'pool'>;

/** Returns those of the clients that have signed in to this account. */
export async function findSignInClients(
  { pool }: SignInDatabase,
  account: string,
  clients: readonly string[],
): Promise<string[]> {
  const select = 'SELECT place FROM sign_in_places WHERE account = $1 AND place = ANY($2::text[])';
  const rows = await runOn(pool)<{ place: string }>(select, [account, clients]);
  return rows.map(({ place }) => place);
}

/** Records a sign-in from these clients; does nothing if the user was deleted meanwhile. */
export async function recordSignInClients(
  { pool }: SignInDatabase,
  of: SignInAccount,
  { clients, nowMs }: SignIn,
): Promise<void> {
  const { account, userId } = of;
  const now = Math.floor(nowMs / 1000);
  const recorded = await runOn(pool)(
    `WITH held AS (SELECT id FROM users WHERE id = $2 FOR KEY SHARE)
     INSERT INTO sign_in_places AS p (account, user_id, place, seen_at)
     SELECT $1, $2, place, $4 FROM unnest($3::text[]) AS place WHERE $2::text IS NULL OR EXISTS (SELECT FROM held)
     ON CONFLICT (account, place) DO UPDATE SET seen_at = excluded.seen_at
     WHERE p.seen_at <= excluded.seen_at - ${REFRESHED_AFTER_SECONDS} RETURNING place`,
    [account, userId, clients, now],
  );
  if (recorded.length === 0) return;
  await runOn(pool)(
    `DELETE FROM sign_in_places WHERE account = $1 AND place IN (
       SELECT place FROM (
         SELECT place, row_number() OVER (PARTITION BY split_part(place, ':', 1) ORDER BY seen_at DESC, place) AS rank
         FROM sign_in_places WHERE account = $1
       ) AS ranked WHERE rank > ${CLIENTS_PER_KIND})`,
    [account],
  );
}

/** Deletes clients without a sign-in for half a year; returns their number. */
export async function deleteOldSignInClients({ pool }: SignInDatabase, nowMs: number): Promise<number> {
  const [row] = await runOn(pool)<{ deleted: number }>(
    `WITH gone AS (DELETE FROM sign_in_places WHERE seen_at <= $1 RETURNING 1)
     SELECT count(*) AS deleted FROM gone`,
    [Math.floor(nowMs / 1000) - KEPT_SECONDS],
  );
  return row?.deleted ?? 0;
}
