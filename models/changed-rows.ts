import type { Channel } from '../core/alerts/channel.ts';
import { findAgent, type Agent } from './agents/agents.ts';
import { findChannel } from './alerts/channels.ts';
import type { Database } from './database.ts';
import { INCIDENT_COLUMNS, type ListedIncident } from './incidents/history.ts';
import { LISTED, selectList, type ListedMonitor } from './monitors/monitor-rows.ts';
import { runOn } from './sql.ts';

/** Things of a tenant, or a tenant's to use, by their ids. */
type Keys = { tenantId: string; ids: readonly string[] };

/** Those of `ids` that are monitors of the tenant, as lists show them, in no order. */
export async function listMonitorsById(database: Database, { tenantId, ids }: Keys): Promise<ListedMonitor[]> {
  return await runOn(database.pool)<ListedMonitor>(
    `SELECT ${selectList(LISTED)} FROM monitors WHERE id = ANY($1::text[]) AND tenant_id = $2`,
    [ids, tenantId],
  );
}

/** Those of `ids` that are incidents of the tenant, in no order. */
export async function listIncidentsById(database: Database, { tenantId, ids }: Keys): Promise<ListedIncident[]> {
  return await runOn(database.pool)<ListedIncident>(
    `SELECT ${INCIDENT_COLUMNS} FROM incidents WHERE id = ANY($1::text[]) AND tenant_id = $2`,
    [ids, tenantId],
  );
}

/** Those of `ids` that are channels of the tenant; a few at a time, for each is asked for by itself. */
export async function listChannelsById(database: Database, { tenantId, ids }: Keys): Promise<Channel[]> {
  const found: (Channel | null)[] = [];
  for (const id of ids) found.push(await findChannel(database, { tenantId, id }));
  return found.filter((channel) => channel !== null);
}

/** Those of `ids` that are agents which the tenant may use; likewise. */
export async function listAgentsById(database: Database, { tenantId, ids }: Keys): Promise<Agent[]> {
  const found: (Agent | null)[] = [];
  for (const id of ids) found.push(await findAgent(database, { tenantId, id }));
  return found.filter((agent) => agent !== null);
}
