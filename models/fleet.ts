import type { Database } from './database.ts';
import { runOn } from './sql.ts';

/**
 * A shared agent as operators see it; `monitors` is how many it watches. Times are Unix seconds; null = never, or it is
 * not.
 */
export type FleetAgent = {
  id: string;
  name: string;
  region: string;
  version: string | null;
  lastSeenAt: number | null;
  offlineSince: number | null;
  retiredAt: number | null;
  monitors: number;
};

/** Customers' agents, of which operators see only how many there are. */
export type CustomersAgents = { total: number; offline: number };

/** The shared agents by region, and how many the customers have. */
export async function readFleet(
  database: Pick<Database, 'pool'>,
): Promise<{ agents: FleetAgent[]; customersAgents: CustomersAgents }> {
  const run = runOn(database.pool);
  const agents = await run<FleetAgent>(
    `SELECT a.id, a.name, a.region, a.version, a.last_seen_at AS "lastSeenAt", a.offline_at / 1000 AS "offlineSince",
     a.revoked_at AS "retiredAt",
            (SELECT count(*) FROM monitor_sources s WHERE s.agent_no = a.no AND s.phase IS NOT NULL) AS monitors
     FROM agents a WHERE a.kind = 'first_party' ORDER BY a.region`,
  );
  const [customersAgents = { total: 0, offline: 0 }] = await run<CustomersAgents>(
    `SELECT count(*) AS total, count(*) FILTER (WHERE offline_at IS NOT NULL) AS offline FROM agents
     WHERE kind = 'tenant' AND revoked_at IS NULL AND last_seen_at IS NOT NULL`,
  );
  return { agents, customersAgents };
}
