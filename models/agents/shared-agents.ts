import { isScheduled, noScheduleChange, type ScheduleChange } from '../../core/checks/slots.ts';
import { listAliveAgents } from '../../core/monitors/defaults.ts';
import type { MonitorType } from '../../core/monitors/monitor.ts';
import { scheduleMonitor } from '../checks/schedule.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn } from '../sql.ts';
import type { Agent } from './agents.ts';

/** Capabilities of current shared agents. */
const SHARED_CAPABILITIES = ['http', 'cert', 'tcp', 'icmp', 'udp'];

/** A shared agent, and since when its region is retired, in Unix seconds; null = it is not. */
type SharedAgent = Agent & { retiredAt: number | null };

/**
 * Returns the shared agent of a region, creating it if missing; two processes of one region are one agent. A retired
 * region remains retired: it cannot be chosen and has no monitors.
 */
export async function registerSharedAgent(
  database: Database,
  shared: { newId: string; region: string; version: string; arch: string; nowMs: number },
): Promise<SharedAgent> {
  const [agent] = await runOn(database.pool)<SharedAgent>(
    `INSERT INTO agents (id, kind, name, region, capabilities, version, arch, last_seen_at, created_at)
     VALUES ($1, 'first_party', $2, $2, $3, $4, $5, $6, $6)
     ON CONFLICT (region) WHERE kind = 'first_party'
     DO UPDATE SET capabilities = excluded.capabilities, version = excluded.version, arch = excluded.arch,
       last_seen_at = excluded.last_seen_at
     RETURNING no, id, tenant_id AS "tenantId", kind, name, region, capabilities, version, arch,
       last_seen_at AS "lastSeenAt", created_at AS "createdAt", revoked_at AS "retiredAt"`,
    [
      shared.newId,
      shared.region,
      JSON.stringify(SHARED_CAPABILITIES),
      shared.version,
      shared.arch,
      Math.floor(shared.nowMs / 1000),
    ],
  );
  if (agent === undefined) throw new Error(`PostgreSQL returned no row of the agent of ${shared.region}`);
  return agent;
}

/** Updates the time when an agent was last active. */
export async function updateLastSeenAt(database: Database, agentNo: number, nowMs: number): Promise<void> {
  await runOn(database.pool)('UPDATE agents SET last_seen_at = greatest(last_seen_at, $2) WHERE no = $1', [
    agentNo,
    Math.floor(nowMs / 1000),
  ]);
}

/** Records that a shared agent skipped checks for lack of time (Unix milliseconds). */
export async function updateBehindAt(database: Database, agentNo: number, nowMs: number): Promise<void> {
  await runOn(database.pool)('UPDATE agents SET behind_at = greatest(behind_at, $2) WHERE no = $1', [agentNo, nowMs]);
}

/**
 * Returns the region of each agent that checks for the queue, by number: the shared ones, and the service itself. Check
 * queues are named after it.
 */
export async function listCheckRegions(database: Database): Promise<Map<number, string>> {
  const rows = await runOn(database.pool)<{ no: number; region: string }>(
    `SELECT no, coalesce(region, name) AS region FROM agents WHERE kind IN ('first_party', 'service')`,
  );
  return new Map(rows.map(({ no, region }) => [no, region]));
}

/** Assigns the default sources to agent-checked monitors that were created before the first shared agent. */
export async function assignMissingSources(
  database: Database,
  { choose, nowMs }: { choose: (monitorId: string, sharedAgentIds: string[]) => string[]; nowMs: number },
): Promise<ScheduleChange> {
  const change = noScheduleChange();
  const shared = await runOn(database.pool)<{ no: number; id: string; lastSeenAt: number | null }>(
    `SELECT no, id, last_seen_at AS "lastSeenAt" FROM agents WHERE kind = 'first_party' AND revoked_at IS NULL`,
  );
  if (shared.length === 0) return change;
  const numbers = new Map(shared.map((agent) => [agent.id, agent.no]));
  const alive = listAliveAgents(shared, nowMs);
  const orphans = await runOn(database.pool)<{ no: number; id: string }>(
    `SELECT no, id FROM monitors m
     WHERE awaits_sources AND NOT EXISTS (SELECT 1 FROM monitor_sources s WHERE s.monitor_no = m.no)`,
  );
  for (const { no, id: monitorId } of orphans) {
    const agentNos = choose(monitorId, alive).flatMap((id) => numbers.get(id) ?? []);
    const scheduled = await inTransaction(database, async (run) => {
      const active = await run(
        'SELECT 1 FROM agents WHERE no = ANY($1::int[]) AND revoked_at IS NULL ORDER BY no FOR KEY SHARE',
        [agentNos],
      );
      // One was retired meanwhile (D-741): the next run chooses others.
      if (active.length < agentNos.length) return noScheduleChange();
      // The default quorum of a monitor without sources was 1 (D-10); with sources it becomes what it would have been.
      // The owner may have chosen sources since, or deleted the monitor.
      const [orphan] = await run<{ type: MonitorType; target: string; enabled: boolean; intervalSeconds: number }>(
        `UPDATE monitors SET down_min_sources = least(2, $2::int), awaits_sources = false
         WHERE no = $1 AND awaits_sources RETURNING type, target, enabled, interval_seconds AS "intervalSeconds"`,
        [no, agentNos.length],
      );
      if (orphan === undefined) return noScheduleChange();
      return await scheduleMonitor(run, {
        monitorNo: no,
        agentNos,
        intervalSeconds: orphan.intervalSeconds,
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

/**
 * A shared agent as operators see it; `monitors` is the number that it checks. Times are Unix seconds; null = never, or
 * not in that state.
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

/** Number of customers' agents: operators see nothing else of them. */
type CustomersAgents = { total: number; offline: number };

/** Returns the shared agents by region, and the number of customers' agents. */
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
