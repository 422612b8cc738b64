import { DAY_MS } from '../../core/time.ts';
import type { Run } from '../sql.ts';

/** That a monitor is up, on its way to a chat; `sequence` is its transition's. */
export type Recovery = { channelId: string; monitorId: string; sequence: number };

/**
 * A summary gathers no longer than this before its first attempt, in milliseconds. A chat may have asked for a pause,
 * and a queue may be away.
 */
const SUMMARY_OPEN_MS = DAY_MS;

/** Clocks of several processes differ by no more than this, in milliseconds. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * The recoveries among these that their chats wait for: the chat was notified of trouble since the monitor was up last.
 * Alone or in a summary, and whatever pauses lie between. What is older than the record of deliveries (`recordSinceMs`,
 * Unix milliseconds) counts as notified where the channel was there. Run it in the transaction that writes the
 * recoveries, with their monitors locked. One statement, however many monitors recover at once.
 * 1. `requested`: the recoveries, a row for each chat.
 * 2. `bad`: of each monitor the transitions to trouble since it was up last.
 * 3. `gathered`: what summaries to these chats held in that time; it is read only where a chat had no delivery.
 * 4. The recoveries with trouble from before the record of deliveries, with a delivery of that trouble, which is found
 *    by the moment that it shares with its transition, or with a summary that holds it.
 */
export async function listAwaitedRecoveries(
  run: Run,
  recoveries: readonly Recovery[],
  recordSinceMs: number,
): Promise<{ channelId: string; monitorId: string }[]> {
  if (recoveries.length === 0) return [];
  return await run<{ channelId: string; monitorId: string }>(
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
     SELECT DISTINCT a.channel_id AS "channelId", a.monitor_id AS "monitorId"
     FROM requested a JOIN bad b ON b.monitor_id = a.monitor_id JOIN channels c ON c.id = a.channel_id
     WHERE (b.detected_at < $4 AND b.detected_at >= c.created_at * 1000)
       OR EXISTS (SELECT FROM deliveries d
                  WHERE d.channel_id = a.channel_id AND d.created_at = b.detected_at AND d.monitor_id = a.monitor_id
                    AND d.event LIKE 'monitor.%'
                    AND (d.attempts > 0 OR NOT EXISTS (SELECT FROM held_deliveries h
                         WHERE h.delivery_id = d.id AND h.summary_id IS NULL AND h.reason <> 'flapping'))
                  OFFSET 0)
       OR (a.channel_id, b.monitor_id, b.sequence) IN (SELECT channel_id, monitor_id, sequence FROM gathered)`,
    [
      recoveries.map(({ channelId }) => channelId),
      recoveries.map(({ monitorId }) => monitorId),
      recoveries.map(({ sequence }) => sequence),
      recordSinceMs,
    ],
  );
}
