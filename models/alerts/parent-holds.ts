import type { StoredMessage } from '../../core/alerts/envelope.ts';
import { JOINS_AFTER_MS } from '../../core/alerts/parents.ts';
import { VERDICT_CODES } from '../../core/checks/verdict.ts';
import { scheduleOf, type ScheduleColumns } from '../heartbeats/schedule.ts';
import type { Run } from '../sql.ts';

/** An alert that waits for a parent: its transition, and the parent. */
export type ParentHold = {
  deliveryId: string;
  monitorId: string;
  sequence: number;
  parentId: string;
  sinceMs: number;
};

/** Records the parents that written alerts wait for. */
export async function insertParentHolds(run: Run, holds: readonly ParentHold[]): Promise<void> {
  if (holds.length === 0) return;
  await run(
    `INSERT INTO parent_holds (delivery_id, monitor_id, sequence, parent_id, since, awaits_own)
     SELECT k."deliveryId", k."monitorId", k.sequence, k."parentId", k."sinceMs", false
     FROM json_to_recordset($1::json) AS k ("deliveryId" text, "monitorId" text, sequence integer, "parentId" text,
       "sinceMs" bigint)`,
    [JSON.stringify(holds)],
  );
}

/** A channel with a due delivery. */
export type DueChannel = { channelId: string; deliveryId: string; dueAtMs: number };

/**
 * SQL: whether a delivery `d` is still waiting and not held by a worker. Expired claims of dead workers do not count.
 */
const waits = (now: string) => `(d.outcome = 'pending' AND coalesce(d.claimed_until, 0) <= ${now} AND EXISTS (
  SELECT FROM held_deliveries e WHERE e.delivery_id = d.id AND e.released_at IS NULL AND e.summary_id IS NULL))`;

/** SQL: selects one of the rows `id, channel_id` for each channel, to add a job for. */
const ONE_A_CHANNEL = 'SELECT DISTINCT ON (channel_id) channel_id AS "channelId", id AS "deliveryId"';

/**
 * Makes alerts due that wait for these parents, which have gone down: they are sent in the parents' messages. Skips
 * those that a worker is claiming: the worker reads its parents itself.
 */
export async function releaseToParents(run: Run, parentNos: readonly number[], nowMs: number): Promise<DueChannel[]> {
  if (parentNos.length === 0) return [];
  return await run<DueChannel>(
    `WITH waiting AS MATERIALIZED (
       SELECT d.id FROM monitor_dependencies e JOIN monitors m ON m.no = e.monitor_no
         JOIN parent_holds h ON h.monitor_id = m.id AND h.sequence = m.sequence AND h.joined_id IS NULL
         JOIN deliveries d ON d.id = h.delivery_id
       WHERE e.parent_no = ANY ($1::int[]) AND e.mode = 'hold' AND ${waits('$2')} AND d.next_attempt_at > $2
       ORDER BY d.no FOR NO KEY UPDATE OF d SKIP LOCKED
     ), due AS (
       UPDATE deliveries d SET next_attempt_at = $2 FROM waiting w WHERE d.id = w.id RETURNING d.id, d.channel_id
     )
     ${ONE_A_CHANNEL}, $2::bigint AS "dueAtMs" FROM due ORDER BY channel_id, id`,
    [parentNos, nowMs + JOINS_AFTER_MS],
  );
}

/** The alerts that wait again for results of their own monitors: their channels, and those monitors. */
type Rearmed = { channels: DueChannel[]; monitorIds: string[] };

/**
 * Time that an alert waits for a result of its own monitor without a notification that there is one, in milliseconds.
 */
export const FALLBACK_MS = 300_000;

/** Time that rules may hold a parent's message longer than an alert in it, in milliseconds. */
const HELD_LONGER_MS = 60_000;

/**
 * Selects alerts that were sent in the messages of these monitors, and of monitors behind those: all, or those of one
 * monitor. `wereDown` includes those still to be sent in them.
 */
type Joined = { parentIds: readonly string[]; monitorId?: string | null; wereDown?: boolean };

/**
 * Re-queues alerts that were folded into a parent's message. Called when the parent is no longer down, or the
 * dependency was removed; each alert then waits for a new result of its own monitor. With `wereDown`, alerts that
 * already wait for one start over if their channel was to be notified of the parent: what failed meanwhile may have
 * failed with it. Alerts with a newer change are left as they are. One that a worker has claimed keeps its time: the
 * worker reads its parents again after this commit.
 */
export async function awaitOwnResults(
  run: Run,
  { parentIds, monitorId: ofMonitorId = null, wereDown = false }: Joined,
  nowMs: number,
): Promise<Rearmed> {
  if (parentIds.length === 0) return { channels: [], monitorIds: [] };
  const rows = await run<{ monitorId: string | null; due: DueChannel | null }>(
    `WITH RECURSIVE come AS (
       SELECT delivery_id, monitor_id, joined_id FROM parent_holds
       WHERE parent_id = ANY ($1::text[]) AND joined_id IS NOT NULL AND ($3::text IS NULL OR monitor_id = $3)
       UNION
       SELECT h.delivery_id, h.monitor_id, h.joined_id FROM come c
         JOIN parent_holds h ON h.joined_id = c.joined_id AND h.parent_id = c.monitor_id
     ), announced AS MATERIALIZED (
       SELECT o.monitor_id, o.channel_id, o.created_at, CASE WHEN EXISTS (SELECT FROM held_deliveries g
         WHERE g.delivery_id = o.id AND g.released_at IS NULL AND g.reason IN ('delay', 'quiet_hours'))
         THEN o.next_attempt_at ELSE 0 END AS due_at
       FROM unnest($1::text[]) AS p (id) CROSS JOIN LATERAL (
         SELECT t.detected_at FROM transitions t WHERE t.monitor_id = p.id AND t.to_state = 'down'
         ORDER BY t.sequence DESC LIMIT 1
       ) f JOIN deliveries o ON o.monitor_id = p.id AND o.created_at >= f.detected_at AND o.event = 'monitor.down'
       WHERE $4 AND NOT EXISTS (SELECT FROM reminders n WHERE n.delivery_id = o.id)
         AND (o.outcome IN ('pending', 'delivered') OR (o.outcome = 'superseded' AND (o.finished_at >= $2
           OR EXISTS (SELECT FROM parent_holds j WHERE j.delivery_id = o.id AND j.joined_id IS NOT NULL))))
     ), waiting AS (
       SELECT delivery_id, monitor_id FROM parent_holds
       WHERE $4 AND parent_id = ANY ($1::text[]) AND joined_id IS NULL AND NOT awaits_own
       UNION
       SELECT h.delivery_id, h.monitor_id FROM monitors p
         JOIN monitor_dependencies e ON e.parent_no = p.no AND e.mode = 'hold' JOIN monitors m ON m.no = e.monitor_no
         JOIN parent_holds h ON h.monitor_id = m.id AND h.sequence = m.sequence
         JOIN deliveries a ON a.id = h.delivery_id
       WHERE $4 AND p.id = ANY ($1::text[]) AND h.joined_id IS NULL AND h.awaits_own AND h.since < $2
         AND EXISTS (SELECT FROM announced r WHERE r.monitor_id = p.id AND r.channel_id = a.channel_id
           AND r.due_at - greatest(r.created_at - a.created_at, 0) <= $2::bigint + ${HELD_LONGER_MS})
     ), behind AS MATERIALIZED (
       SELECT delivery_id, false AS is_waiting FROM come
       UNION
       SELECT h.delivery_id, true FROM waiting h JOIN deliveries w ON w.id = h.delivery_id
       WHERE w.outcome = 'pending' AND ($3::text IS NULL OR h.monitor_id = $3)
         AND EXISTS (SELECT FROM held_deliveries e WHERE e.delivery_id = w.id AND e.released_at IS NULL)
     ), locked AS MATERIALIZED (
       SELECT d.id, b.is_waiting FROM behind b JOIN deliveries d ON d.id = b.delivery_id
       ORDER BY d.no FOR NO KEY UPDATE OF d
     ), rearmed AS (
       UPDATE parent_holds h SET joined_id = NULL, awaits_own = true, since = CASE
         WHEN h.awaits_own AND (m.type = 'heartbeat' OR m.state = 'unknown') AND NOT ${HAS_SCHEDULE}
           AND NOT ${failedByItself('h.since', '$2')} THEN h.since ELSE $2 END
       FROM locked l, monitors m
       WHERE h.delivery_id = l.id AND m.id = h.monitor_id AND m.sequence = h.sequence
         AND (h.joined_id IS NULL OR NOT l.is_waiting)
       RETURNING h.delivery_id, h.monitor_id
     ), due AS (
       UPDATE deliveries d SET outcome = 'pending', finished_at = NULL, next_attempt_at = $2::bigint + ${FALLBACK_MS}
       FROM rearmed r WHERE d.id = r.delivery_id AND d.outcome IN ('superseded', 'pending')
         AND coalesce(d.claimed_until, 0) <= $2
       RETURNING d.id, d.channel_id, d.next_attempt_at
     )
     SELECT monitor_id AS "monitorId", NULL::json AS due FROM rearmed
     UNION ALL
     SELECT NULL, json_build_object('deliveryId', id, 'channelId', channel_id, 'dueAtMs', next_attempt_at) FROM due`,
    [parentIds, nowMs, ofMonitorId, wereDown],
  );
  return {
    channels: [...new Map(rows.flatMap(({ due }) => (due === null ? [] : [[due.channelId, due]]))).values()],
    monitorIds: [...new Set(rows.flatMap(({ monitorId }) => monitorId ?? []))],
  };
}

/** The facts about parents that decide how a claimed alert that waited is sent. */
export type ParentStatus = {
  /** Number of the alert's monitor; null if that was deleted. */
  monitorNo: number | null;
  /** A parent of the monitor that is down, and whose alert, `rootId`, was or is to be sent to the channel. */
  parent: { no: number; id: string; rootId: string; rootNo: number } | null;
  /** Hold of the alert itself: for a parent, or with `awaitsOwn` for a result of its own monitor; null = none. */
  hold: { awaitsOwn: boolean; sinceMs: number } | null;
  /**
   * A recovery of its parent that missed the hold, because their transactions overlapped; null = none. The alert names
   * the parent as down, or was written just then, and still waits for it.
   */
  missedRecovery: { parentId: string; atMs: number } | null;
  /** Whether the alert reports that more monitors are behind its own. */
  isUpdate: boolean;
  /** For such an update, whether the alert that it follows was sent in the message of a parent, or waits. */
  isRootBehind: boolean;
  /** Whether another alert of the monitor to the channel waits for a result of its own. */
  isOtherWaiting: boolean;
};

type ClaimedAlert = { deliveryId: string; channelId: string; monitorId: string };

const UNKNOWN_STATUS: ParentStatus = {
  monitorNo: null,
  parent: null,
  hold: null,
  missedRecovery: null,
  isUpdate: false,
  isRootBehind: false,
  isOtherWaiting: false,
};

/**
 * Time before an alert of an unknown monitor within which its parent may have recovered unnoticed, in milliseconds.
 * Such an alert does not name the parents that are down.
 */
const OVERLAP_MS = 60_000;

/**
 * SQL: whether the message of a delivery `r` can contain a due alert behind it. It was or is to be sent, and the
 * channel's rules hold it no longer than they held the alert. Or it was dropped because of an acknowledgement, and the
 * rules of both consider that (D-580).
 */
export const TAKES_BEHIND = (alertId: string, now: string) => `(r.outcome = 'delivered'
  OR r.outcome = 'pending' AND NOT EXISTS (SELECT FROM held_deliveries w, deliveries x
    WHERE w.delivery_id = r.id AND w.released_at IS NULL AND w.reason IN ('delay', 'quiet_hours') AND x.id = ${alertId}
      AND r.next_attempt_at - greatest(r.created_at - x.created_at, 0) > ${now}::bigint + ${HELD_LONGER_MS})
  OR EXISTS (
  SELECT FROM held_deliveries g JOIN incidents i ON i.id = r.message #>> '{detail,incident_id}'
    JOIN held_deliveries a ON a.delivery_id = ${alertId}
  WHERE g.delivery_id = r.id AND r.outcome = 'superseded' AND i.acknowledged_at IS NOT NULL
    AND g.summary_id IS NULL AND g.unless_acknowledged AND a.unless_acknowledged))`;

/**
 * Reads the facts for a claimed alert. Of several parents that are down the one with the lowest id counts. A parent
 * whose message is not sent holds no alerts, unless it was acknowledged and both rules consider that (D-580).
 */
export async function readParentStatus(run: Run, alert: ClaimedAlert, nowMs: number): Promise<ParentStatus> {
  const [row] = await run<ParentStatus>(
    `SELECT (SELECT m.no FROM monitors m WHERE m.id = $3) AS "monitorNo",
       (SELECT json_build_object('awaitsOwn', h.awaits_own, 'sinceMs', h.since) FROM parent_holds h
             WHERE h.delivery_id = $1 AND h.joined_id IS NULL) AS hold,
       (SELECT json_build_object('parentId', p.id, 'atMs', t.detected_at)
        FROM parent_holds h JOIN deliveries d ON d.id = h.delivery_id
          JOIN monitors p ON p.id = h.parent_id AND p.state <> 'down'
          JOIN transitions t ON t.monitor_id = p.id AND t.from_state = 'down'
        WHERE h.delivery_id = $1 AND h.joined_id IS NULL AND NOT h.awaits_own
          AND CASE WHEN d.event = 'monitor.unknown' THEN t.detected_at > h.since - ${OVERLAP_MS}
            ELSE (d.message #> '{detail,dependencies}')::jsonb @>
              jsonb_build_array(jsonb_build_object('id', p.id, 'state', 'down')) END
        ORDER BY t.sequence DESC LIMIT 1) AS "missedRecovery",
       EXISTS (SELECT FROM reminders n WHERE n.delivery_id = $1 AND n.number < 0) AS "isUpdate",
       EXISTS (SELECT FROM reminders n JOIN parent_holds h ON h.delivery_id = n.follows
         WHERE n.delivery_id = $1 AND n.number < 0) AS "isRootBehind",
       EXISTS (SELECT FROM parent_holds h JOIN deliveries o ON o.id = h.delivery_id
         WHERE h.monitor_id = $3 AND h.joined_id IS NULL AND h.awaits_own AND o.channel_id = $2
           AND o.outcome = 'pending' AND o.id <> $1) AS "isOtherWaiting",
       (SELECT json_build_object('no', p.no, 'id', p.id, 'rootId', r.id, 'rootNo', q.no)
        FROM monitors m JOIN monitor_dependencies e ON e.monitor_no = m.no AND e.mode = 'hold'
          JOIN monitors p ON p.no = e.parent_no AND p.state = 'down'
          JOIN deliveries o ON o.channel_id = $2 AND o.monitor_id = p.id AND o.event = 'monitor.down'
            AND o.message ->> 'drill' IS NULL AND (o.message #>> '{detail,sequence}')::integer = p.sequence
            AND NOT EXISTS (SELECT FROM reminders n WHERE n.delivery_id = o.id)
          LEFT JOIN parent_holds j ON j.delivery_id = o.id
          JOIN deliveries r ON r.id = coalesce(j.joined_id, o.id) JOIN monitors q ON q.id = r.monitor_id
        WHERE m.id = $3 AND ${TAKES_BEHIND('$1', '$4')}
        ORDER BY p.id, o.no LIMIT 1) AS parent`,
    [alert.deliveryId, alert.channelId, alert.monitorId, nowMs],
  );
  return row ?? UNKNOWN_STATUS;
}

/** SQL: whether an overload of the service made the monitor `m` unknown, and still does. */
const IS_UNCHECKED = 'EXISTS (SELECT FROM unchecked_times u WHERE u.monitor_no = m.no AND u.ended_at IS NULL)';

/** SQL: whether the monitor `m` is a heartbeat with a schedule. It fails by itself only in a run after every outage. */
const HAS_SCHEDULE = 'EXISTS (SELECT FROM heartbeats s WHERE s.monitor_no = m.no AND s.cron IS NOT NULL)';

/**
 * SQL: whether the monitor `m` failed by itself after a time. A heartbeat has no results while pings are missing. An
 * unknown monitor may have none either: it has failed once that has lasted as long as it takes to become unknown.
 */
const failedByItself = (since: string, now: string) => `CASE WHEN ${IS_UNCHECKED} THEN false
  WHEN m.type = 'heartbeat'
  THEN ${now}::bigint - ${since}::bigint >= (m.interval_seconds + coalesce(m.heartbeat_grace_seconds, 0)) * 1000
  WHEN m.state = 'unknown' THEN ${since}::bigint <= fresh_since(m.interval_seconds, ${now}::bigint)
  ELSE EXISTS (SELECT FROM check_results r WHERE r.monitor_no = m.no AND r.due_at > ${since}
    AND r.verdict IN (${VERDICT_CODES.degraded}, ${VERDICT_CODES.down})) END`;

/**
 * Reports whether a monitor failed by itself after a time: it has a newer bad result, or has been without results for
 * long enough since. A heartbeat with a schedule has failed by itself once it missed its next run, even if its interval
 * is longer; `makeDecidedDue` does not consider that, so such an alert may be up to `FALLBACK_MS` late.
 */
export async function hasOwnFailure(
  run: Run,
  { monitorId, sinceMs, nowMs }: { monitorId: string; sinceMs: number; nowMs: number },
): Promise<boolean> {
  const [row] = await run<ScheduleColumns & { has: boolean; isUnchecked: boolean; graceSeconds: number }>(
    `SELECT ${failedByItself('$2', '$3')} AS has, ${IS_UNCHECKED} AS "isUnchecked", h.cron, h.time_zone AS timezone,
       h.early_seconds AS "earlySeconds", h.grace_seconds AS "graceSeconds"
     FROM monitors m LEFT JOIN heartbeats h ON h.monitor_no = m.no WHERE m.id = $1`,
    [monitorId, sinceMs, nowMs],
  );
  if (row === undefined || row.has || row.isUnchecked) return row?.has === true;
  const schedule = scheduleOf(row);
  const runMs = schedule?.runAfter(sinceMs + schedule.earlySeconds * 1000) ?? Infinity;
  return runMs + row.graceSeconds * 1000 <= nowMs;
}

/**
 * SQL: whether a delivery `d` that waited can be sent in a summary. It is not an update, it is not sent in the message
 * of a parent, and it does not wait for a result of its own monitor.
 */
export const CAN_BE_GATHERED = `NOT EXISTS (SELECT FROM reminders n WHERE n.delivery_id = d.id AND n.number < 0)
  AND NOT EXISTS (SELECT FROM monitors m JOIN monitor_dependencies e ON e.monitor_no = m.no AND e.mode = 'hold'
    JOIN monitors p ON p.no = e.parent_no AND p.state = 'down'
    JOIN deliveries o ON o.channel_id = d.channel_id AND o.monitor_id = p.id AND o.event = 'monitor.down'
      AND o.message ->> 'drill' IS NULL AND (o.message #>> '{detail,sequence}')::integer = p.sequence
    LEFT JOIN parent_holds j ON j.delivery_id = o.id JOIN deliveries r ON r.id = coalesce(j.joined_id, o.id)
    WHERE m.id = d.monitor_id AND d.event <> 'monitor.up' AND ${TAKES_BEHIND('d.id', '$3')})
  AND NOT EXISTS (SELECT FROM parent_holds k JOIN monitors m ON m.id = k.monitor_id
    WHERE k.delivery_id = d.id AND k.awaits_own AND NOT ${failedByItself('k.since', '$3')})`;

/**
 * SQL: common table expressions that make alerts due which were in the messages of these deliveries, now not sent after
 * all. `but` selects the alerts of `held_deliveries` h that are left as they are. The alerts are locked before their
 * holds, as by a recovery and a join.
 */
export function releaseBehind(rootIds: string, nowMs: string, but = 'false'): string {
  return `contained AS MATERIALIZED (
      SELECT d.id FROM parent_holds j JOIN deliveries d ON d.id = j.delivery_id
      WHERE j.joined_id = ANY (ARRAY (${rootIds})) ORDER BY d.no FOR NO KEY UPDATE OF d
    ), freed AS (
      UPDATE parent_holds k SET joined_id = NULL, since = ${nowMs} FROM contained c, monitors m, held_deliveries h
      WHERE k.delivery_id = c.id AND k.joined_id = ANY (ARRAY (${rootIds}))
        AND m.id = k.monitor_id AND m.sequence = k.sequence AND h.delivery_id = k.delivery_id AND NOT (${but})
      RETURNING k.delivery_id
    ), behind AS (
      UPDATE deliveries SET outcome = 'pending', finished_at = NULL, next_attempt_at = ${nowMs}
      WHERE id = ANY (ARRAY (SELECT delivery_id FROM freed)) AND outcome = 'superseded'
    )`;
}

/** Stores the message of a claimed delivery as it will be sent. */
export async function storeMessage(run: Run, deliveryId: string, message: StoredMessage): Promise<void> {
  await run('UPDATE deliveries SET message = $2 WHERE id = $1', [deliveryId, JSON.stringify(message)]);
}

/** A delivery whose message contained others, with the data for an update of it. */
type SentRoot = {
  tenantId: string;
  channelId: string;
  monitorId: string;
  message: StoredMessage;
  updates: number;
};

/**
 * Reads a delivery whose message is to be updated, and the number of its updates; null if one of them is still to be
 * sent.
 */
export async function readSentRoot(run: Run, rootId: string): Promise<SentRoot | null> {
  const [root] = await run<SentRoot & { isPlanned: boolean }>(
    `SELECT d.tenant_id AS "tenantId", d.channel_id AS "channelId", d.monitor_id AS "monitorId", d.message,
       coalesce(-min(n.number), 0) AS updates,
       coalesce(bool_or(u.outcome = 'pending' AND u.attempts = 0), false) AS "isPlanned"
     FROM deliveries d LEFT JOIN reminders n ON n.follows = d.id AND n.number < 0
       LEFT JOIN deliveries u ON u.id = n.delivery_id
     WHERE d.id = $1 GROUP BY d.id`,
    [rootId],
  );
  if (root === undefined || root.isPlanned) return null;
  const { isPlanned: _planned, ...sent } = root;
  return sent;
}

/** Finds the delivery that a claimed one follows, as an update or a reminder; null if it is neither. */
export async function findFollowed(
  run: Run,
  deliveryId: string,
): Promise<{ rootId: string; isUpdate: boolean } | null> {
  const [row] = await run<{ rootId: string; isUpdate: boolean }>(
    'SELECT follows AS "rootId", number < 0 AS "isUpdate" FROM reminders WHERE delivery_id = $1',
    [deliveryId],
  );
  return row ?? null;
}

/** Ends an alert's wait for its parents, because it is sent. */
export async function endParentHold(run: Run, deliveryId: string): Promise<void> {
  await run('DELETE FROM parent_holds WHERE delivery_id = $1 AND joined_id IS NULL', [deliveryId]);
}

/**
 * Reports whether any alert waits. Called all the time, mostly in vain: one prepared statement on an index of only
 * those.
 */
export async function isAnyWaiting(run: Run): Promise<boolean> {
  const [row] = await run<{ isAny: boolean }>({
    name: 'parent-holds-waiting',
    text: 'SELECT EXISTS (SELECT FROM parent_holds WHERE joined_id IS NULL) AS "isAny"',
  });
  return row?.isAny === true;
}

/** A parent, and until when it is known to be well, in Unix milliseconds (`wellUntilMs`). */
type CheckedParent = { no: number; untilMs: number };

/**
 * Makes alerts due that need not wait any longer, at most `limit`. All their parents are among `parents` and well, or
 * their own monitors have a new result. Alerts that still wait, and those that are locked, take no place among these.
 */
export async function makeDecidedDue(
  run: Run,
  { parents, nowMs, limit }: { parents: readonly CheckedParent[]; nowMs: number; limit: number },
): Promise<{ channels: DueChannel[]; mayHaveMore: boolean }> {
  const channels = await run<DueChannel & { madeDue: number }>(
    `WITH well AS MATERIALIZED (
       SELECT e.monitor_no, min(coalesce(p.until_ms, 0)) AS until_ms
       FROM monitor_dependencies e LEFT JOIN unnest($2::int[], $3::float8[]) AS p (no, until_ms) ON p.no = e.parent_no
       WHERE e.mode = 'hold' AND e.monitor_no IN (
         SELECT m.no FROM parent_holds h JOIN monitors m ON m.id = h.monitor_id
         WHERE h.joined_id IS NULL AND NOT h.awaits_own)
       GROUP BY e.monitor_no
     ), decided AS MATERIALIZED (
       SELECT d.id
       FROM parent_holds h JOIN monitors m ON m.id = h.monitor_id LEFT JOIN well w ON w.monitor_no = m.no
         JOIN deliveries d ON d.id = h.delivery_id
       WHERE h.joined_id IS NULL AND ${waits('$1')} AND d.next_attempt_at > $1
         AND CASE WHEN NOT h.awaits_own THEN h.since <= coalesce(w.until_ms, 'Infinity')
           ELSE m.sequence <> h.sequence AND NOT ${IS_UNCHECKED} OR ${failedByItself('h.since', '$1')} END
       ORDER BY h.delivery_id LIMIT $4 FOR NO KEY UPDATE OF d SKIP LOCKED
     ), due AS (
       UPDATE deliveries d SET next_attempt_at = $1 FROM decided c WHERE d.id = c.id RETURNING d.id, d.channel_id
     )
     ${ONE_A_CHANNEL}, $1::bigint AS "dueAtMs", count(*) OVER () AS "madeDue" FROM due ORDER BY channel_id, id`,
    [nowMs, parents.map(({ no }) => no), parents.map(({ untilMs }) => untilMs), limit],
  );
  return { channels, mayHaveMore: channels[0]?.madeDue === limit };
}

/** Deletes the records of waits that ended otherwise, such as by a recovery. */
export async function deleteEndedHolds(run: Run): Promise<void> {
  await run(
    `DELETE FROM parent_holds h USING deliveries d
     WHERE h.joined_id IS NULL AND d.id = h.delivery_id AND d.outcome <> 'pending'`,
  );
}
