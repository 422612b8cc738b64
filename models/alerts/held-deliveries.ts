import type { EventState } from '../../core/alerts/event.ts';
import type { Run } from '../sql.ts';

/** An alert that waited for the end of maintenance and is due; `eventAt` is in Unix seconds, when it became true. */
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

/** A claimed alert that waited, of a chat. */
type ClaimedHeld = { deliveryId: string; channelId: string };

/** Whether others that waited for the same chat are due as well; one statement without a lock. */
export async function hasOtherHeld(run: Run, { deliveryId, channelId }: ClaimedHeld, nowMs: number): Promise<boolean> {
  const others = await run(
    `SELECT FROM held_deliveries h JOIN deliveries d ON d.id = h.delivery_id
     WHERE d.channel_id = $1 AND d.id <> $2 AND d.outcome = 'pending' AND d.next_attempt_at <= $3
       AND h.summary_id IS NULL LIMIT 1`,
    [channelId, deliveryId, nowMs],
  );
  return others.length > 0;
}

/** An alert that waited is one like any other from now on. */
export async function releaseHeld(run: Run, deliveryId: string): Promise<void> {
  await run('DELETE FROM held_deliveries WHERE delivery_id = $1 AND summary_id IS NULL', [deliveryId]);
}

/**
 * Locks the claimed alert and those of its chat that came due with it, in their order, until the transaction ends. Left
 * out is what another transaction changes just now, and what is overtaken: that is sent by itself, and says so.
 */
export async function lockDueHeld(run: Run, { deliveryId, channelId }: ClaimedHeld, nowMs: number): Promise<DueHeld[]> {
  return await run<DueHeld>(
    `SELECT d.id, d.monitor_id AS "monitorId", d.message -> 'monitor' ->> 'name' AS name,
            d.message ->> 'state' AS state, (d.message -> 'detail' ->> 'sequence')::integer AS sequence,
            d.created_at AS "createdAtMs", (d.message ->> 'event_at')::bigint AS "eventAt",
            d.message -> 'detail' -> 'maintenance' ->> 'name' AS maintenance
     FROM held_deliveries h JOIN deliveries d ON d.id = h.delivery_id
     WHERE d.channel_id = $1 AND d.outcome = 'pending' AND d.next_attempt_at <= $3 AND h.summary_id IS NULL
       AND (d.id = $2 OR coalesce(d.claimed_until, 0) <= $3)
       AND NOT EXISTS (SELECT FROM overtaken(d.event, d.monitor_id, d.message))
     ORDER BY d.no FOR NO KEY UPDATE OF d SKIP LOCKED`,
    [channelId, deliveryId, nowMs],
  );
}

/** Records in which summary alerts come: they are `superseded`, and the attempts that were begun were not made. */
export async function moveToSummary(
  run: Run,
  { ids, summaryId, nowMs }: { ids: readonly string[]; summaryId: string; nowMs: number },
): Promise<void> {
  await run('UPDATE held_deliveries SET summary_id = $2 WHERE delivery_id = ANY ($1::text[])', [ids, summaryId]);
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
}
