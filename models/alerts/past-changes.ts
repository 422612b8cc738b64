import { eventOf } from '../../core/alerts/event.ts';
import type { PastChange } from '../../core/alerts/replay.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

/** The most changes that are read, the newest; and monitors, by their creation. */
export const MOST_PAST_CHANGES = 20_000;
const MOST_MONITORS = 10_000;

type PastRow = Omit<PastChange, 'event'> & { to: MonitorState };

/**
 * The changes since a moment (Unix milliseconds) of the monitors that are routed to a channel now, in order. At most
 * the newest `MOST_PAST_CHANGES`, with the incident of each.
 */
export async function listPastChanges(
  database: Pick<Database, 'pool'>,
  { tenantId, channelId, sinceMs }: { tenantId: string; channelId: string; sinceMs: number },
): Promise<PastChange[]> {
  const rows = await runOn(database.pool)<PastRow>(
    `WITH routed AS MATERIALIZED (
       SELECT m.id, m.name, m.tags FROM channels c JOIN monitors m ON m.tenant_id = c.tenant_id
       WHERE c.id = $2 AND c.tenant_id = $1
         AND (c.all_monitors OR EXISTS (SELECT FROM channel_monitors r WHERE r.channel_id = c.id
           AND r.monitor_id = m.id) OR m.tags && c.any_tags OR (c.all_tags <> '{}' AND m.tags @> c.all_tags))
       ORDER BY m.created_at, m.id LIMIT ${MOST_MONITORS}
     )
     SELECT r.id AS "monitorId", r.name AS "monitorName", r.tags, t.to_state AS "to", t.detected_at AS "atMs",
       i.started_at AS "incidentStartedAtMs", i.acknowledged_at AS "acknowledgedAtMs"
     FROM routed r JOIN transitions t ON t.monitor_id = r.id AND t.at >= $3
     LEFT JOIN LATERAL (
       SELECT started_at, acknowledged_at FROM incidents i
       WHERE i.monitor_id = r.id AND i.started_at <= t.at ORDER BY i.started_at DESC LIMIT 1
     ) i ON t.to_state <> 'up'
     WHERE t.to_state <> 'pending'
     ORDER BY t.at DESC, t.sequence DESC LIMIT ${MOST_PAST_CHANGES}`,
    [tenantId, channelId, sinceMs],
  );
  return rows.toReversed().map(({ to, ...row }) => ({ ...row, event: eventOf({ to }) }));
}
