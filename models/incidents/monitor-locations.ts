import type { Source } from '../../core/incidents/decided-monitor.ts';
import { freshnessMs } from '../../core/incidents/quorum.ts';
import type { Monitor } from '../../core/monitors/monitor.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

/** An agent as a location of one monitor; `lastSeenAt` is in Unix seconds, null before its first check-in. */
export type MonitorLocation = Source & { id: string; region: string | null; lastSeenAt: number | null };

/**
 * The locations of a monitor by id, with what decides whether they count. Nothing is locked: their status is reported,
 * not decided. `newestAtMs` is null where the newest result is too old to count.
 */
export async function listMonitorLocations(
  { pool }: Pick<Database, 'pool'>,
  { no, intervalSeconds }: Pick<Monitor, 'no' | 'intervalSeconds'>,
  nowMs: number,
): Promise<MonitorLocation[]> {
  return await runOn(pool)<MonitorLocation>(
    `SELECT a.id, a.no AS "agentNo", a.name, a.region, a.last_seen_at AS "lastSeenAt", is_online(a) AS online, s.state,
            (SELECT max(r.due_at) FROM check_results r WHERE r.monitor_no = s.monitor_no AND r.agent_no = s.agent_no
              AND r.due_at >= $2) AS "newestAtMs"
     FROM monitor_sources s JOIN agents a ON a.no = s.agent_no
     WHERE s.monitor_no = $1 AND a.kind <> 'service' ORDER BY a.id`,
    [no, nowMs - freshnessMs(intervalSeconds)],
  );
}
