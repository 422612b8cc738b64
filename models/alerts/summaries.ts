import type { ChannelType } from '../../core/alerts/channel.ts';
import type { EventState } from '../../core/alerts/event.ts';
import type { AlertGroup } from '../../core/alerts/group.ts';
import {
  MAX_GROUPED,
  fillSummary,
  type GroupedChange,
  type SummarisedMonitor,
  type SummaryMessage,
} from '../../core/incidents/storm.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';
import { releaseBehind, storeMessage } from './parent-holds.ts';
import { SUMMARY_OPEN_MS } from './routes.ts';

/** The newest summary of a chat. `isOpen`: its first attempt has not begun, so that changes can still be added. */
export type NewestSummary = { deliveryId: string; dueAtMs: number; isOpen: boolean };

/** A monitor's change to be added to a summary. */
export type SummarisedChange = {
  deliveryId: string;
  monitorId: string;
  name: string;
  state: EventState;
  sequence: number;
  atMs: number;
};

/** Locks the summaries of these tenants until the caller's transaction ends: no other one can open or close any. */
export async function lockSummaries(run: Run, tenantIds: readonly string[]): Promise<void> {
  await run('SELECT FROM tenants WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE', [tenantIds]);
}

/**
 * Counts the monitors of each tenant that changed since a time in a way that chats are notified of (D-44). Includes
 * changes of the caller's transaction, but not alerts that wait for another monitor or were sent in its message. Until
 * the transaction ends, no other one counts for these tenants, so that two concurrent ones include each other's
 * monitors.
 */
export async function countChangedMonitors(
  run: Run,
  tenantIds: readonly string[],
  sinceMs: number,
): Promise<Map<string, number>> {
  await lockSummaries(run, tenantIds);
  const rows = await run<{ tenant_id: string; monitors: number }>(
    `SELECT tenant_id, count(DISTINCT monitor_id) AS monitors FROM transitions t
     WHERE tenant_id = ANY ($1::text[]) AND detected_at > $2 AND to_state IN ('down', 'degraded', 'unknown', 'up')
       AND NOT (from_state = 'pending' AND to_state = 'up')
       AND NOT EXISTS (SELECT FROM unchecked_times u WHERE u.monitor_id = t.monitor_id AND u.sequence = t.sequence)
       AND NOT EXISTS (SELECT FROM unchecked_times u WHERE u.monitor_id = t.monitor_id AND u.sequence + 1 = t.sequence
         AND u.from_state = t.to_state)
       AND NOT EXISTS (SELECT FROM parent_holds h WHERE h.monitor_id = t.monitor_id AND h.sequence = t.sequence)
     GROUP BY tenant_id`,
    [tenantIds, sinceMs],
  );
  return new Map(rows.map((row) => [row.tenant_id, row.monitors]));
}

/**
 * Returns the newest summaries of these channels, if any. An open one remains open until the caller's transaction ends:
 * claims skip it.
 */
export async function listNewestSummaries(
  run: Run,
  channelIds: readonly string[],
): Promise<Map<string, NewestSummary>> {
  const rows = await run<NewestSummary & { channelId: string }>(
    `SELECT s.channel_id AS "channelId", s.delivery_id AS "deliveryId", s.due_at AS "dueAtMs",
            d.outcome = 'pending' AND d.attempts = 0 AS "isOpen"
     FROM summaries s JOIN deliveries d ON d.id = s.delivery_id
     WHERE s.channel_id = ANY ($1::text[]) ORDER BY s.channel_id FOR SHARE OF d`,
    [channelIds],
  );
  return new Map(rows.map(({ channelId, ...summary }) => [channelId, summary]));
}

/**
 * Makes newly written deliveries the newest summaries of their channels. The caller holds the tenants' locks by
 * `lockSummaries`.
 */
export async function upsertSummaries(
  run: Run,
  opened: readonly { channelId: string; deliveryId: string; dueAtMs: number }[],
): Promise<void> {
  if (opened.length === 0) return;
  await run(
    `INSERT INTO summaries (channel_id, delivery_id, due_at)
     SELECT s."channelId", s."deliveryId", s."dueAtMs"
       FROM json_to_recordset($1::json) AS s ("channelId" text, "deliveryId" text, "dueAtMs" bigint)
     ON CONFLICT (channel_id) DO UPDATE SET delivery_id = excluded.delivery_id, due_at = excluded.due_at`,
    [JSON.stringify(opened)],
  );
}

/** Adds changes, in the given order, to open summaries; only the last one of each monitor is reported. */
export async function addToSummaries(run: Run, changes: readonly SummarisedChange[]): Promise<void> {
  if (changes.length === 0) return;
  const last = new Map(changes.map((change) => [`${change.deliveryId} ${change.monitorId}`, change]));
  await run(
    `INSERT INTO summary_changes (delivery_id, monitor_id, name, state, sequence, at)
     SELECT c."deliveryId", c."monitorId", c.name, c.state, c.sequence, c."atMs"
     FROM json_to_recordset($1::json) AS c ("deliveryId" text, "monitorId" text, name text, state text,
       sequence integer, "atMs" bigint)
     ON CONFLICT (delivery_id, monitor_id) DO UPDATE
       SET name = excluded.name, state = excluded.state, sequence = excluded.sequence, at = excluded.at`,
    [JSON.stringify([...last.values()])],
  );
}

/**
 * SQL: whether a channel is notified of the trouble `t` apart from this summary (the delivery `o`): separately, behind
 * a parent, or in another summary. Waiting alerts, and those dropped while they waited, do not count. Alerts held by a
 * worker count, and so does flapping, whose message reports the final state.
 */
const IS_SAID = `(EXISTS (
    SELECT FROM deliveries d LEFT JOIN held_deliveries h ON h.delivery_id = d.id
    WHERE d.channel_id = o.channel_id AND d.created_at = t.detected_at AND d.monitor_id = t.monitor_id
      AND d.event LIKE 'monitor.%' AND (h.delivery_id IS NULL OR h.released_at IS NOT NULL OR h.reason = 'flapping'
        OR (d.outcome = 'pending' AND d.attempts > d.attempts_before)
        OR EXISTS (SELECT FROM parent_holds k WHERE k.delivery_id = d.id AND k.joined_id IS NOT NULL)))
  OR (t.monitor_id, t.sequence) IN (
    SELECT s.monitor_id, s.sequence FROM deliveries own JOIN deliveries d ON d.channel_id = own.channel_id
      AND d.event = 'summary' AND d.created_at >= own.created_at - ${SUMMARY_OPEN_MS}
      JOIN summary_changes s ON s.delivery_id = d.id
    WHERE own.id = $1))`;

/**
 * Fills the message of a claimed summary with the changes gathered for it, or for its group, and stores it for the
 * record. Leaves out changes that a newer one makes outdated, as for a separate alert, and deleted monitors, so that a
 * retry reports nothing that is over; none may be left. A recovery stays until its channel is notified of newer
 * trouble.
 */
export async function readSummary(
  database: Database,
  { deliveryId, channelType }: { deliveryId: string; channelType: ChannelType },
  summary: SummaryMessage,
): Promise<SummaryMessage> {
  const run = runOn(database.pool);
  if (channelType === 'webhook') {
    const { changes, ...counted } = await readGrouped(run, deliveryId, summary);
    await storeMessage(run, deliveryId, counted);
    return { ...counted, changes };
  }
  const gathered = await run<SummarisedMonitor>(
    `SELECT c.name, c.state FROM (
       SELECT DISTINCT ON (s.monitor_id) s.* FROM summary_changes s
       WHERE s.delivery_id = $1 OR s.delivery_id IN (SELECT delivery_id FROM grouped_deliveries
         WHERE group_id = (SELECT group_id FROM grouped_deliveries WHERE delivery_id = $1))
       ORDER BY s.monitor_id, s.sequence DESC
     ) c JOIN monitors m ON m.id = c.monitor_id JOIN deliveries o ON o.id = $1
     WHERE NOT CASE WHEN c.state = 'up'
       THEN EXISTS (SELECT FROM transitions t WHERE t.monitor_id = c.monitor_id AND t.sequence > c.sequence
         AND t.to_state IN ('degraded', 'down', 'unknown') AND ${IS_SAID})
       ELSE EXISTS (SELECT FROM outdated_alert('monitor.' || c.state, c.monitor_id,
         json_build_object('detail', json_build_object('sequence', c.sequence)))) END
     ORDER BY c.at, c.name, c.monitor_id`,
    [deliveryId],
  );
  const filled = fillSummary(summary, gathered);
  if (filled.monitors > 0) await storeMessage(run, deliveryId, filled);
  return filled;
}

/** Returns all changes gathered for a webhook's delivery: receivers use the sequence, so none are left out. */
async function readGrouped(
  run: Run,
  deliveryId: string,
  summary: SummaryMessage,
): Promise<SummaryMessage & { changes: readonly GroupedChange[] }> {
  const changes = await run<{ id: string; name: string; state: EventState; sequence: number; atMs: number }>(
    `SELECT monitor_id AS id, name, state, sequence, at AS "atMs" FROM summary_changes WHERE delivery_id = $1
     ORDER BY at, name, monitor_id`,
    [deliveryId],
  );
  const listed = changes.slice(0, MAX_GROUPED).map(({ id, name, state, sequence, atMs }): GroupedChange => ({
    monitor: { id, name },
    state,
    sequence,
    event_at: Math.floor(atMs / 1000),
  }));
  return { ...fillSummary(summary, changes), changes: listed };
}

/**
 * A group of alerts of a channel that accepts further ones; `isNewestOpen`: its newest message has not been attempted
 * yet.
 */
export type OpenGroup = AlertGroup & {
  id: string;
  channelId: string;
  key: string;
  newestId: string;
  isNewestOpen: boolean;
};

/**
 * Lists the open groups of these channels. An unattempted message remains so until the caller's transaction ends:
 * claims skip it.
 */
export async function listOpenGroups(run: Run, channelIds: readonly string[], nowMs: number): Promise<OpenGroup[]> {
  return await run<OpenGroup>(
    `SELECT g.id, g.channel_id AS "channelId", g.key, g.opened_at AS "openedAtMs", g.newest_id AS "newestId",
            g.newest_due_at AS "newestDueAtMs",
            d.event = 'summary' AND d.outcome = 'pending' AND d.attempts = 0 AS "isNewestOpen"
     FROM alert_groups g JOIN deliveries d ON d.id = g.newest_id
     WHERE g.channel_id = ANY ($1::text[]) AND g.open_until > $2 ORDER BY g.id FOR SHARE OF d`,
    [channelIds, nowMs],
  );
}

/** Returns those of the monitors that these messages of groups mention. */
export async function listGatheredMonitors(
  run: Run,
  { deliveryIds, monitorIds }: { deliveryIds: readonly string[]; monitorIds: readonly string[] },
): Promise<{ deliveryId: string; monitorId: string }[]> {
  if (deliveryIds.length === 0) return [];
  return await run(
    `SELECT delivery_id AS "deliveryId", monitor_id AS "monitorId" FROM summary_changes
     WHERE delivery_id = ANY ($1::text[]) AND monitor_id = ANY ($2::text[])`,
    [deliveryIds, monitorIds],
  );
}

/** A group after a batch of changes; `deliveryIds` are its new deliveries. */
export type WrittenGroup = Omit<OpenGroup, 'isNewestOpen'> & { openUntilMs: number; deliveryIds: readonly string[] };

/** Writes new and extended groups, and their deliveries. */
export async function upsertGroups(run: Run, groups: readonly WrittenGroup[]): Promise<void> {
  if (groups.length === 0) return;
  await run(
    `INSERT INTO alert_groups (id, channel_id, key, opened_at, open_until, newest_id, newest_due_at)
     SELECT id, "channelId", key, "openedAtMs", "openUntilMs", "newestId", "newestDueAtMs"
     FROM json_to_recordset($1::json) AS g (id text, "channelId" text, key text, "openedAtMs" bigint,
       "openUntilMs" bigint, "newestId" text, "newestDueAtMs" bigint)
     ON CONFLICT (id) DO UPDATE SET open_until = excluded.open_until, newest_id = excluded.newest_id,
       newest_due_at = excluded.newest_due_at`,
    [JSON.stringify(groups)],
  );
  const members = groups.flatMap(({ id, deliveryIds }) => deliveryIds.map((deliveryId) => ({ deliveryId, id })));
  await run('INSERT INTO grouped_deliveries (delivery_id, group_id) SELECT * FROM unnest($1::text[], $2::text[])', [
    members.map(({ deliveryId }) => deliveryId),
    members.map(({ id }) => id),
  ]);
}

/**
 * Records the chat message that now shows a group, so that later alerts edit it. The group's first alert is superseded
 * if it has not reached the chat by then.
 */
export async function updateGroupMessage(
  run: Run,
  { deliveryId, chatMessageId, nowMs }: { deliveryId: string; chatMessageId: number; nowMs: number },
): Promise<void> {
  await run(
    `WITH shown AS (
       UPDATE alert_groups SET chat_message_id = $2
       WHERE id = (SELECT group_id FROM grouped_deliveries WHERE delivery_id = $1)
       RETURNING id
     ), superseded AS (
       UPDATE deliveries SET outcome = 'superseded', finished_at = $3
       WHERE id IN (SELECT id FROM shown) AND id <> $1 AND outcome = 'pending' AND coalesce(claimed_until, 0) <= $3
       RETURNING id
     ), ${releaseBehind('SELECT id FROM superseded', '$3')}
     SELECT`,
    [deliveryId, chatMessageId, nowMs],
  );
}
