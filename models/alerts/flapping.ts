import type { MonitorMessage } from '../../core/alerts/envelope.ts';
import type { FlappingMessages } from '../../core/alerts/flapping.ts';
import { DAY_MS } from '../../core/time.ts';
import type { Run } from '../sql.ts';
import { pairOf, type Pair } from './deliveries.ts';

/** Messages that a channel has been sent about a monitor, with the ids of the waiting ones. */
export type SentOfPair = Pair & FlappingMessages & { unstableId: string | null; stableId: string | null };

/** Maximum number of changes of a monitor that a message counts. */
const MAX_CHANGES = 200;

/** SQL: the key of a pair `p` in `delivery_rates`. */
const RATE_KEY = `'flapping ' || p."channelId" || ' ' || p."monitorId"`;

const PAIRS = 'json_to_recordset($1::json) AS p ("channelId" text, "monitorId" text)';

/**
 * Lists the messages that channels have been sent about monitors. Waiting ones are locked until the caller's
 * transaction ends, so that they cannot be claimed; a claimed one already counts as sent.
 */
export async function listFlappingMessages(run: Run, pairs: readonly Pair[], nowMs: number): Promise<SentOfPair[]> {
  const waiting = await run<Pair & { id: string; dueAtMs: number; isStable: boolean }>(
    `SELECT d.id, d.channel_id AS "channelId", d.monitor_id AS "monitorId", d.next_attempt_at AS "dueAtMs",
            h.held_by = 'stable' AS "isStable"
     FROM ${PAIRS}
       JOIN deliveries d ON d.channel_id = p."channelId" AND d.monitor_id = p."monitorId" AND d.outcome = 'pending'
         AND d.attempts = 0 AND coalesce(d.claimed_until, 0) <= $2
       JOIN held_deliveries h ON h.delivery_id = d.id AND h.reason = 'flapping'
     ORDER BY d.id FOR NO KEY UPDATE OF d`,
    [JSON.stringify(pairs), nowMs],
  );
  const sent = await run<Pair & { usedUpMs: number | null; isUnstable: boolean }>(
    `SELECT p.*, r.used_up AS "usedUpMs", coalesce((
         SELECT d.message #>> '{detail,flapping,is_stable}' = 'false' FROM deliveries d
         WHERE d.channel_id = p."channelId" AND d.monitor_id = p."monitorId" AND d.event LIKE 'monitor.%'
           AND d.attempts > 0 ORDER BY d.no DESC LIMIT 1), false) AS "isUnstable"
     FROM ${PAIRS} LEFT JOIN delivery_rates r ON r.key = ${RATE_KEY}`,
    [JSON.stringify(pairs)],
  );
  const waits = Map.groupBy(waiting, pairOf);
  return sent.map((pair) => {
    const unstable = waits.get(pairOf(pair))?.find(({ isStable }) => !isStable);
    const stable = waits.get(pairOf(pair))?.find(({ isStable }) => isStable);
    return {
      ...pair,
      unstableId: unstable?.id ?? null,
      unstableDueMs: unstable?.dueAtMs ?? null,
      stableId: stable?.id ?? null,
      stableDueMs: stable?.dueAtMs ?? null,
    };
  });
}

/** Stores the times until which messages about pairs use up their rate, in Unix milliseconds. */
export async function updateFlappingMarks(run: Run, marks: readonly (Pair & { usedUpMs: number })[]): Promise<void> {
  await run(
    `INSERT INTO delivery_rates AS r (key, used_up)
     SELECT ${RATE_KEY}, p."usedUpMs"
     FROM json_to_recordset($1::json) AS p ("channelId" text, "monitorId" text, "usedUpMs" bigint)
     ON CONFLICT (key) DO UPDATE SET used_up = excluded.used_up`,
    [JSON.stringify(marks)],
  );
}

/** A waiting message after a newer change of its monitor; null = there is nothing left to report. */
export type ChangedMessage = { id: string; message: MonitorMessage | null; dueAtMs: number; createdAtMs: number };

/** Changes waiting messages that the caller has locked. */
export async function updateFlappingMessages(run: Run, changed: readonly ChangedMessage[]): Promise<void> {
  if (changed.length === 0) return;
  await run(
    `UPDATE deliveries d SET
       message = coalesce(c.message, d.message), event = coalesce(c.message ->> 'event', d.event),
       next_attempt_at = c."dueAtMs", created_at = c."createdAtMs",
       outcome = CASE WHEN c.message IS NULL THEN 'superseded' ELSE d.outcome END,
       finished_at = CASE WHEN c.message IS NULL THEN c."createdAtMs" END
     FROM json_to_recordset($1::json) AS c (id text, message json, "dueAtMs" bigint, "createdAtMs" bigint)
     WHERE d.id = c.id`,
    [JSON.stringify(changed)],
  );
}

/** Returns the newest changes of monitors within a day, oldest first, by id; times in Unix milliseconds. */
export async function listNewestChanges(
  run: Run,
  monitorIds: readonly string[],
  nowMs: number,
): Promise<Map<string, { state: string; atMs: number }[]>> {
  const rows = await run<{ monitorId: string; state: string; atMs: number }>(
    `SELECT m.id AS "monitorId", t.to_state AS state, t.at AS "atMs"
     FROM unnest($1::text[]) AS m (id), LATERAL (
       SELECT to_state, at, sequence FROM transitions WHERE monitor_id = m.id AND at > $2
       ORDER BY sequence DESC LIMIT ${MAX_CHANGES}
     ) t
     ORDER BY t.sequence`,
    [monitorIds, nowMs - DAY_MS],
  );
  return Map.groupBy(rows, ({ monitorId }) => monitorId);
}
