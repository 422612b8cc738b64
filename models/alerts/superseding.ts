import type { Run } from '../sql.ts';

/**
 * Drops what a newer change of a monitor supersedes (D-50): retries of its events to a chat that no worker is making
 * just now. Their outcome is `superseded`. Run in the transaction that writes the newer ones.
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

/** Drops a claimed delivery that turned out to have nothing left to say, and its attempt, which was not made. */
export async function supersedeClaimed(
  run: Run,
  claimed: { deliveryId: string; attempt: number; nowMs: number },
): Promise<void> {
  await run(
    `WITH unmade AS (DELETE FROM delivery_attempts WHERE delivery_id = $1 AND attempt = $2)
     UPDATE deliveries SET outcome = 'superseded', finished_at = $3, claimed_until = NULL, attempts = attempts - 1
       WHERE id = $1 AND attempts = $2 AND outcome = 'pending'`,
    [claimed.deliveryId, claimed.attempt, claimed.nowMs],
  );
}
