import type { StoredMessage } from '../../core/alerts/envelope.ts';
import { MONITOR_HOLDS, TIMED_HOLDS, type Hold } from '../../core/alerts/hold.ts';
import { STATEFUL_PRESETS } from '../../core/alerts/webhook.ts';
import type { Database } from '../database.ts';
import { quoteList, runOn, type Run } from '../sql.ts';

/**
 * One event to one channel, to be stored; `monitorId` is null if the event concerns no monitor. An agent's or a drill's
 * event has that id instead: deliveries of one subject keep their order. It is due at once unless `dueAtMs` is set.
 */
export type NewDelivery = {
  id: string;
  tenantId: string;
  channelId: string;
  monitorId: string | null;
  message: StoredMessage;
  createdAtMs: number;
  dueAtMs?: number;
  /**
   * For a recovery, the delivery of its trouble that a worker held. The recovery waits for that, and is dropped if it
   * was not sent after all.
   */
  afterId?: string | null;
};

/**
 * A channel's longest due delivery, the number of its next attempt, and the number of the channel's overdue deliveries.
 */
type OverdueChannel = {
  channelId: string;
  deliveryId: string;
  attempt: number;
  dueAtMs: number;
  deliveries: number;
};

/** Time after which a due delivery counts as overdue, in milliseconds: its job is presumed lost. */
const OVERDUE_MS = 10_000;

/** SQL: whether a delivery `d` of a channel `c` ends an incident at a receiver that keeps it open until then. */
export const ENDS_INCIDENT = `(c.format ->> 'preset' IN ${quoteList(STATEFUL_PRESETS)}
  AND d.event = 'monitor.up' AND d.message -> 'detail' ->> 'incident_id' IS NOT NULL)`;

/**
 * SQL: whether a newer delivery may replace a delivery `d` of a channel `c`. One that ends an incident at its receiver
 * is kept, unless the incident was reopened: then it would close the alert that is open again (D-582).
 */
export const MAY_BE_OVERTAKEN = `(${ENDS_INCIDENT} IS NOT TRUE OR EXISTS (SELECT FROM incidents i
  WHERE i.id = d.message #>> '{detail,incident_id}' AND i.resolved_at IS NULL))`;

/**
 * SQL: whether a delivery `d` is no longer true, because its monitor or agent has changed since or was deleted. An
 * agent's state is read from its row: its changes have no sequence.
 */
export const IS_OUTDATED = `(EXISTS (SELECT FROM outdated_alert(d.event, d.monitor_id, d.message))
  OR d.event LIKE 'agent.%' AND (d.event = 'agent.offline') IS DISTINCT FROM coalesce((
    SELECT a.offline_at IS NOT NULL AND a.revoked_at IS NULL FROM agents a
    WHERE a.id = d.message #>> '{agent,id}'), false))`;

/**
 * SQL: whether the trouble of a delivery `d` began in maintenance that does not send alerts, by its latest occurrence.
 * A deleted window keeps those that have begun; true if there is none, as for maintenance of a clock that was ahead.
 */
export const BEGAN_IN_HOLD = `(d.message #>> '{detail,maintenance}' IS NOT NULL AND coalesce((
  SELECT b.alerts <> 'send' FROM maintenance_occurrences b
  WHERE b.window_id = d.message #>> '{detail,maintenance,window_id}' AND b.starts_at <= d.created_at
  ORDER BY b.starts_at DESC LIMIT 1), true))`;

/**
 * SQL: whether a held alert `h` of a delivery `d` waits for maintenance or a mute that began after it was written. That
 * is a reminder, or an alert that mentions neither, or only maintenance that sends alerts.
 */
export const IS_HELD_AGAIN = `(h.reason IN ${quoteList(MONITOR_HOLDS)}
  AND (EXISTS (SELECT FROM reminders r WHERE r.delivery_id = d.id)
    OR (d.message #>> '{detail,muted_until}' IS NULL AND NOT ${BEGAN_IN_HOLD})))`;

/**
 * SQL: whether a delivery `d` is a recovery whose trouble a worker held (`after_id`), and the trouble has this outcome
 * and was not released. `pending` is not decided yet; `superseded` was dropped, or sent in the message of a parent.
 */
export const followsUnreleased = (outcome: 'pending' | 'superseded', d = 'd') => `EXISTS (
  SELECT FROM deliveries t JOIN held_deliveries o ON o.delivery_id = t.id
  WHERE t.id = ${d}.after_id AND ${d}.attempts_before = 0 AND t.outcome = '${outcome}' AND o.released_at IS NULL
    AND o.summary_id IS NULL)`;

/**
 * Maximum number of deliveries that one statement writes: if all monitors of an account change, they may be very many.
 */
export const DELIVERIES_AT_ONCE = 1000;

/** Writes deliveries, in the order given, in the transaction of the change that causes them. */
export async function insertDeliveries(run: Run, deliveries: readonly NewDelivery[]): Promise<void> {
  for (let from = 0; from < deliveries.length; from += DELIVERIES_AT_ONCE)
    await run(
      `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at,
         after_id)
       SELECT d.id, d."tenantId", d."channelId", d."monitorId", d.message ->> 'event', d.message, coalesce(d."dueAtMs",
         d."createdAtMs"), d."createdAtMs", d."afterId"
       FROM json_to_recordset($1::json) AS d (id text, "tenantId" text, "channelId" text, "monitorId" text,
         message json, "createdAtMs" bigint, "dueAtMs" bigint, "afterId" text)`,
      [JSON.stringify(deliveries.slice(from, from + DELIVERIES_AT_ONCE))],
    );
}

/**
 * Drops deliveries that a newer change of a monitor supersedes (D-50): retries of its events to a chat that no worker
 * is sending now. Their outcome is `superseded`. Run it in the transaction that writes the newer ones.
 */
export async function supersedeRetries(
  run: Run,
  newer: readonly { channelId: string; monitorId: string }[],
  nowMs: number,
): Promise<void> {
  if (newer.length === 0) return;
  await run(
    `UPDATE deliveries d SET outcome = 'superseded', finished_at = $3
     FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) AS n (channel_id, monitor_id)) n
     WHERE d.channel_id = n.channel_id AND d.monitor_id = n.monitor_id AND d.outcome = 'pending'
       AND d.event LIKE 'monitor.%'
       AND d.attempts > d.attempts_before AND coalesce(d.claimed_until, 0) <= $3`,
    [newer.map(({ channelId }) => channelId), newer.map(({ monitorId }) => monitorId), nowMs],
  );
}

/** A hold with its delivery. */
type HeldDelivery = Hold & { id: string; unlessAcknowledged?: boolean };

/** Records the holds of deliveries. */
export async function insertHeld(run: Run, held: readonly HeldDelivery[]): Promise<void> {
  if (held.length === 0) return;
  await run(
    `INSERT INTO held_deliveries (delivery_id, reason, occurrence_no, held_by, unless_acknowledged)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::boolean[])`,
    [
      held.map(({ id }) => id),
      held.map(({ reason }) => reason),
      held.map(({ occurrenceNo }) => occurrenceNo),
      held.map(({ heldBy }) => heldBy),
      held.map(({ unlessAcknowledged = false }) => unlessAcknowledged),
    ],
  );
}

/** A channel, and a monitor that it is notified of. */
export type Pair = { channelId: string; monitorId: string };

/** Returns the key of a pair in maps. */
export function pairOf({ channelId, monitorId }: Pair): string {
  return `${channelId} ${monitorId}`;
}

/**
 * Drops the waiting deliveries of monitors that have recovered. Returns the pairs with another waiting recovery: their
 * channels were notified of trouble before that.
 */
export async function supersedeHeld(run: Run, recovered: readonly Pair[], nowMs: number): Promise<Pair[]> {
  if (recovered.length === 0) return [];
  const dropped = await run<Pair & { isAwaited: boolean }>(
    `UPDATE deliveries d SET outcome = 'superseded', finished_at = $3
     FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) AS n (channel_id, monitor_id)) n, held_deliveries h,
       channels c
     WHERE d.channel_id = n.channel_id AND d.monitor_id = n.monitor_id AND d.outcome = 'pending'
       AND h.delivery_id = d.id AND h.reason <> 'flapping' AND d.attempts = 0 AND coalesce(d.claimed_until, 0) <= $3
       AND c.id = d.channel_id AND ${MAY_BE_OVERTAKEN}
     RETURNING d.channel_id AS "channelId", d.monitor_id AS "monitorId",
       d.event = 'monitor.up' AND NOT ${followsUnreleased('superseded')} AS "isAwaited"`,
    [recovered.map(({ channelId }) => channelId), recovered.map(({ monitorId }) => monitorId), nowMs],
  );
  return dropped.filter(({ isAwaited }) => isAwaited);
}

/**
 * Drops the delayed trouble and the reminders that newer trouble of a monitor replaces. If a rule holds the newer one,
 * trouble that waits for maintenance or a mute is dropped as well: it may be due first. Without a `hold`, such as if
 * quiet hours drop the newer one, it stays. So does a recovery that waits for the end of quiet hours: it shows that its
 * channel was notified before.
 */
export async function supersedeByRules(
  run: Run,
  newer: readonly (Pair & { hold: Hold | null })[],
  nowMs: number,
): Promise<void> {
  if (newer.length === 0) return;
  await run(
    `UPDATE deliveries d SET outcome = 'superseded', finished_at = $3
     FROM unnest($1::text[], $2::text[], $4::text[]) AS n (channel_id, monitor_id, reason), held_deliveries h
     WHERE d.channel_id = n.channel_id AND d.monitor_id = n.monitor_id AND d.outcome = 'pending'
       AND h.delivery_id = d.id AND (h.reason IN ${quoteList(TIMED_HOLDS)} OR ${IS_HELD_AGAIN}
         OR (n.reason IN ${quoteList(TIMED_HOLDS)} AND h.reason IN ${quoteList(MONITOR_HOLDS)}))
       AND d.event <> 'monitor.up' AND d.attempts = 0 AND coalesce(d.claimed_until, 0) <= $3`,
    [
      newer.map(({ channelId }) => channelId),
      newer.map(({ monitorId }) => monitorId),
      nowMs,
      newer.map(({ hold }) => hold?.reason ?? null),
    ],
  );
}

/** Records deliveries that quiet hours drop: they are in their channel's log, but are not sent. */
export async function insertDropped(run: Run, dropped: readonly (NewDelivery & { hold: Hold })[]): Promise<void> {
  await insertDeliveries(run, dropped);
  await insertHeld(
    run,
    dropped.map(({ id, hold }) => ({ id, ...hold })),
  );
  if (dropped.length > 0)
    await run(`UPDATE deliveries SET outcome = 'superseded', finished_at = created_at WHERE id = ANY ($1::text[])`, [
      dropped.map(({ id }) => id),
    ]);
}

/**
 * Lists channels with long overdue deliveries that no worker has claimed, the longest due first. Their jobs were lost
 * with the queue, or their worker with its claims. Channels with a claimed delivery are left to its worker, and paused
 * ones are skipped. If there are more than `limit`, each account gets its longest due one, then its next.
 */
export async function listOverdueChannels(
  database: Database,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<OverdueChannel[]> {
  return await runOn(database.pool)<OverdueChannel>(
    `SELECT d.channel_id AS "channelId", longest.id AS "deliveryId", longest.attempts + 1 AS attempt,
            longest.next_attempt_at AS "dueAtMs", d.deliveries
     FROM (SELECT o.* FROM (
             SELECT channel_id, min(next_attempt_at) AS due_at,
               count(*) FILTER (WHERE next_attempt_at <= $1) AS deliveries
             FROM deliveries WHERE outcome = 'pending' AND next_attempt_at <= $2
             GROUP BY channel_id HAVING min(next_attempt_at) <= $1 AND coalesce(max(claimed_until), 0) <= $2) o
           JOIN channels c ON c.id = o.channel_id AND coalesce(c.quiet_until, 0) <= $2
           ORDER BY row_number() OVER (PARTITION BY c.tenant_id ORDER BY o.due_at), o.due_at LIMIT $3) d,
     LATERAL (SELECT id, attempts, next_attempt_at FROM deliveries
              WHERE channel_id = d.channel_id AND outcome = 'pending' ORDER BY next_attempt_at, id LIMIT 1) longest
     ORDER BY longest.next_attempt_at`,
    [nowMs - OVERDUE_MS, nowMs, limit],
  );
}

/** Maximum number of counted overdue deliveries: a higher figure tells no more. */
const MAX_COUNTED = 1000;

/** Deliveries that should have been sent, and since when the oldest is due (Unix milliseconds; null = none). */
export type OverdueDeliveries = { deliveries: number; oldestDueAtMs: number | null };

/**
 * Counts long overdue deliveries that no worker is sending, up to a thousand, the longest due first. Deliveries that
 * wait for their receiver are left out: of channels with one in progress, of paused ones, and those that must follow
 * an earlier delivery.
 */
export async function countOverdueDeliveries(
  database: Pick<Database, 'pool'>,
  nowMs: number,
): Promise<OverdueDeliveries> {
  const [row] = await runOn(database.pool)<OverdueDeliveries>(
    `WITH overdue AS MATERIALIZED (
       SELECT channel_id FROM deliveries WHERE outcome = 'pending' AND next_attempt_at <= $2
       GROUP BY channel_id HAVING min(next_attempt_at) <= $1 AND coalesce(max(claimed_until), 0) <= $2
     ), due AS MATERIALIZED (
       SELECT d.* FROM overdue o JOIN channels c ON c.id = o.channel_id AND coalesce(c.quiet_until, 0) <= $2,
       LATERAL (SELECT * FROM deliveries
                WHERE channel_id = o.channel_id AND outcome = 'pending' AND next_attempt_at <= $1
                ORDER BY next_attempt_at LIMIT $3) d
       ORDER BY d.next_attempt_at LIMIT $3)
     SELECT count(*) AS deliveries, min(d.next_attempt_at) AS "oldestDueAtMs" FROM due d
     WHERE NOT EXISTS (SELECT FROM unheld_ahead(d.channel_id, d.monitor_id, d.no, d.after_id, $2))
       AND NOT ${followsUnreleased('pending')}`,
    [nowMs - OVERDUE_MS, nowMs, MAX_COUNTED],
  );
  return row ?? { deliveries: 0, oldestDueAtMs: null };
}

/** Number of a channel's newest deliveries that are kept; older ones are kept only until they are finished. */
const MAX_OF_CHANNEL = 10_000;

/**
 * SQL: whether a delivery `d` was sent in the message of a parent and is still true. Once the parent is no longer down,
 * it may be sent itself.
 */
const MAY_GO_OUT = `EXISTS (SELECT FROM parent_holds k
  JOIN monitors m ON m.id = k.monitor_id AND m.sequence = k.sequence
  WHERE k.delivery_id = d.id AND k.joined_id IS NOT NULL)`;

/** Number of a channel's deliveries that one statement deletes: each takes its rows of eight other tables along. */
const CHUNK = 2000;

/** Number of channels that one statement searches for deliveries to delete. */
const CHANNELS_AT_ONCE = 200;

/**
 * Deletes deliveries that were finished before `beforeMs`, and those older than the newest 10,000 of each channel, with
 * their attempts; returns their number. Channels take turns of 2,000 deliveries while `mayGoOn` returns true; the next
 * run continues. No delivery is finished before it is created, so the index of a channel's deliveries finds them.
 */
export async function deleteOldDeliveries(
  database: Pick<Database, 'pool'>,
  beforeMs: number,
  mayGoOn: () => boolean = () => true,
): Promise<number> {
  const run = runOn(database.pool);
  let deleted = 0;
  let channels = await listToClear(run, beforeMs);
  while (channels.length > 0) {
    const unfinished: string[] = [];
    for (const id of channels) {
      if (!mayGoOn()) return deleted;
      const last = await deleteSome(run, id, beforeMs);
      if (last === CHUNK) unfinished.push(id);
      deleted += last;
    }
    channels = unfinished;
  }
  return deleted;
}

/** Lists the channels with deliveries to delete, in random order, so that no channel is first in every run. */
async function listToClear(run: Run, beforeMs: number): Promise<string[]> {
  const found: string[] = [];
  for (let after: string | null = ''; after !== null;) {
    const page: { id: string; isToClear: boolean }[] = await run(
      `SELECT c.id, EXISTS (SELECT FROM deliveries d WHERE d.channel_id = c.id AND d.created_at < $2
           AND d.finished_at < $2)
         OR EXISTS (SELECT FROM deliveries d WHERE d.channel_id = c.id OFFSET ${MAX_OF_CHANNEL}) AS "isToClear"
       FROM (SELECT id FROM channels WHERE id > $1 ORDER BY id LIMIT ${CHANNELS_AT_ONCE}) c ORDER BY c.id`,
      [after, beforeMs],
    );
    found.push(...page.filter(({ isToClear }) => isToClear).map(({ id }) => id));
    after = page.length === CHANNELS_AT_ONCE ? (page.at(-1)?.id ?? null) : null;
  }
  return found
    .map((id) => ({ id, turn: Math.random() }))
    .toSorted((a, b) => a.turn - b.turn)
    .map(({ id }) => id);
}

/**
 * Deletes one chunk of a channel's deliveries, and returns their number. Skips those that another transaction is
 * reopening: after a wait for their locks the subquery would not be evaluated again.
 */
async function deleteSome(run: Run, channelId: string, beforeMs: number): Promise<number> {
  const [row] = await run<{ deleted: number }>(
    `WITH last AS (SELECT created_at, id FROM deliveries WHERE channel_id = $1
       ORDER BY created_at DESC, id DESC OFFSET ${MAX_OF_CHANNEL} LIMIT 1),
     gone AS (DELETE FROM deliveries WHERE id IN (
       SELECT d.id FROM deliveries d WHERE d.channel_id = $1 AND d.finished_at IS NOT NULL AND NOT ${MAY_GO_OUT}
         AND (d.finished_at < $2 OR (d.created_at, d.id) <= (SELECT created_at, id FROM last))
       ORDER BY d.created_at, d.id LIMIT ${CHUNK} FOR UPDATE OF d SKIP LOCKED) RETURNING 1)
     SELECT count(*) AS deleted FROM gone`,
    [channelId, beforeMs],
  );
  return row?.deleted ?? 0;
}
