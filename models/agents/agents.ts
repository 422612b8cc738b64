import { Op, type InferAttributes, type Transaction, type WhereOptions } from 'sequelize';
import { goneWith, madeWith, type FieldChanges, type Fields } from '../../core/accounts/field-changes.ts';
import { isScheduled, noScheduleChange, type ScheduleChange } from '../../core/checks/slots.ts';
import { listAliveAgents } from '../../core/monitors/defaults.ts';
import type { MonitorType } from '../../core/monitors/monitor.ts';
import { recordChange } from '../accounts/audit-log.ts';
import { scheduleMonitor } from '../checks/schedule.ts';
import type { Database } from '../database.ts';
import { behind, transactionOn } from '../orm.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import type { AgentKind, AgentRecord } from './record.ts';

/** An agent as it is stored. Times are Unix seconds. */
export type Agent = {
  no: number;
  id: string;
  tenantId: string | null;
  kind: AgentKind;
  name: string;
  region: string | null;
  capabilities: string[] | null;
  version: string | null;
  arch: string | null;
  lastSeenAt: number | null;
  createdAt: number;
};

export type AgentFilter = { kind?: 'tenant' | 'first_party'; region?: string };

/** What a shared agent probes today. */
const SHARED_CAPABILITIES = ['http', 'cert', 'tcp', 'icmp', 'udp'];

/** The agents that a tenant may use: the shared ones and its own, by creation, then id. */
export async function listAgents(
  database: Database,
  query: { tenantId: string; filter?: AgentFilter; after?: { createdAt: number; id: string }; limit?: number },
): Promise<Agent[]> {
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

/** One agent that the tenant may use; null when there is none of that id. */
export async function findAgent(database: Database, key: { tenantId: string; id: string }): Promise<Agent | null> {
  const record = await database.records.agents.findOne({
    where: { [Op.and]: [{ id: key.id }, visibleTo(key.tenantId)] },
  });
  return record === null ? null : agentOf(record);
}

/** How many agents of its own a tenant has, for the plan's limit (D-60). */
async function countOwnAgents(database: Database, tenantId: string, transaction: Transaction): Promise<number> {
  return await database.records.agents.count({ where: { tenantId, revokedAt: null }, transaction });
}

/** A customer's agent to be; the token is known by its fingerprint only. */
export type NewAgent = {
  id: string;
  tenantId: string;
  name: string;
  region: string | null;
  tokenFingerprint: Buffer;
  nowMs: number;
};

/** Stores a customer's agent, where the caller stands (a transaction or none). */
export async function createAgent(database: Database, agent: NewAgent, transaction?: Transaction): Promise<Agent> {
  const { nowMs, ...values } = agent;
  return agentOf(
    await database.records.agents.create(
      { ...values, kind: 'tenant', createdAt: Math.floor(nowMs / 1000) },
      { returning: true, ...(transaction && { transaction }) },
    ),
  );
}

/**
 * Stores a customer's agent, unless the account has `limit` of them by then (D-60): null. A limit of null counts
 * nothing.
 */
export async function createAgentWithin(
  database: Database,
  agent: NewAgent,
  limit: number | null,
): Promise<Agent | null> {
  return await inTransaction(database, async (run, client) => {
    const transaction = transactionOn(database, client);
    await run('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [agent.tenantId]);
    if (limit !== null && (await countOwnAgents(database, agent.tenantId, transaction)) >= limit) return null;
    const created = await createAgent(database, agent, transaction);
    await recordAgent(run, database, {
      agent: created,
      changes: madeWith(agentFields(created), { token: agent.tokenFingerprint.length }),
    });
    return created;
  });
}

/**
 * Deletes a customer's own agent: it leaves its monitors, whose `down_min_sources` fall to the sources left, never
 * below 1 (D-12). Null when the tenant has no such agent of its own.
 */
export async function deleteAgent(
  database: Database,
  { tenantId, id }: { tenantId: string; id: string },
): Promise<ScheduleChange | null> {
  return await inTransaction(database, async (run, client) => {
    const transaction = transactionOn(database, client);
    const record = await database.records.agents.findOne({ where: { tenantId, id, kind: 'tenant' }, transaction });
    if (record === null) return null;
    await run('SELECT 1 FROM monitor_sources WHERE agent_no = $1 ORDER BY monitor_no FOR UPDATE', [record.no]);
    await run(
      `UPDATE monitors m SET down_min_sources = greatest(1, least(m.down_min_sources, (SELECT count(*) - 1
       FROM monitor_sources o WHERE o.monitor_no = m.no)))
       FROM monitor_sources s WHERE s.agent_no = $1 AND s.monitor_no = m.no`,
      [record.no],
    );
    const emptied = await run<{ agent_no: number; interval_seconds: number; slot: number }>(
      'DELETE FROM schedule_phases WHERE agent_no = $1 AND monitors > 0 RETURNING agent_no, interval_seconds, ' +
        'phase AS slot',
      [record.no],
    );
    await record.destroy({ transaction });
    await recordAgent(run, database, { agent: agentOf(record), changes: goneWith(agentFields(record)) });
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
 * Ends the token of a customer's agent at once; the agent stays with its monitors. False when there is no agent of that
 * id whose token was still good.
 */
export async function revokeAgent(database: Database, id: string, nowMs: number): Promise<boolean> {
  return await changeOne(
    database,
    `UPDATE agents SET revoked_at = $2 WHERE id = $1 AND kind = 'tenant' AND revoked_at IS NULL ${RETURNING}`,
    [id, Math.floor(nowMs / 1000)],
  );
}

/**
 * Gives a customer's agent another token. Its key is forgotten, so that the next one that it shows is pinned. One that
 * was revoked begins anew: its silence is not reported. False when there is no such agent.
 */
export async function rotateAgentToken(database: Database, id: string, tokenFingerprint: Buffer): Promise<boolean> {
  return await changeOne(
    database,
    `UPDATE agents SET token_fingerprint = $2, revoked_at = NULL, public_key = NULL, secrets_withheld = NULL,
       last_seen_at = CASE WHEN revoked_at IS NULL THEN last_seen_at END, offline_at = CASE
         WHEN revoked_at IS NULL THEN offline_at END
     WHERE id = $1 AND kind = 'tenant' ${RETURNING}`,
    [id, tokenFingerprint],
  );
}

const RETURNING = 'RETURNING id, name, tenant_id AS "tenantId"';

/** Runs a statement that changes the token of one agent, and records it; false where it changed none. */
async function changeOne(database: Database, sql: string, bind: readonly unknown[]): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    const [agent] = await run<Pick<Agent, 'id' | 'name' | 'tenantId'>>(sql, bind);
    if (agent !== undefined) await recordAgent(run, database, { agent, changes: { token: 'changed' } });
    return agent !== undefined;
  });
}

/** Shared agents belong to nobody, and are in no log. */
async function recordAgent(
  run: Run,
  database: Database,
  { agent: { id, name, tenantId }, changes }: { agent: Pick<Agent, 'id' | 'name' | 'tenantId'>; changes: FieldChanges },
): Promise<void> {
  if (tenantId !== null) await recordChange(run, database, { tenantId, object: { kind: 'agent', id, name }, changes });
}

function agentFields({ name, region }: Pick<Agent, 'name' | 'region'>): Fields {
  return { name, region };
}

/** A shared agent, and since when its region is given up, in Unix seconds; null = it is not. */
export type SharedAgent = Agent & { retiredAt: number | null };

/**
 * The shared agent of a region, made on its first appearance; two processes of one region are one agent. A region that
 * was given up stays so: it cannot be chosen and has no monitors.
 */
export async function registerSharedAgent(
  database: Database,
  shared: { newId: string; region: string; version: string; arch: string; nowMs: number },
): Promise<SharedAgent> {
  const [row] = await runOn(database.pool)<{ id: string }>(
    `INSERT INTO agents (id, kind, name, region, capabilities, version, arch, last_seen_at, created_at)
     VALUES ($1, 'first_party', $2, $2, $3, $4, $5, $6, $6)
     ON CONFLICT (region) WHERE kind = 'first_party'
     DO UPDATE SET capabilities = excluded.capabilities, version = excluded.version, arch = excluded.arch,
       last_seen_at = excluded.last_seen_at
     RETURNING id`,
    [
      shared.newId,
      shared.region,
      JSON.stringify(SHARED_CAPABILITIES),
      shared.version,
      shared.arch,
      Math.floor(shared.nowMs / 1000),
    ],
  );
  const record = await database.records.agents.findByPk(row?.id ?? shared.newId, { rejectOnEmpty: true });
  return { ...agentOf(record), retiredAt: record.revokedAt };
}

/** Updates when an agent was last at work. */
export async function updateLastSeenAt(database: Database, agentNo: number, nowMs: number): Promise<void> {
  await runOn(database.pool)('UPDATE agents SET last_seen_at = greatest(last_seen_at, $2) WHERE no = $1', [
    agentNo,
    Math.floor(nowMs / 1000),
  ]);
}

/** Records that an agent of ours left out checks for want of time (Unix milliseconds). */
export async function updateBehindAt(database: Database, agentNo: number, nowMs: number): Promise<void> {
  await runOn(database.pool)('UPDATE agents SET behind_at = greatest(behind_at, $2) WHERE no = $1', [agentNo, nowMs]);
}

/**
 * The region of every agent that checks for the queue, by its number: the shared ones, and the service itself. Check
 * queues are named by it.
 */
export async function listCheckRegions(database: Database): Promise<Map<number, string>> {
  const records = await database.records.agents.findAll({ where: { kind: ['first_party', 'service'] } });
  return new Map(records.map((record) => [record.no, record.region ?? record.name]));
}

/** Gives the default sources to agent-checked monitors that were made before the first shared agent came. */
export async function assignMissingSources(
  database: Database,
  { choose, nowMs }: { choose: (monitorId: string, sharedAgentIds: string[]) => string[]; nowMs: number },
): Promise<ScheduleChange> {
  const change = noScheduleChange();
  const shared = await database.records.agents.findAll({ where: { kind: 'first_party', revokedAt: null } });
  if (shared.length === 0) return change;
  const numbers = new Map(shared.map((agent) => [agent.id, agent.no]));
  const alive = listAliveAgents(shared, nowMs);
  const orphans = await runOn(database.pool)<{
    no: number;
    id: string;
    type: MonitorType;
    target: string;
    enabled: boolean;
    interval_seconds: number;
  }>(
    `SELECT no, id, type, target, enabled, interval_seconds FROM monitors m
     WHERE awaits_sources AND NOT EXISTS (SELECT 1 FROM monitor_sources s WHERE s.monitor_no = m.no)`,
  );
  for (const orphan of orphans) {
    const agentNos = choose(orphan.id, alive).flatMap((id) => numbers.get(id) ?? []);
    const scheduled = await inTransaction(database, async (run) => {
      // The default quorum of a monitor without sources was 1 (D-10); with sources it is what it would have been.
      await run('UPDATE monitors SET down_min_sources = least(2, $2::int), awaits_sources = false WHERE no = $1', [
        orphan.no,
        agentNos.length,
      ]);
      return await scheduleMonitor(run, {
        monitorNo: orphan.no,
        agentNos,
        intervalSeconds: orphan.interval_seconds,
        scheduled: isScheduled(orphan),
        isChanged: true,
        nowMs,
      });
    });
    change.occupied.push(...scheduled.occupied);
    change.rechecks.push(...scheduled.rechecks);
  }
  return change;
}

function visibleTo(tenantId: string): WhereOptions<InferAttributes<AgentRecord>> {
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

/**
 * A shared agent as operators see it; `monitors` is how many it watches. Times are Unix seconds; null = never, or it is
 * not.
 */
type FleetAgent = {
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
type CustomersAgents = { total: number; offline: number };

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
