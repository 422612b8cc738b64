import type { Run } from './sql.ts';

/** That a monitor is up, on its way to a chat; `sequence` is its transition's. */
export type Recovery = { channelId: string; monitorId: string; sequence: number };

/** A summary gathers for so long at the most before its first attempt, in milliseconds: a chat may ask to be left alone, and a queue may be away. */
const SUMMARY_OPEN_MS = 86_400_000;

/** Clocks of several processes differ by no more than this, in milliseconds. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * Which of these recoveries their chats wait for: those where the newest event of the monitor that the chat itself was told, alone or in a summary,
 * was bad news. What is older than the record of deliveries (`recordSinceMs`, Unix milliseconds) counts as told where the channel was there. Run it in
 * the transaction that writes the recoveries, with their monitors locked.
 */
export async function listAwaitedRecoveries(run: Run, recoveries: readonly Recovery[], recordSinceMs: number): Promise<{ channelId: string; monitorId: string }[]> {
  if (recoveries.length === 0) return [];
  return await run<{ channelId: string; monitorId: string }>(
    `SELECT n.channel_id AS "channelId", n.monitor_id AS "monitorId"
     FROM unnest($1::text[], $2::text[], $3::integer[]) AS n (channel_id, monitor_id, sequence)
     JOIN channels c ON c.id = n.channel_id,
     LATERAL (
       SELECT t.to_state FROM transitions t
       WHERE t.monitor_id = n.monitor_id AND t.sequence < n.sequence AND t.to_state IN ('up', 'degraded', 'down', 'unknown')
         AND t.detected_at >= c.created_at * 1000 - ${CLOCKS_DIFFER_MS}
         AND (t.detected_at < $4
           OR EXISTS (SELECT FROM deliveries d
                      WHERE d.channel_id = n.channel_id AND d.created_at = t.detected_at AND d.monitor_id = n.monitor_id AND d.event LIKE 'monitor.%')
           OR EXISTS (SELECT FROM deliveries d JOIN summary_changes s ON s.delivery_id = d.id
                      WHERE d.channel_id = n.channel_id AND d.event = 'summary' AND s.monitor_id = n.monitor_id AND s.sequence = t.sequence
                        AND d.created_at BETWEEN t.detected_at - ${SUMMARY_OPEN_MS} AND t.detected_at + ${CLOCKS_DIFFER_MS}))
       ORDER BY t.sequence DESC LIMIT 1
     ) told
     WHERE told.to_state <> 'up'`,
    [recoveries.map(({ channelId }) => channelId), recoveries.map(({ monitorId }) => monitorId), recoveries.map(({ sequence }) => sequence), recordSinceMs],
  );
}
