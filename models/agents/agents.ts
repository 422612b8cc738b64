import type { InferAttributes, Transaction, WhereOptions } from 'sequelize';
import {
  compareFields,
  goneWith,
  madeWith,
  type Author,
  type FieldChanges,
  type Fields,
} from '../../core/accounts/audit-entry.ts';
import { noScheduleChange, type ScheduleChange } from '../../core/checks/slots.ts';
import { insertAuditEntry, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { behind, sequelize, transactionOn, type AgentKind, type AgentRecord } from '../orm.ts';
import { inTransaction, runOn, type Run, type RowKey } from '../sql.ts';
import { insertAgentResolves } from './watch.ts';

/** A stored agent. Times are Unix seconds. */
export type Agent = {
  no: number;
  id: string;
  tenantId: string | null;
  kind: AgentKind;
  name: string;
  region: string | null;
  tags: readonly string[];
  capabilities: string[] | null;
  version: string | null;
  arch: string | null;
  lastSeenAt: number | null;
  createdAt: number;
};

type AgentFilter = { kind?: 'tenant' | 'first_party'; region?: string };

/** Lists the agents that a tenant may use: the shared ones and its own, by creation, then id. */
export async function listAgents(
  database: Database,
  query: { tenantId: string; filter?: AgentFilter; after?: { createdAt: number; id: string }; limit?: number },
): Promise<Agent[]> {
  const { Op } = sequelize();
  const { after, limit } = query;
  const records = await database.records.agents.findAll({
    where: {
      [Op.and]: [visibleTo(query.tenantId), { ...query.filter }, ...behind(after)],
    },
    order: [
      ['createdAt', 'ASC'],
      ['id', 'ASC'],
    ],
    ...(limit !== undefined && { limit }),
  });
  return records.map(agentOf);
}

/** Finds an agent that the tenant may use; null if there is none with this id. */
export async function findAgent(database: Database, key: RowKey): Promise<Agent | null> {
  const { Op } = sequelize();
  const record = await database.records.agents.findOne({
    where: { [Op.and]: [{ id: key.id }, visibleTo(key.tenantId)] },
  });
  return record === null ? null : agentOf(record);
}

/** Counts a tenant's own agents, for the plan's limit (D-60). */
async function countOwnAgents(database: Database, tenantId: string, transaction: Transaction): Promise<number> {
  return await database.records.agents.count({ where: { tenantId, revokedAt: null }, transaction });
}

/** A private agent to store; its token is stored only as a fingerprint. */
type NewAgent = {
  id: string;
  tenantId: string;
  name: string;
  region: string | null;
  tags?: readonly string[];
  tokenFingerprint: Buffer;
  nowMs: number;
};

/** Stores a private agent, within the caller's transaction if there is one. */
export async function createAgent(database: Database, agent: NewAgent, transaction?: Transaction): Promise<Agent> {
  const { nowMs, ...values } = agent;
  return agentOf(
    await database.records.agents.create(
      { ...values, kind: 'tenant', createdAt: Math.floor(nowMs / 1000) },
      { returning: true, ...(transaction && { transaction }) },
    ),
  );
}

/** Stores a customer's agent; null if the account has `limit` of them (D-60). A limit of null disables the check. */
export async function createAgentWithin(
  database: Database,
  { author, ...agent }: NewAgent & Authored,
  limit: number | null,
): Promise<Agent | null> {
  return await inTransaction(database, async (run, client) => {
    const transaction = transactionOn(database, client);
    await run('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [agent.tenantId]);
    if (limit !== null && (await countOwnAgents(database, agent.tenantId, transaction)) >= limit) return null;
    const created = await createAgent(database, agent, transaction);
    await recordAgent(run, author, {
      agent: created,
      changes: madeWith(agentFields(created), { token: true }),
    });
    return created;
  });
}

/**
 * Changes the fields of a private agent that its customer may set, and returns it; null if the tenant has no such
 * agent.
 */
export async function updateAgent(
  database: Database,
  { author, ...key }: RowKey & Authored,
  change: { name?: string; region?: string | null; tags?: readonly string[] },
): Promise<Agent | null> {
  return await inTransaction(database, async (run, client) => {
    const transaction = transactionOn(database, client);
    const record = await database.records.agents.findOne({
      where: { ...key, kind: 'tenant' },
      lock: transaction.LOCK.NO_KEY_UPDATE,
      transaction,
    });
    if (record === null) return null;
    const before = agentOf(record);
    await record.update(change, { transaction });
    const agent = agentOf(record);
    const of = (each: Agent) => ({ fields: { ...agentFields(each), tags: [...each.tags] } });
    await recordAgent(run, author, { agent, changes: compareFields(of(before), of(agent)) });
    return agent;
  });
}

/**
 * Deletes a private agent: its monitors lose it as a source, and their `down_min_sources` drop to the remaining
 * sources, never below 1 (D-12). Returns null if the tenant has no such agent.
 */
export async function deleteAgent(
  database: Database,
  { tenantId, id, nowMs, author }: RowKey & { nowMs: number } & Authored,
): Promise<ScheduleChange | null> {
  return await inTransaction(database, async (run, client) => {
    const transaction = transactionOn(database, client);
    const where = { tenantId, id, kind: 'tenant' } as const;
    const found = await database.records.agents.findOne({ attributes: ['no'], where, transaction });
    if (found === null) return null;
    await run('SELECT 1 FROM monitor_sources WHERE agent_no = $1 ORDER BY monitor_no FOR UPDATE', [found.no]);
    // The monitors are locked before their sources are counted, because another of their agents may be deleted
    // meanwhile.
    await run(
      `SELECT 1 FROM monitors WHERE no IN (SELECT monitor_no FROM monitor_sources WHERE agent_no = $1)
       ORDER BY no FOR NO KEY UPDATE`,
      [found.no],
    );
    // The agent is locked last, as by the watch, and from here on no monitor can get it as a source.
    const record = await database.records.agents.findOne({ where, lock: transaction.LOCK.UPDATE, transaction });
    if (record === null) return null;
    await run(
      `UPDATE monitors m SET down_min_sources = greatest(1, least(m.down_min_sources, (SELECT count(*) - 1
       FROM monitor_sources o WHERE o.monitor_no = m.no))), updated_at = greatest(m.updated_at, $2::bigint)
       FROM monitor_sources s WHERE s.agent_no = $1 AND s.monitor_no = m.no`,
      [record.no, Math.floor(nowMs / 1000)],
    );
    const emptied = await run<{ agent_no: number; interval_seconds: number; slot: number }>(
      'DELETE FROM schedule_phases WHERE agent_no = $1 AND monitors > 0 RETURNING agent_no, interval_seconds, ' +
        'phase AS slot',
      [record.no],
    );
    await insertAgentResolves(run, { id, nowMs, end: 'deleted' });
    await record.destroy({ transaction });
    await recordAgent(run, author, { agent: agentOf(record), changes: goneWith(agentFields(record)) });
    return {
      ...noScheduleChange(),
      emptied: emptied.map((row) => ({
        agentNo: row.agent_no,
        intervalSeconds: row.interval_seconds,
        slot: row.slot,
      })),
    };
  });
}

/**
 * Revokes the token of a private agent at once; its monitors keep it as a source. False if there is no agent with this
 * id and a valid token.
 */
export async function revokeAgent(
  database: Database,
  { id, nowMs, author }: { id: string; nowMs: number } & Authored,
): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    await run('SELECT 1 FROM agents WHERE id = $1 FOR NO KEY UPDATE', [id]);
    await insertAgentResolves(run, { id, nowMs, end: 'revoked' });
    return await changeOne(run, author, {
      sql: `UPDATE agents SET revoked_at = $2 WHERE id = $1 AND kind = 'tenant' AND revoked_at IS NULL ${RETURNING}`,
      bind: [id, Math.floor(nowMs / 1000)],
    });
  });
}

/**
 * Rotates the token of a private agent and deletes its key, so that the next one is pinned. A revoked agent starts
 * over: its past silence is not reported. False if there is no such agent.
 */
export async function rotateAgentToken(
  database: Database,
  { id, tokenFingerprint, author }: { id: string; tokenFingerprint: Buffer } & Authored,
): Promise<boolean> {
  const sql = `UPDATE agents SET token_fingerprint = $2, revoked_at = NULL, public_key = NULL, secrets_withheld = NULL,
       last_seen_at = CASE WHEN revoked_at IS NULL THEN last_seen_at END, offline_at = CASE
         WHEN revoked_at IS NULL THEN offline_at END
     WHERE id = $1 AND kind = 'tenant' ${RETURNING}`;
  return await inTransaction(database, (run) => changeOne(run, author, { sql, bind: [id, tokenFingerprint] }));
}

const RETURNING = 'RETURNING id, name, tenant_id AS "tenantId"';

/** Runs a statement that changes the token of one agent, and records it; false if it changed none. */
async function changeOne(
  run: Run,
  author: Author | null,
  { sql, bind }: { sql: string; bind: readonly unknown[] },
): Promise<boolean> {
  const [agent] = await run<Pick<Agent, 'id' | 'name' | 'tenantId'>>(sql, bind);
  if (agent !== undefined) await recordAgent(run, author, { agent, changes: { token: 'changed' } });
  return agent !== undefined;
}

/** Records a change of an agent, except a shared one, which belongs to no account. */
async function recordAgent(
  run: Run,
  author: Author | null,
  { agent: { id, name, tenantId }, changes }: { agent: Pick<Agent, 'id' | 'name' | 'tenantId'>; changes: FieldChanges },
): Promise<void> {
  if (tenantId !== null)
    await insertAuditEntry(run, author, { tenantId, object: { kind: 'agent', id, name }, changes });
}

function agentFields({ name, region, tags }: Pick<Agent, 'name' | 'region' | 'tags'>): Fields {
  return { name, region, ...(tags.length > 0 && { tags }) };
}

function visibleTo(tenantId: string): WhereOptions<InferAttributes<AgentRecord>> {
  const { Op } = sequelize();
  return {
    [Op.or]: [
      { tenantId, kind: 'tenant' },
      { kind: 'first_party', revokedAt: null },
    ],
  };
}

function agentOf(record: AgentRecord): Agent {
  const { tokenFingerprint: _fingerprint, revokedAt: _revoked, ...agent } = record.get({ plain: true });
  return agent;
}

/** An agent as it is named with results. */
export type NamedAgent = { id: string; name: string };

/** Returns the short number of an agent of any tenant; null if there is none with this id. */
export async function findAgentNo(database: Pick<Database, 'pool'>, id: string): Promise<number | null> {
  const [row] = await runOn(database.pool)<{ no: number }>('SELECT no FROM agents WHERE id = $1', [id]);
  return row?.no ?? null;
}

/**
 * Returns the agents that a tenant's results may come from, by short number: its own, the shared ones and the service
 * itself. Deleted ones are missing.
 */
export async function nameAgents(database: Pick<Database, 'pool'>, tenantId: string): Promise<Map<number, NamedAgent>> {
  const rows = await runOn(database.pool)<NamedAgent & { no: number }>(
    'SELECT no, id, name FROM agents WHERE tenant_id = $1 OR tenant_id IS NULL',
    [tenantId],
  );
  return new Map(rows.map(({ no, id, name }) => [no, { id, name }]));
}

/** Finds the service's own agent, which is the source of heartbeat, domain, dns and vendor monitors. */
export async function findServiceAgent(database: Pick<Database, 'pool'>): Promise<NamedAgent | null> {
  const [row] = await runOn(database.pool)<NamedAgent>(`SELECT id, name FROM agents WHERE kind = 'service'`);
  return row ?? null;
}

/** Returns those agents of `ids` that the tenant may use. */
export async function listAgentsById(
  database: Database,
  { tenantId, ids }: { tenantId: string; ids: readonly string[] },
): Promise<Agent[]> {
  const found: (Agent | null)[] = [];
  for (const id of ids) found.push(await findAgent(database, { tenantId, id }));
  return found.filter((agent) => agent !== null);
}
