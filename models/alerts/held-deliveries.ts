import type { MonitorMessage } from '../../core/alerts/envelope.ts';
import type { EventState } from '../../core/alerts/event.ts';
import { MONITOR_HOLDS, TIMED_HOLDS, type Hold, type HoldReason } from '../../core/alerts/hold.ts';
import type { ChannelRule } from '../../core/alerts/rules.ts';
import { quoteList, type Run } from '../sql.ts';
import { BEGAN_IN_HOLD, IS_HELD_AGAIN, MAY_BE_OVERTAKEN, type NewDelivery } from './deliveries.ts';
import { CAN_BE_GATHERED, releaseBehind } from './parent-holds.ts';

/**
 * An alert that waited for the end of maintenance and is due; `eventAt` is the time when it became true, in Unix
 * seconds.
 */
export type DueHeld = {
  id: string;
  monitorId: string;
  name: string;
  state: EventState;
  sequence: number;
  createdAtMs: number;
  eventAt: number;
  maintenance: string | null;
};

/** A claimed alert of a chat that waited. */
type ClaimedHeld = { deliveryId: string; channelId: string };

/**
 * Reports whether other waiting alerts of the same chat are due as well; one statement without a lock. Messages that a
 * monitor flaps are always separate.
 */
export async function hasOtherHeld(run: Run, { deliveryId, channelId }: ClaimedHeld, nowMs: number): Promise<boolean> {
  const others = await run(
    `SELECT FROM held_deliveries h JOIN deliveries d ON d.id = h.delivery_id
     WHERE d.channel_id = $1 AND d.id <> $2 AND d.outcome = 'pending' AND d.next_attempt_at <= $3
       AND h.summary_id IS NULL AND h.released_at IS NULL AND h.reason <> 'flapping'
       AND NOT EXISTS (SELECT FROM held_deliveries o WHERE o.delivery_id = $2 AND o.reason = 'flapping') LIMIT 1`,
    [channelId, deliveryId, nowMs],
  );
  return others.length > 0;
}

/** SQL: whether a held alert `h` of a delivery `d` must no longer be sent, because its incident is acknowledged. */
const IS_ACKNOWLEDGED = `(h.unless_acknowledged AND EXISTS (SELECT FROM incidents i
  WHERE i.id = d.message #>> '{detail,incident_id}' AND i.acknowledged_at IS NOT NULL))`;

/**
 * SQL: a common table expression of the claims (ids as $1, attempts as $2) that no other worker has taken over. Their
 * deliveries stay locked.
 */
const OWN = `own AS MATERIALIZED (
       SELECT d.id, d.channel_id, d.attempts FROM unnest($1::text[], $2::integer[]) AS c (id, attempt)
         JOIN deliveries d ON d.id = c.id AND d.attempts = c.attempt AND d.outcome = 'pending'
       ORDER BY d.no FOR NO KEY UPDATE OF d
     )`;

/**
 * SQL: the maintenance or mute of its monitor that holds a delivery `d` with a hold `h` at a given time and ends last.
 * Columns: `reason`, `until_ms` and `occurrence_no`. Its previous hold may have been ended early while a shorter one
 * continues, and others may have begun since. Windows that drop alerts hold those of earlier trouble that come due,
 * except of trouble that began in a window that holds.
 */
const otherHold = (now: string) => `(
  SELECT 'mute' AS reason, u.muted_until AS until_ms, NULL::bigint AS occurrence_no FROM monitor_mutes u
    WHERE u.id = d.monitor_id AND u.muted_until > ${now}
  UNION ALL
  SELECT 'maintenance', t.ended_at + o.settle_seconds * 1000, o.no
    FROM monitors m JOIN current_times c ON c.monitor_no = m.no
      JOIN maintenance_times t ON t.monitor_no = c.monitor_no AND t.occurrence_no = c.occurrence_no
      JOIN maintenance_occurrences o ON o.no = c.occurrence_no
    WHERE m.id = d.monitor_id AND NOT o.is_skipped AND t.started_at <= ${now}
      AND (o.alerts = 'hold' OR (o.alerts = 'drop' AND (h.reason <> 'maintenance' OR ${IS_HELD_AGAIN}
        OR NOT ${BEGAN_IN_HOLD})))
      AND t.ended_at > t.started_at AND t.ended_at + o.settle_seconds * 1000 > ${now}
  ORDER BY until_ms DESC LIMIT 1)`;

/**
 * SQL: whether a held alert `h` of a delivery `d` may have to wait again, for maintenance or a mute. It waited for
 * another one, or for the time of its rule, and its channel follows these. A recovery waits for neither.
 */
const FOLLOWS_MAINTENANCE = `(h.reason IN ${quoteList(MONITOR_HOLDS)}
  OR (h.reason IN ${quoteList(TIMED_HOLDS)} AND d.event <> 'monitor.up'
    AND EXISTS (SELECT FROM channels c WHERE c.id = d.channel_id AND (c.type <> 'webhook' OR c.follows_maintenance))))`;

/** Maximum number of due alerts that are held again with claimed ones; each statement reads all that are due. */
const HELD_AGAIN_AT_ONCE = 10_000;

/** An alert that was given another time, and the number of its next attempt. */
type MovedAttempt = { deliveryId: string; channelId: string; attempt: number; dueAtMs: number };

/**
 * Holds claimed alerts again if their monitor is in maintenance or muted by now. With them it holds the unclaimed due
 * ones of their channels, because the thousands of a window would otherwise be claimed one by one. Returns for each
 * claimed alert what was held again in its channel; null = it does not wait. `held_by` is the time until which each
 * waits, by which `releaseUncovered` and `releaseUnmuted` find those that missed an earlier end. None was sent, so
 * claims of workers that were killed do not count.
 */
export async function holdAgain(
  run: Run,
  claimed: readonly { deliveryId: string; channelId: string; attempt: number }[],
  nowMs: number,
): Promise<(MovedAttempt[] | null)[]> {
  const rows = await run<MovedAttempt & { claim: number }>(
    `WITH ${OWN}, covered AS MATERIALIZED (
       SELECT o.*, x.* FROM own o JOIN deliveries d ON d.id = o.id
         JOIN held_deliveries h ON h.delivery_id = d.id, LATERAL ${otherHold('$3::bigint')} x
       WHERE ${FOLLOWS_MAINTENANCE} AND d.attempts_before = 0
     ), others AS MATERIALIZED (
       SELECT d.id, d.channel_id, d.attempts, x.* FROM deliveries d
         JOIN held_deliveries h ON h.delivery_id = d.id, LATERAL ${otherHold('$3::bigint')} x
       WHERE d.channel_id = ANY (ARRAY (SELECT channel_id FROM covered)) AND d.outcome = 'pending'
         AND d.next_attempt_at <= $3 AND d.attempts = 0 AND d.claimed_until IS NULL AND h.summary_id IS NULL
         AND h.released_at IS NULL AND ${FOLLOWS_MAINTENANCE}
       ORDER BY d.no LIMIT ${HELD_AGAIN_AT_ONCE} FOR NO KEY UPDATE OF d SKIP LOCKED
     ), waiting AS (
       SELECT * FROM covered UNION ALL SELECT * FROM others
     ), unmade AS (
       DELETE FROM delivery_attempts a USING covered c WHERE a.delivery_id = c.id
     ), named AS (
       UPDATE held_deliveries h SET reason = w.reason, occurrence_no = w.occurrence_no, held_by = w.until_ms::text
       FROM waiting w WHERE h.delivery_id = w.id
     )
     UPDATE deliveries d SET claimed_until = NULL, attempts = 0, next_attempt_at = w.until_ms
     FROM waiting w WHERE d.id = w.id
     RETURNING d.id AS "deliveryId", d.channel_id AS "channelId", w.attempts AS claim, 1 AS attempt,
       w.until_ms AS "dueAtMs"`,
    [claimed.map(({ deliveryId }) => deliveryId), claimed.map(({ attempt }) => attempt), nowMs],
  );
  const held = new Set(rows.map(({ deliveryId, claim }) => `${deliveryId} ${claim}`));
  const moved = Map.groupBy(rows, ({ channelId }) => channelId);
  return claimed.map(({ deliveryId, channelId, attempt }) =>
    held.has(`${deliveryId} ${attempt}`) ? (moved.get(channelId) ?? []) : null,
  );
}

/** SQL: whether a rule of a channel `c` has reminders. */
const HAS_REMINDERS = `(c.rules @? '$[*].repeat_seconds')`;

/** SQL: whether a delivery `d` is a reminder, and its channel `c` has no rule with reminders any more. */
const IS_LEFT_OVER = `(${HAS_REMINDERS} IS NOT TRUE
  AND EXISTS (SELECT FROM reminders r WHERE r.delivery_id = d.id AND r.number > 0))`;

/** The outcome of a claimed alert that waited; `open` if more than its own row decides. */
export type SettledHeld = 'dropped' | 'released' | 'open';

/**
 * Drops claimed alerts that waited and are no longer true, or are acknowledged if their rule considers that. Drops
 * reminders as well that no rule of their channel asks for any more. Releases the others that are alone (`isAlone`),
 * with no parent or summary involved; one that a reminder may follow stays open. After maintenance a chat is still
 * notified of outdated alerts, which are marked as such.
 */
export async function settleHeld(
  run: Run,
  claimed: readonly { deliveryId: string; attempt: number; isAlone: boolean }[],
  nowMs: number,
): Promise<SettledHeld[]> {
  const settled = await run<{ id: string; attempt: number; outcome: SettledHeld }>(
    `WITH ${OWN}, obsolete AS (
       SELECT o.id, o.attempts FROM own o JOIN deliveries d ON d.id = o.id
         JOIN held_deliveries h ON h.delivery_id = d.id JOIN channels c ON c.id = d.channel_id
       WHERE d.attempts_before = 0 AND (${IS_ACKNOWLEDGED} OR ${IS_LEFT_OVER}
         OR ((h.reason <> 'maintenance' OR ${IS_HELD_AGAIN}) AND ${MAY_BE_OVERTAKEN}
         AND EXISTS (SELECT FROM outdated_alert(d.event, d.monitor_id, d.message))))
     ), unmade AS (
       DELETE FROM delivery_attempts a USING obsolete o WHERE a.delivery_id = o.id
     ), ${releaseBehind('SELECT id FROM obsolete', '$3', 'h.unless_acknowledged')}, dropped AS (
       UPDATE deliveries d SET outcome = 'superseded', finished_at = $3, claimed_until = NULL, attempts = 0
       FROM obsolete o WHERE d.id = o.id RETURNING d.id, o.attempts AS attempt
     ), released AS (
       UPDATE held_deliveries h SET released_at = $3 FROM own o
       WHERE h.delivery_id = o.id AND o.id = ANY ($4::text[]) AND summary_id IS NULL
         AND o.id NOT IN (SELECT id FROM obsolete)
         AND NOT EXISTS (SELECT FROM channels c WHERE c.id = o.channel_id AND ${HAS_REMINDERS})
       RETURNING o.id, o.attempts AS attempt
     )
     SELECT id, attempt, 'dropped' AS outcome FROM dropped
     UNION ALL SELECT id, attempt, 'released' FROM released`,
    [
      claimed.map(({ deliveryId }) => deliveryId),
      claimed.map(({ attempt }) => attempt),
      nowMs,
      claimed.flatMap(({ deliveryId, isAlone }) => (isAlone ? [deliveryId] : [])),
    ],
  );
  const outcomes = new Map(settled.map(({ id, attempt, outcome }) => [`${id} ${attempt}`, outcome]));
  const dropped = settled.flatMap(({ id, outcome }) => (outcome === 'dropped' ? [id] : []));
  // The statement does not find alerts that were added to the dropped messages while it waited for a lock.
  if (dropped.length > 0)
    await run(`WITH ${releaseBehind('SELECT unnest($1::text[])', '$2::bigint', 'h.unless_acknowledged')} SELECT`, [
      dropped,
      nowMs,
    ]);
  return claimed.map(({ deliveryId, attempt }) => outcomes.get(`${deliveryId} ${attempt}`) ?? 'open');
}

/**
 * Releases claimed alerts that waited, which are then like any others; the reason for which they waited stays recorded.
 * Reports for each whether it was released: not if another worker has claimed it since, or it is finished.
 */
export async function releaseHeld(
  run: Run,
  claimed: readonly { deliveryId: string; attempt: number }[],
  nowMs: number,
): Promise<boolean[]> {
  const rows = await run<{ id: string; attempt: number }>(
    `WITH ${OWN}
     UPDATE held_deliveries h SET released_at = $3 FROM own o WHERE h.delivery_id = o.id AND summary_id IS NULL
     RETURNING o.id, o.attempts AS attempt`,
    [claimed.map(({ deliveryId }) => deliveryId), claimed.map(({ attempt }) => attempt), nowMs],
  );
  const released = new Set(rows.map(({ id, attempt }) => `${id} ${attempt}`));
  return claimed.map(({ deliveryId, attempt }) => released.has(`${deliveryId} ${attempt}`));
}

/**
 * Locks the claimed alert and those of its chat that came due with it, in order, until the transaction ends. Skips
 * alerts that another transaction is changing, those that wait for an earlier alert of their monitor that never waited,
 * and those to be dropped. Also skips outdated ones, which are sent separately and marked as such.
 */
export async function lockDueHeld(run: Run, { deliveryId, channelId }: ClaimedHeld, nowMs: number): Promise<DueHeld[]> {
  return await run<DueHeld>(
    `WITH behind AS MATERIALIZED (
       SELECT no FROM (
         SELECT u.no, bool_or(is_on_first_attempt(u, $3) AND h.delivery_id IS NULL)
           OVER (PARTITION BY u.monitor_id ORDER BY u.no ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS waits
         FROM deliveries u LEFT JOIN held_deliveries h
           ON h.delivery_id = u.id AND h.summary_id IS NULL AND h.released_at IS NULL
         WHERE u.channel_id = $1 AND u.outcome = 'pending' AND u.monitor_id IS NOT NULL) p
       WHERE waits)
     SELECT d.id, d.monitor_id AS "monitorId", d.message -> 'monitor' ->> 'name' AS name,
            d.message ->> 'state' AS state, (d.message -> 'detail' ->> 'sequence')::integer AS sequence,
            d.created_at AS "createdAtMs", (d.message ->> 'event_at')::bigint AS "eventAt",
            CASE WHEN h.reason = 'maintenance' THEN d.message #>> '{detail,maintenance,name}' END AS maintenance
     FROM held_deliveries h JOIN deliveries d ON d.id = h.delivery_id JOIN channels c ON c.id = d.channel_id
     WHERE d.channel_id = $1 AND d.outcome = 'pending' AND d.next_attempt_at <= $3 AND h.summary_id IS NULL
       AND h.released_at IS NULL AND h.reason <> 'flapping'
       AND (d.id = $2 OR coalesce(d.claimed_until, 0) <= $3)
       AND (d.id = $2 OR (${CAN_BE_GATHERED}))
       AND (d.id = $2 OR d.no NOT IN (SELECT no FROM behind))
       AND NOT (${FOLLOWS_MAINTENANCE} AND EXISTS (SELECT FROM ${otherHold('$3')} x))
       AND NOT ${IS_ACKNOWLEDGED} AND NOT ${IS_LEFT_OVER}
       AND NOT EXISTS (SELECT FROM outdated_alert(d.event, d.monitor_id, d.message))
     ORDER BY d.no FOR NO KEY UPDATE OF d SKIP LOCKED`,
    [channelId, deliveryId, nowMs],
  );
}

/** Records the summary that contains alerts: they are `superseded`, and their open attempts were not made. */
export async function moveToSummary(
  run: Run,
  { ids, summaryId, nowMs }: { ids: readonly string[]; summaryId: string; nowMs: number },
): Promise<void> {
  await run('UPDATE held_deliveries SET summary_id = $2 WHERE delivery_id = ANY ($1::text[])', [ids, summaryId]);
  await run('DELETE FROM parent_holds WHERE delivery_id = ANY ($1::text[])', [ids]);
  await run(
    `DELETE FROM delivery_attempts a USING deliveries d
     WHERE d.id = ANY ($1::text[]) AND a.delivery_id = d.id AND a.attempt > d.attempts_before`,
    [ids],
  );
  await run(
    `UPDATE deliveries SET outcome = 'superseded', finished_at = $2, claimed_until = NULL, attempts = attempts_before
     WHERE id = ANY ($1::text[])`,
    [ids, nowMs],
  );
  await run(`WITH ${releaseBehind('SELECT unnest($1::text[])', '$2::bigint')} SELECT`, [ids, nowMs]);
}

/** A reminder, with its `number` among those that follow a delivery. */
type Reminder = { deliveryId: string; follows: string; number: number; unlessAcknowledged: boolean };

/**
 * Lists the trouble and the reminders among these waiting deliveries that a reminder may follow, with the data that
 * determines its time. That is the end of their incident's snooze (Unix milliseconds), the rules of their channel, and
 * the tags of their monitor. The number of trouble is 0.
 */
export async function listFollowed(
  run: Run,
  deliveryIds: readonly string[],
): Promise<
  (Reminder &
    Omit<NewDelivery, 'id' | 'createdAtMs'> & {
      message: MonitorMessage;
      snoozedUntilMs: number | null;
      rules: readonly ChannelRule[] | null;
      tags: readonly string[];
    })[]
> {
  return await run(
    `SELECT d.id AS "deliveryId", d.tenant_id AS "tenantId", d.channel_id AS "channelId", d.monitor_id AS "monitorId",
            d.message, coalesce(r.follows, d.id) AS follows, coalesce(r.number, 0) AS number,
            h.unless_acknowledged AS "unlessAcknowledged",
            (SELECT i.snoozed_until FROM incidents i WHERE i.id = d.message #>> '{detail,incident_id}')
              AS "snoozedUntilMs", c.rules, coalesce(m.tags, '{}') AS tags
     FROM deliveries d JOIN held_deliveries h ON h.delivery_id = d.id AND h.reason <> 'flapping'
       LEFT JOIN reminders r ON r.delivery_id = d.id
       JOIN channels c ON c.id = d.channel_id AND c.rules IS NOT NULL JOIN monitors m ON m.id = d.monitor_id
     WHERE d.id = ANY ($1::text[]) AND d.event <> 'monitor.up' AND coalesce(r.number, 0) >= 0`,
    [deliveryIds],
  );
}

/**
 * Writes reminders, each only once, and returns the new ones. All rows are written in one statement: the first to write
 * the number of a reminder writes its delivery.
 */
export async function insertReminders(
  run: Run,
  reminders: readonly (NewDelivery &
    Omit<Reminder, 'deliveryId'> &
    Pick<Hold, 'reason' | 'heldBy'> & { dueAtMs: number })[],
): Promise<string[]> {
  if (reminders.length === 0) return [];
  const rows = await run<{ id: string }>(
    `WITH planned AS (
       SELECT * FROM json_to_recordset($1::json) AS d (id text, "tenantId" text, "channelId" text, "monitorId" text,
         message json, "createdAtMs" bigint, "dueAtMs" bigint, follows text, number smallint, reason text,
         "heldBy" text, "unlessAcknowledged" boolean)
     ), numbered AS (
       INSERT INTO reminders (delivery_id, follows, number) SELECT id, follows, number FROM planned
       ON CONFLICT (follows, number) DO NOTHING RETURNING delivery_id
     ), held AS (
       INSERT INTO held_deliveries (delivery_id, reason, held_by, unless_acknowledged)
       SELECT p.id, p.reason, p."heldBy", p."unlessAcknowledged" FROM planned p JOIN numbered n ON n.delivery_id = p.id
     )
     INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at)
     SELECT p.id, p."tenantId", p."channelId", p."monitorId", p.message ->> 'event', p.message, p."dueAtMs",
            p."createdAtMs"
     FROM planned p JOIN numbered n ON n.delivery_id = p.id
     RETURNING id`,
    [JSON.stringify(reminders)],
  );
  return rows.map(({ id }) => id);
}

/**
 * Moves waiting alerts of a monitor, or of an incident, to another time, and returns those. `reasons` selects the
 * alerts; `delay` includes those that were delayed before they had to wait again. `reason` is their new reason for
 * waiting. A snooze also replaces maintenance or a mute that ends later, because `holdAgain` applies these at its end.
 * Alerts that wait for a snooze are due no sooner than they were without it, which is their `held_by`.
 */
export async function moveHeld(
  run: Run,
  { monitorId, incidentId = null, reasons, reason, dueAtMs }: HeldMove,
): Promise<MovedAttempt[]> {
  return await run(
    `WITH waiting AS MATERIALIZED (
       SELECT d.id, CASE WHEN h.reason = 'snooze' THEN h.held_by::bigint
           WHEN h.reason IN ('delay', 'reminder') THEN d.next_attempt_at END AS due_at,
         CASE WHEN EXISTS (SELECT FROM reminders r WHERE r.delivery_id = d.id) THEN 'reminder'
           ELSE 'delay' END AS reason
       FROM deliveries d JOIN held_deliveries h ON h.delivery_id = d.id
       WHERE d.monitor_id = $1 AND d.outcome = 'pending' AND d.attempts = 0 AND d.claimed_until IS NULL
         AND (h.reason = ANY ($3::text[]) OR ('delay' = ANY ($3::text[]) AND ${IS_HELD_AGAIN}))
         AND ($2::text IS NULL OR d.message #>> '{detail,incident_id}' = $2)
         AND ($5 <> 'snooze' OR d.next_attempt_at < $4 OR h.reason IN ${quoteList([...MONITOR_HOLDS, 'snooze'])})
       ORDER BY d.no FOR NO KEY UPDATE OF d
     ), named AS (
       UPDATE held_deliveries h SET reason = CASE WHEN w.due_at > $4 THEN w.reason ELSE $5 END, held_by = w.due_at::text
       FROM waiting w WHERE h.delivery_id = w.id
     )
     UPDATE deliveries d SET next_attempt_at = greatest($4, w.due_at) FROM waiting w WHERE d.id = w.id
     RETURNING d.id AS "deliveryId", d.channel_id AS "channelId", 1 AS attempt, d.next_attempt_at AS "dueAtMs"`,
    [monitorId, incidentId, reasons, dueAtMs, reason],
  );
}

type HeldMove = {
  monitorId: string;
  incidentId?: string | null;
  reasons: readonly HoldReason[];
  reason: HoldReason;
  dueAtMs: number;
};
