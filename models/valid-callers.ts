import type { Database } from './database.ts';
import { IDLE_SECONDS, LIFETIME_SECONDS } from './sessions.ts';
import { runOn } from './sql.ts';

/**
 * Those of these sessions and API tokens that are still good, by their ids, in one statement. It is no use of them:
 * `last_seen_at` stays.
 */
export async function listValidCallers(
  database: Pick<Database, 'pool'>,
  { sessionIds, tokenIds, nowMs }: { sessionIds: readonly string[]; tokenIds: readonly string[]; nowMs: number },
): Promise<Set<string>> {
  const now = Math.floor(nowMs / 1000);
  const rows = await runOn(database.pool)<{ id: string }>(
    `SELECT id FROM sessions WHERE id = ANY($1::text[]) AND last_seen_at > $3 AND created_at > $4
     UNION ALL
     SELECT id FROM api_tokens WHERE id = ANY($2::text[]) AND revoked_at IS NULL AND (expires_at IS NULL
       OR expires_at > $5)`,
    [sessionIds, tokenIds, now - IDLE_SECONDS, now - LIFETIME_SECONDS, now],
  );
  return new Set(rows.map(({ id }) => id));
}
