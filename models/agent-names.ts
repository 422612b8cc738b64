import type { Database } from './database.ts';
import { runOn } from './sql.ts';

/** An agent as results are shown with. */
export type NamedAgent = { id: string; name: string };

/** An agent's short number, whoever owns it; null where there is none of that id. */
export async function findAgentNo(database: Pick<Database, 'pool'>, id: string): Promise<number | null> {
  const [row] = await runOn(database.pool)<{ no: number }>('SELECT no FROM agents WHERE id = $1', [id]);
  return row?.no ?? null;
}

/** The agents of these short numbers; those that were deleted are missing. */
export async function nameAgents(database: Pick<Database, 'pool'>, agentNos: readonly number[]): Promise<Map<number, NamedAgent>> {
  if (agentNos.length === 0) return new Map();
  const rows = await runOn(database.pool)<{ no: number; id: string; name: string }>('SELECT no, id, name FROM agents WHERE no = ANY($1::int[])', [agentNos]);
  return new Map(rows.map(({ no, id, name }) => [no, { id, name }]));
}

/** The agent whose source a heartbeat, a domain, a dns or a vendor monitor has: the service itself. */
export async function findServiceAgent(database: Pick<Database, 'pool'>): Promise<NamedAgent | null> {
  const [row] = await runOn(database.pool)<NamedAgent>(`SELECT id, name FROM agents WHERE kind = 'service'`);
  return row ?? null;
}
