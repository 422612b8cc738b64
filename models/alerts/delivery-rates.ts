import { FURTHEST_MARK_MS, planDue, usedUpBy } from '../../core/alerts/delivery-rates.ts';
import { MONITOR_HOLDS, type Hold } from '../../core/alerts/hold.ts';
import type { Database } from '../database.ts';
import { quoteList, type Run } from '../sql.ts';
import { DELIVERIES_AT_ONCE, ENDS_INCIDENT, insertDeliveries, pairOf, type NewDelivery } from './deliveries.ts';

/** A monitor's change to be sent to one channel; one with a hold waits for maintenance or a mute. */
export type ChangeDelivery = NewDelivery & { monitorId: string; hold?: Hold | null };

/**
 * Sets the due times of deliveries, so that no account and no monitor exceeds its rate (D-320). Those that need not
 * wait get none. One statement locks the rows of all accounts and monitors in order until the transaction ends: call it
 * before others are locked.
 */
export async function scheduleAtRate<Delivery extends ChangeDelivery>(
  run: Run,
  deliveries: readonly Delivery[],
  nowMs: number,
): Promise<Delivery[]> {
  if (deliveries.length === 0) return [];
  const used = [...usedUpBy(deliveries)];
  const rows = await run<{ key: string; used_up: number }>(
    `INSERT INTO delivery_rates AS r (key, used_up) SELECT key, $3::bigint + ms
     FROM unnest($1::text[], $2::bigint[]) AS k (key, ms) ORDER BY key
     ON CONFLICT (key) DO UPDATE SET used_up = least(greatest(r.used_up, $3::bigint),
       $3::bigint + ${FURTHEST_MARK_MS}) + excluded.used_up - $3::bigint
     RETURNING key, used_up`,
    [used.map(([key]) => key), used.map(([, ms]) => ms), nowMs],
  );
  const byKey = new Map(used);
  const marks = new Map(rows.map(({ key, used_up: usedUp }) => [key, usedUp - (byKey.get(key) ?? 0)]));
  const dueAtMs = planDue(deliveries, marks, nowMs);
  return deliveries.map((delivery, index) =>
    (dueAtMs[index] ?? nowMs) > nowMs ? { ...delivery, dueAtMs: dueAtMs[index] } : delivery,
  );
}

/**
 * Writes scheduled deliveries and returns the new ones. One that has to wait replaces a waiting one for the same
 * channel, monitor and reason. Only the newer is sent, at the older one's time, and the number of replaced ones is
 * recorded.
 */
export async function insertAtRate(
  run: Run,
  deliveries: readonly ChangeDelivery[],
  nowMs: number,
): Promise<NewDelivery[]> {
  const waiting = Map.groupBy(
    deliveries.filter(({ dueAtMs }) => dueAtMs !== undefined),
    pairOf,
  );
  if (waiting.size === 0) {
    await insertDeliveries(run, deliveries);
    return [...deliveries];
  }
  const newest = [...waiting.values()].flatMap((ofPair) => ofPair.at(-1) ?? []);
  const taken = await updateWaiting(run, newest, nowMs);
  // If several of one batch have to wait, the newest is due when the first would have been.
  const late = newest
    .filter((delivery) => !taken.has(pairOf(delivery)))
    .map((delivery) => ({ ...delivery, dueAtMs: waiting.get(pairOf(delivery))?.[0]?.dueAtMs ?? delivery.createdAtMs }));
  const inserted = [...deliveries.filter(({ dueAtMs }) => dueAtMs === undefined), ...late];
  await insertDeliveries(run, inserted);
  const merged = newest.map((delivery) => {
    const waitingId = taken.get(pairOf(delivery));
    const count = waiting.get(pairOf(delivery))?.length ?? 0;
    return { deliveryId: waitingId ?? delivery.id, changes: waitingId === undefined ? count - 1 : count };
  });
  await recordMerges(
    run,
    merged.filter(({ changes }) => changes > 0),
  );
  const sent = new Set(inserted.map(({ id }) => id));
  await giveBack(
    run,
    deliveries.filter(({ id }) => !sent.has(id)),
  );
  return inserted;
}

/** SQL: the incident of a message. */
const incidentOf = (message: string) => `${message} -> 'detail' ->> 'incident_id'`;

/**
 * Returns the ids of waiting deliveries that now contain the newer change, by pair of channel and monitor. A delivery
 * that ends an incident at a receiver that keeps it open is not replaced by another incident; if its beginning was
 * replaced as well, the receiver has no such incident. A hold by maintenance or a mute replaces only another such hold,
 * and a wait for the rate only another such wait. `created_at` becomes that of the newer change, because its recovery
 * is matched by it.
 */
async function updateWaiting(run: Run, newest: readonly ChangeDelivery[], nowMs: number): Promise<Map<string, string>> {
  const taken = new Map<string, string>();
  for (let from = 0; from < newest.length; from += DELIVERIES_AT_ONCE) {
    const rows = await run<{ id: string; channelId: string; monitorId: string }>(
      `UPDATE deliveries d SET message = k.message, event = k.message ->> 'event', after_id = k."afterId",
         created_at = k."createdAtMs"
       FROM json_to_recordset($1::json) AS k ("channelId" text, "monitorId" text, message json, "afterId" text,
         "createdAtMs" bigint, hold json)
       JOIN channels c ON c.id = k."channelId"
       WHERE d.channel_id = k."channelId" AND d.monitor_id = k."monitorId" AND d.outcome = 'pending' AND d.attempts = 0
         AND d.claimed_until IS NULL
         AND d.next_attempt_at > $2 AND d.event LIKE 'monitor.%'
         AND (SELECT h.reason IN ${quoteList(MONITOR_HOLDS)} FROM held_deliveries h WHERE h.delivery_id = d.id)
           IS NOT DISTINCT FROM nullif(k.hold IS NOT NULL, false)
         AND NOT EXISTS (SELECT FROM reminders r WHERE r.delivery_id = d.id)
         AND CASE WHEN ${ENDS_INCIDENT} THEN ${incidentOf('d.message')} IS DISTINCT FROM (
           SELECT ${incidentOf('e.message')} FROM deliveries e
           WHERE e.channel_id = d.channel_id AND e.monitor_id = d.monitor_id AND e.no < d.no ORDER BY e.no DESC LIMIT 1)
           ELSE true END
       RETURNING d.id, d.channel_id AS "channelId", d.monitor_id AS "monitorId"`,
      [JSON.stringify(newest.slice(from, from + DELIVERIES_AT_ONCE)), nowMs],
    );
    for (const row of rows) taken.set(pairOf(row), row.id);
  }
  return taken;
}

async function recordMerges(run: Run, merged: readonly { deliveryId: string; changes: number }[]): Promise<void> {
  if (merged.length === 0) return;
  await run(
    `INSERT INTO merged_deliveries AS m (delivery_id, changes) SELECT * FROM unnest($1::text[], $2::int[])
     ON CONFLICT (delivery_id) DO UPDATE SET changes = m.changes + excluded.changes`,
    [merged.map(({ deliveryId }) => deliveryId), merged.map(({ changes }) => changes)],
  );
}

/** Refunds the rate of merged deliveries; otherwise a monitor that keeps flapping would wait forever. */
async function giveBack(run: Run, merged: readonly ChangeDelivery[]): Promise<void> {
  if (merged.length === 0) return;
  const used = [...usedUpBy(merged)];
  await run(
    'UPDATE delivery_rates r SET used_up = r.used_up - k.ms FROM unnest($1::text[], $2::bigint[]) AS k (key, ms) ' +
      'WHERE r.key = k.key',
    [used.map(([key]) => key), used.map(([, ms]) => ms)],
  );
}

/** Deletes rates that are no longer used up and that no other transaction changes; returns their number. */
export async function deletePastRates(database: Pick<Database, 'pool'>, nowMs: number): Promise<number> {
  const { rowCount } = await database.pool.query(
    `DELETE FROM delivery_rates WHERE key IN (
       SELECT key FROM delivery_rates WHERE used_up < $1 FOR UPDATE SKIP LOCKED)`,
    [nowMs],
  );
  return rowCount ?? 0;
}
