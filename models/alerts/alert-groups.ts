import type { AlertGroup } from '../../core/alerts/group.ts';
import type { Run } from '../sql.ts';
import { releaseBehind } from './parent-holds.ts';

/** A group of alerts of a channel that takes what follows; `isNewestOpen`: its newest message is not begun yet. */
export type OpenGroup = AlertGroup & {
  id: string;
  channelId: string;
  key: string;
  newestId: string;
  isNewestOpen: boolean;
};

/**
 * The groups of these channels that are open now. A message that is not begun stays so until the caller's transaction
 * ends: a claim passes it by.
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

/** Of these monitors those that these messages of groups say something of. */
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

/** A group as it is after a batch of changes; `deliveryIds` are those of its deliveries that are new. */
export type WrittenGroup = Omit<OpenGroup, 'isNewestOpen'> & { openUntilMs: number; deliveryIds: readonly string[] };

/** Writes groups that were opened or got more, and which deliveries belong to them. */
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
 * Records which message of a chat shows a group now, so that what follows edits it. What opened the group and has not
 * reached the chat by then says nothing more than that message.
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
