import { isDeepStrictEqual } from 'node:util';
import { noScheduleChange, type ScheduleChange } from '../../core/checks/slots.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import { listAliveAgents } from '../../core/monitors/defaults.ts';
import { CANARY, canarySettings } from '../../core/system/canary.ts';
import { MINUTE_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { createMonitor, lockMonitor, pauseMonitor, resumeMonitor, updateMonitor } from '../monitors/monitor-changes.ts';
import { inTransaction, runOn } from '../sql.ts';

const KEY = { tenantId: CANARY.tenantId, id: CANARY.monitorId, author: null } as const;

/** Name of the mark that `maintain` writes. */
const MARK = 'canary';

/** State of the canary for its target and its keeper. Unix milliseconds; null = it was never marked. */
type CanaryState = {
  state: MonitorState;
  stateSinceMs: number;
  markedAtMs: number | null;
  reason: string | null;
};

/** Finds the canary; null if no address was ever set. */
export async function findCanary(database: Pick<Database, 'pool'>): Promise<CanaryState | null> {
  const [found] = await runOn(database.pool)<CanaryState>(
    {
      name: 'find-canary',
      text: `SELECT m.state, m.state_since AS "stateSinceMs", s.at AS "markedAtMs", t.reason FROM monitors m
             LEFT JOIN service_marks s ON s.name = $2
             LEFT JOIN transitions t ON t.monitor_id = m.id AND t.sequence = m.sequence
             WHERE m.id = $1`,
    },
    [CANARY.monitorId, MARK],
  );
  return found ?? null;
}

/** Reports whether there is nothing to do: no address, and no canary that is checked. That is the usual case. */
export async function isCanaryAtRest(database: Pick<Database, 'pool'>): Promise<boolean> {
  const [found] = await runOn(database.pool)<{ isAtRest: boolean }>(
    {
      name: 'is-canary-at-rest',
      text: `SELECT NOT EXISTS (SELECT FROM channels WHERE tenant_id = $1)
               AND NOT EXISTS (SELECT FROM monitors WHERE id = $2 AND state <> 'paused') AS "isAtRest"`,
    },
    [CANARY.tenantId, CANARY.monitorId],
  );
  return found?.isAtRest === true;
}

/** Maximum age of the canary's results that show whether its locations work, in milliseconds. */
const RECENT_MS = 10 * MINUTE_MS;

/**
 * Reports whether every location of the canary took part in its newest round of checks. The quorum ignores a location
 * that is gone (D-41), whose absence would then not be reported (D-645).
 */
export async function isCanaryCheckedEverywhere(database: Pick<Database, 'pool'>, nowMs: number): Promise<boolean> {
  const [found] = await runOn(database.pool)<{ isEverywhere: boolean | null }>(
    `SELECT max(due_at) - min(due_at) < 1000 * max(interval_seconds) AS "isEverywhere" FROM (
       SELECT coalesce((SELECT n.due_at FROM newest_result(s.monitor_no, s.agent_no, $2, $3) n), 0) AS due_at,
         m.interval_seconds
       FROM monitors m JOIN monitor_sources s ON s.monitor_no = m.no WHERE m.id = $1) AS newest`,
    [CANARY.monitorId, nowMs - RECENT_MS, nowMs],
  );
  return found?.isEverywhere ?? true;
}

/** Records that the canary is to change once more. */
export async function markCanary(database: Pick<Database, 'pool'>, nowMs: number): Promise<void> {
  await runOn(database.pool)(
    `INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $2, $2)
     ON CONFLICT (name) DO UPDATE SET at = excluded.at`,
    [MARK, nowMs],
  );
}

/**
 * Creates the canary, or updates it. It is checked at every running shared region, and at those where it was checked
 * before, until they are retired. Returns the changes for the queue.
 */
export async function arrangeCanary(
  database: Database,
  wanted: { target: string; intervalSeconds: number; nowMs: number },
): Promise<ScheduleChange> {
  const { nowMs } = wanted;
  const shared = await database.records.agents.findAll({ where: { kind: 'first_party', revokedAt: null } });
  const alive = listAliveAgents(shared, nowMs);
  if (alive.length === 0) return noScheduleChange();
  const changed = await inTransaction(database, async (run) => {
    const locked = await lockMonitor(database, run, KEY);
    if (locked === null) return null;
    const kept = locked.agentIds.filter((id) => shared.some((agent) => agent.id === id));
    const agentIds = [...new Set([...kept, ...alive])].toSorted();
    const settings = canarySettings({ ...wanted, sources: agentIds.length });
    const { monitor } = locked;
    const isSame =
      isDeepStrictEqual(agentIds, locked.agentIds.toSorted()) &&
      Object.entries(settings).every(([name, value]) =>
        isDeepStrictEqual(value, monitor[name as keyof typeof settings]),
      );
    if (isSame) return { schedule: noScheduleChange(), isPaused: !monitor.enabled };
    const change = { settings, secrets: {}, agentIds };
    const { schedule } = await updateMonitor({ database, run, nowMs, author: null }, locked, change);
    return { schedule, isPaused: !monitor.enabled };
  });
  if (changed !== null && !changed.isPaused) return changed.schedule;
  const settings = canarySettings({ ...wanted, sources: alive.length });
  const made =
    changed === null
      ? await createMonitor(database, { ...KEY, settings, secrets: {}, agentIds: alive, nowMs }, null)
      : await resumeMonitor(database, { ...KEY, nowMs });
  return made?.schedule ?? noScheduleChange();
}

/** Pauses the canary if it is running. Returns the changes for the queue. */
export async function pauseCanary(database: Database, nowMs: number): Promise<ScheduleChange> {
  return (await pauseMonitor(database, { ...KEY, nowMs }))?.schedule ?? noScheduleChange();
}

/**
 * Deletes the canary's history before a time (Unix milliseconds), except the newest transition, and the newest
 * delivered ping of each address.
 */
export async function deleteOldCanaryHistory(database: Pick<Database, 'pool'>, beforeMs: number): Promise<void> {
  const run = runOn(database.pool);
  await run(
    `DELETE FROM transitions t USING monitors m
     WHERE t.monitor_id = $1 AND m.id = $1 AND t.sequence < m.sequence AND t.detected_at < $2`,
    [CANARY.monitorId, beforeMs],
  );
  await run('DELETE FROM incidents WHERE monitor_id = $1 AND resolved_at < $2', [CANARY.monitorId, beforeMs]);
  await run(
    `DELETE FROM deliveries d WHERE d.monitor_id = $1 AND d.created_at < $2 AND d.id NOT IN (
       SELECT DISTINCT ON (n.channel_id) n.id FROM deliveries n WHERE n.monitor_id = $1 AND n.outcome = 'delivered'
       ORDER BY n.channel_id, n.no DESC)`,
    [CANARY.monitorId, beforeMs],
  );
}
