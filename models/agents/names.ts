import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

/** An agent as results are shown with. */
export type NamedAgent = { id: string; name: string };

/** An agent's short number, of any tenant; null where there is none of that id. */
export async function findAgentNo(database: Pick<Database, 'pool'>, id: string): Promise<number | null> {
  const [row] = await runOn(database.pool)<{ no: number }>('SELECT no FROM agents WHERE id = $1', [id]);
  return row?.no ?? null;
}

/**
 * The agents that a tenant's results may come from, by short number: its own, the shared ones and the service itself;
 * those that were deleted are missing.
 */
export async function nameAgents(database: Pick<Database, 'pool'>, tenantId: string): Promise<Map<number, NamedAgent>> {
  const rows = await runOn(database.pool)<NamedAgent & { no: number }>(
    'SELECT no, id, name FROM agents WHERE tenant_id = $1 OR tenant_id IS NULL',
    [tenantId],
  );
  return new Map(rows.map(({ no, id, name }) => [no, { id, name }]));
}

/** The agent whose source a heartbeat, a domain, a dns or a vendor monitor has: the service itself. */
export async function findServiceAgent(database: Pick<Database, 'pool'>): Promise<NamedAgent | null> {
  const [row] = await runOn(database.pool)<NamedAgent>(`SELECT id, name FROM agents WHERE kind = 'service'`);
  return row ?? null;
}
