import type { WindowSettings } from '../../core/maintenance/window.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

/** Monitors that a preview names. */
const NAMED = 100;

/**
 * The monitors that a window would cover, the first 100 by name. With how many alerts to chats of theirs were made
 * within the given spans (Unix milliseconds), which are in order, since a moment.
 */
export async function previewMonitors(
  database: Database,
  window: Pick<WindowSettings, 'allMonitors' | 'monitorIds' | 'tags'> & {
    tenantId: string;
    spans: readonly { startMs: number; endMs: number }[];
    sinceMs: number;
  },
): Promise<{ monitors: { id: string; name: string }[]; total: number; heldAlerts: number }> {
  const run = runOn(database.pool);
  const covered = 'm.tenant_id = $1 AND ($2 OR m.id = ANY($3::text[]) OR m.tags && $4::text[])';
  const bind = [window.tenantId, window.allMonitors, window.monitorIds, window.tags];
  const monitors = await run<{ id: string; name: string; total: number }>(
    `SELECT m.id, m.name, count(*) OVER () AS total FROM monitors m WHERE ${covered}
     ORDER BY m.name, m.id LIMIT ${NAMED}`,
    bind,
  );
  const [alerts] = await run<{ count: number }>(
    `SELECT count(*) FROM monitors m JOIN deliveries d ON d.monitor_id = m.id AND d.created_at >= $7
     JOIN channels c ON c.id = d.channel_id AND c.type <> 'webhook'
     WHERE ${covered} AND d.event IN ('monitor.down', 'monitor.degraded')
       AND EXISTS (SELECT FROM unnest($5::bigint[], $6::bigint[]) AS s (starts_at, ends_at)
         WHERE d.created_at >= s.starts_at AND d.created_at < s.ends_at)`,
    [...bind, window.spans.map(({ startMs }) => startMs), window.spans.map(({ endMs }) => endMs), window.sinceMs],
  );
  return {
    monitors: monitors.map(({ id, name }) => ({ id, name })),
    total: monitors[0]?.total ?? 0,
    heldAlerts: alerts?.count ?? 0,
  };
}
