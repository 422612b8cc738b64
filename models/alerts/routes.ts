import type { ChannelType } from '../../core/alerts/channel.ts';
import { eventOf } from '../../core/alerts/event.ts';
import type { PastChange } from '../../core/alerts/replay.ts';
import type { ChannelRule } from '../../core/alerts/rules.ts';
import { isBad } from '../../core/checks/verdict.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import { DAY_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';

/**
 * A channel that receives the events of a monitor; `followsMaintenance`: its alerts wait for the end of maintenance.
 */
export type Route = {
  monitorId: string;
  channelId: string;
  type: ChannelType;
  followsMaintenance: boolean;
  /** Time within which alerts of one cause are sent in one message, in seconds; 0 = each separately. */
  groupSeconds: number;
  summarizesFlapping: boolean;
  rules: readonly ChannelRule[] | null;
  /** Tags of the monitor, if there are rules that may refer to them. */
  tags: readonly string[] | null;
  /** End of the time that alerts of the monitor wait, in Unix milliseconds; null = they do not. */
  mutedUntilMs: number | null;
};

/**
 * Lists the channels that receive the events of these monitors: their own tenant's, enabled, connected, and routed to
 * them. Run it in the transaction that writes the deliveries: until it ends, the listed channels cannot be deleted.
 */
export async function listRoutes(run: Run, monitorIds: readonly string[]): Promise<Route[]> {
  if (monitorIds.length === 0) return [];
  return await run<Route>(
    `SELECT m.id AS "monitorId", c.id AS "channelId", c.type,
       c.type <> 'webhook' OR c.follows_maintenance AS "followsMaintenance", c.rules,
       c.group_seconds AS "groupSeconds", c.summarizes_flapping AS "summarizesFlapping",
       CASE WHEN c.rules IS NOT NULL THEN m.tags END AS tags, u.muted_until AS "mutedUntilMs"
     FROM monitors m JOIN channels c ON c.tenant_id = m.tenant_id LEFT JOIN monitor_mutes u ON u.id = m.id
     WHERE m.id = ANY($1::text[]) AND c.enabled AND c.status = 'connected'
       AND (c.all_monitors OR EXISTS (SELECT 1 FROM channel_monitors r WHERE r.channel_id = c.id
         AND r.monitor_id = m.id) OR m.tags && c.any_tags OR (c.all_tags <> '{}' AND m.tags @> c.all_tags))
     ORDER BY c.id, m.id
     FOR KEY SHARE OF c`,
    [monitorIds],
  );
}

/**
 * Lists the enabled and connected webhook channels of these tenants, regardless of routed monitors: those are notified
 * of agents (D-56). Run it in the transaction that writes the deliveries: until it ends, the listed channels cannot be
 * deleted.
 */
export async function listWebhookChannels(
  run: Run,
  tenantIds: readonly string[],
): Promise<{ tenantId: string; channelId: string }[]> {
  if (tenantIds.length === 0) return [];
  const rows = await run<{ tenant_id: string; channel_id: string }>(
    `SELECT c.tenant_id, c.id AS channel_id FROM channels c
     WHERE c.tenant_id = ANY($1::text[]) AND c.type = 'webhook' AND c.enabled AND c.status = 'connected'
     ORDER BY c.id FOR KEY SHARE`,
    [tenantIds],
  );
  return rows.map((row) => ({ tenantId: row.tenant_id, channelId: row.channel_id }));
}

/**
 * Lists the chats of a tenant that are notified of a new report: enabled and connected, with reports in UTC. Run it in
 * the transaction that writes the deliveries: until it ends, the listed channels cannot be deleted.
 */
export async function listReportChannels(run: Run, tenantId: string): Promise<string[]> {
  const rows = await run<{ id: string }>(
    `SELECT c.id FROM channels c
     WHERE c.tenant_id = $1 AND c.wants_reports AND c.report_timezone IS NULL AND c.type <> 'webhook' AND c.enabled
       AND c.status = 'connected'
     ORDER BY c.id FOR KEY SHARE`,
    [tenantId],
  );
  return rows.map(({ id }) => id);
}

/** A recovery of a monitor for a chat; `sequence` is that of its transition. */
type Recovery = { channelId: string; monitorId: string; sequence: number };

/**
 * Maximum time that a summary gathers changes before its first attempt, in milliseconds. A chat may be paused, and a
 * queue may be away.
 */
export const SUMMARY_OPEN_MS = DAY_MS;

/**
 * A recovery that its chat waits for. `afterId` is the delivery of its trouble, if a worker holds all that the chat may
 * have been notified of: its outcome, and so that of the recovery, is not decided yet.
 */
type AwaitedRecovery = { channelId: string; monitorId: string; afterId: string | null };

/** Maximum difference between the clocks of processes, in milliseconds. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * Returns the recoveries that their chats wait for: the chat was notified of trouble since the monitor was last up.
 * That may be separately or in a summary, with any pauses in between. Trouble older than the record of deliveries
 * (`recordSinceMs`, Unix milliseconds) counts as notified if the channel existed. Run it in the transaction that writes
 * the recoveries, with their monitors locked. One statement, for any number of concurrent recoveries.
 * 1. `requested`: the recoveries, a row for each chat.
 * 2. `bad`: for each monitor, the transitions to trouble since it was last up.
 * 3. `gathered`: the changes in summaries to these chats in that time; read only if a chat had no delivery.
 * 4. The recoveries with trouble from before the record of deliveries, and those with a delivery of their trouble,
 *    which is found by the time of its transition or in a summary. A delivery that waited and is claimed, but was not
 *    released yet, is held by a worker, which may have died. Also those whose chat may not have been notified of the
 *    previous recovery: it is still to be sent, failed, or waited until it was no longer true.
 */
export async function listAwaitedRecoveries(
  run: Run,
  recoveries: readonly Recovery[],
  recordSinceMs: number,
): Promise<AwaitedRecovery[]> {
  if (recoveries.length === 0) return [];
  return await run<AwaitedRecovery>(
    `WITH requested AS MATERIALIZED (
       SELECT * FROM unnest($1::text[], $2::text[], $3::integer[]) AS a (channel_id, monitor_id, sequence)
     ), bad AS MATERIALIZED (
       SELECT m.monitor_id, t.sequence, t.detected_at
       FROM (SELECT DISTINCT monitor_id, sequence FROM requested) m, LATERAL (
         SELECT t.sequence, t.detected_at FROM transitions t
         WHERE t.monitor_id = m.monitor_id AND t.sequence < m.sequence AND t.to_state IN ('degraded', 'down', 'unknown')
           AND t.sequence > coalesce((
           SELECT u.sequence FROM transitions u WHERE u.monitor_id = m.monitor_id AND u.sequence < m.sequence
             AND u.to_state = 'up' ORDER BY u.sequence DESC LIMIT 1), 0)
         OFFSET 0
       ) t
     ), gathered AS MATERIALIZED (
       SELECT d.channel_id, s.monitor_id, s.sequence
       FROM (SELECT id, channel_id FROM deliveries
             WHERE channel_id = ANY ($1::text[]) AND event = 'summary'
               AND created_at BETWEEN (SELECT min(detected_at) FROM bad WHERE detected_at >= $4) - ${SUMMARY_OPEN_MS}
                 AND (SELECT max(detected_at) FROM bad) + ${CLOCKS_DIFFER_MS}
             OFFSET 0) d
       JOIN summary_changes s ON s.delivery_id = d.id
     )
     SELECT a.channel_id AS "channelId", a.monitor_id AS "monitorId",
       CASE WHEN bool_and(coalesce(t."isInHand", false)) AND count(DISTINCT t.id) = 1 AND NOT bool_or(l."isUnaware")
         THEN max(t.id) END AS "afterId"
     FROM requested a JOIN bad b ON b.monitor_id = a.monitor_id JOIN channels c ON c.id = a.channel_id
       LEFT JOIN LATERAL (
         SELECT d.id, h.delivery_id IS NOT NULL AND h.released_at IS NULL AND d.outcome = 'pending' AS "isInHand"
         FROM deliveries d LEFT JOIN held_deliveries h
           ON h.delivery_id = d.id AND h.summary_id IS NULL AND h.reason <> 'flapping'
         WHERE d.channel_id = a.channel_id AND d.created_at = b.detected_at AND d.monitor_id = a.monitor_id
           AND d.event LIKE 'monitor.%' AND (h.delivery_id IS NULL
             OR (d.attempts > 0 AND (d.outcome <> 'superseded' OR h.released_at IS NOT NULL)))
         ORDER BY "isInHand" LIMIT 1) t ON true
       CROSS JOIN LATERAL (
         SELECT EXISTS (
           SELECT FROM (SELECT u.detected_at FROM transitions u WHERE u.monitor_id = a.monitor_id
             AND u.sequence < a.sequence AND u.to_state = 'up' ORDER BY u.sequence DESC LIMIT 1) u
           JOIN deliveries d ON d.created_at = u.detected_at AND d.monitor_id = a.monitor_id
           LEFT JOIN held_deliveries h ON h.delivery_id = d.id AND h.summary_id IS NULL
             AND h.reason IN ('quiet_hours', 'mute')
           WHERE d.channel_id = a.channel_id AND d.event = 'monitor.up' AND d.outcome <> 'delivered'
             AND (d.attempts > 0 OR (d.after_id IS NULL AND (d.outcome = 'pending'
               OR (d.outcome = 'superseded' AND h.delivery_id IS NOT NULL))))) AS "isUnaware") l
     WHERE (b.detected_at < $4 AND b.detected_at >= c.created_at * 1000)
       OR t.id IS NOT NULL OR l."isUnaware"
       OR (a.channel_id, b.monitor_id, b.sequence) IN (SELECT channel_id, monitor_id, sequence FROM gathered)
     GROUP BY a.channel_id, a.monitor_id`,
    [
      recoveries.map(({ channelId }) => channelId),
      recoveries.map(({ monitorId }) => monitorId),
      recoveries.map(({ sequence }) => sequence),
      recordSinceMs,
    ],
  );
}

/** Maximum number of changes that are read, the newest; and of monitors, by creation. */
const MAX_PAST_CHANGES = 20_000;
const MAX_MONITORS = 10_000;

/** `changedAtMs` is the time of the change, which was detected later. */
type PastRow = Omit<PastChange, 'event'> & { to: MonitorState; changedAtMs: number };

/**
 * Lists the changes since a time (Unix milliseconds) of the monitors currently routed to a channel, in order. At most
 * the newest `MAX_PAST_CHANGES`, with the incident of each.
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
       ORDER BY m.created_at, m.id LIMIT ${MAX_MONITORS}
     )
     SELECT t.id AS "monitorId", t.name AS "monitorName", t.tags, t.to_state AS "to", t.at AS "changedAtMs",
       t.detected_at AS "atMs", i.started_at AS "incidentStartedAtMs", i.acknowledged_at AS "acknowledgedAtMs"
     FROM (
       SELECT r.*, t.to_state, t.at, t.detected_at, t.sequence FROM routed r JOIN transitions t ON t.monitor_id = r.id
       WHERE t.at >= $3 AND t.to_state <> 'pending'
       ORDER BY t.at DESC, t.sequence DESC LIMIT ${MAX_PAST_CHANGES}
     ) t
     LEFT JOIN LATERAL (
       SELECT * FROM (
         SELECT started_at, acknowledged_at, resolved_at FROM incidents i
         WHERE i.monitor_id = t.id AND i.started_at <= t.at AND t.to_state <> 'up' ORDER BY i.started_at DESC LIMIT 1
       ) i WHERE i.resolved_at IS NULL OR i.resolved_at > t.at
     ) i ON true
     ORDER BY t.at DESC, t.sequence DESC`,
    [tenantId, channelId, sinceMs],
  );
  return sinceReopening(rows.toReversed()).map(({ to, changedAtMs: _at, ...row }) => ({
    ...row,
    event: eventOf({ to }),
  }));
}

/** Returns the changes in order, with reopened incidents starting at their reopening. */
function sinceReopening(rows: readonly PastRow[]): PastRow[] {
  const troubleSinceMs = new Map<string, number>();
  return rows.map((row) => {
    const { monitorId, to, changedAtMs, incidentStartedAtMs } = row;
    if (to === 'up') troubleSinceMs.set(monitorId, Infinity);
    else if (isBad(to) && troubleSinceMs.get(monitorId) === Infinity) troubleSinceMs.set(monitorId, changedAtMs);
    const sinceMs = troubleSinceMs.get(monitorId) ?? 0;
    if (incidentStartedAtMs === null || sinceMs === Infinity) return row;
    return { ...row, incidentStartedAtMs: Math.max(incidentStartedAtMs, sinceMs) };
  });
}
