import type { Database } from './database.ts';
import { runOn } from './sql.ts';

/** How much an account has of what plans count, and of what they do not. */
export type Usage = { monitors: number; ownAgents: number; tokens: number; channels: number; members: number };

/** Counts what an account has, as the limits count it (D-60): tokens that are good, agents that were not revoked. */
export async function countUsage(database: Pick<Database, 'pool'>, tenantId: string, nowMs: number): Promise<Usage> {
  const [row] = await runOn(database.pool)<{
    monitors: number;
    own_agents: number;
    tokens: number;
    channels: number;
    members: number;
  }>(
    `SELECT (SELECT count(*) FROM monitors WHERE tenant_id = $1) AS monitors,
            (SELECT count(*) FROM agents WHERE tenant_id = $1 AND revoked_at IS NULL) AS own_agents,
            (SELECT count(*) FROM api_tokens WHERE tenant_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL
              OR expires_at > $2)) AS tokens,
            (SELECT count(*) FROM channels WHERE tenant_id = $1) AS channels,
            (SELECT count(*) FROM users WHERE tenant_id = $1) AS members`,
    [tenantId, Math.floor(nowMs / 1000)],
  );
  if (row === undefined) throw new Error('Counting answered nothing');
  return {
    monitors: row.monitors,
    ownAgents: row.own_agents,
    tokens: row.tokens,
    channels: row.channels,
    members: row.members,
  };
}
