import { MOST_BEHIND_NAMED, type Behind } from '../../core/alerts/parents.ts';
import type { Database } from '../database.ts';
import { inTransaction, type Run } from '../sql.ts';
import { TAKES_BEHIND } from './parent-holds.ts';

/** A parent and the delivery in whose message what is behind it comes. */
export type Root = { channelId: string; parentNo: number; parentId: string; rootId: string };

/** In which message the claimed alert has come, and whether that had been sent before. */
export type Joined = { rootId: string; isSent: boolean };

/**
 * Has all alerts of a channel that wait behind this monitor, which is down, come in its message. The claimed one among
 * them, whose attempt was not made. They are `superseded`, and each keeps the delivery that it came in. The parent is
 * locked: after its recovery nothing comes in its message. Null where the claimed one was not among them.
 *
 * All of them are locked before they are read: what came in the message of one, and whether the root has come in a
 * message itself, may change until then. In a chain of monitors that go down together both do. The locks are taken in
 * the evaluator's order: monitors, then deliveries, and those of parents first.
 */
export async function joinParent(
  database: Pick<Database, 'pool'>,
  root: Root,
  { claimedId, nowMs }: { claimedId: string | null; nowMs: number },
): Promise<Joined | null> {
  return await inTransaction(database, async (run) => {
    const parents = await run(`SELECT FROM monitors WHERE no = $1 AND state = 'down' FOR SHARE`, [root.parentNo]);
    if (parents.length === 0) return null;
    const rootId = await lockRoot(run, root.rootId);
    if (claimedId !== null) await run('SELECT FROM deliveries WHERE id = $1 FOR NO KEY UPDATE', [claimedId]);
    const behind = await lockBehind(run, root, { claimedId, nowMs });
    const joined = await joinLocked(run, root, { rootId, behind, claimedId, nowMs });
    const claimed = joined.find(({ id }) => id === claimedId);
    return claimed === undefined ? null : { rootId, isSent: claimed.isSent };
  });
}

/** Locks a delivery, or the one in whose message it comes by now, and returns that. */
async function lockRoot(run: Run, deliveryId: string): Promise<string> {
  await run('SELECT FROM deliveries WHERE id = $1 FOR SHARE', [deliveryId]);
  const [joined] = await run<{ rootId: string }>(
    'SELECT joined_id AS "rootId" FROM parent_holds WHERE delivery_id = $1 AND joined_id IS NOT NULL',
    [deliveryId],
  );
  return joined === undefined ? deliveryId : await lockRoot(run, joined.rootId);
}

/** Locks the alerts that wait behind a parent, and returns their ids; what others hold is skipped. */
async function lockBehind(
  run: Run,
  { channelId, parentNo }: Root,
  { claimedId, nowMs }: { claimedId: string | null; nowMs: number },
): Promise<string[]> {
  const behind = await run<{ id: string }>(
    `SELECT d.id FROM monitor_dependencies e JOIN monitors m ON m.no = e.monitor_no
       JOIN deliveries d ON d.channel_id = $1 AND d.monitor_id = m.id AND d.outcome = 'pending'
       JOIN held_deliveries h ON h.delivery_id = d.id AND h.summary_id IS NULL AND h.released_at IS NULL
     WHERE e.parent_no = $2 AND e.mode = 'hold' AND d.event <> 'monitor.up'
       AND (d.id = $3 OR (h.reason = 'parent' AND d.attempts = d.attempts_before
         AND coalesce(d.claimed_until, 0) <= $4))
       AND NOT EXISTS (SELECT FROM reminders n WHERE n.delivery_id = d.id)
     ORDER BY d.no FOR NO KEY UPDATE OF d SKIP LOCKED`,
    [channelId, parentNo, claimedId, nowMs],
  );
  return behind.map(({ id }) => id);
}

async function joinLocked(
  run: Run,
  parent: Root,
  {
    rootId,
    behind,
    claimedId,
    nowMs,
  }: { rootId: string; behind: readonly string[]; claimedId: string | null; nowMs: number },
): Promise<{ id: string; isSent: boolean }[]> {
  if (behind.length === 0) return [];
  return await run<{ id: string; isSent: boolean }>(
    `WITH parent AS MATERIALIZED (
       SELECT id, sequence FROM monitors WHERE no = $1
     ), root AS MATERIALIZED (
       SELECT r.id, r.attempts > 0 AS "isSent" FROM parent p, deliveries o, deliveries r
       WHERE o.id = $3 AND (o.monitor_id <> p.id OR (o.message #>> '{detail,sequence}')::integer = p.sequence)
         AND r.id = $7 AND ${TAKES_BEHIND('$5')}
     ), behind AS MATERIALIZED (
       SELECT d.id, d.monitor_id, (d.message #>> '{detail,sequence}')::integer AS sequence FROM deliveries d, root
       WHERE d.id = ANY ($4::text[])
     ), joined AS (
       UPDATE deliveries d SET outcome = 'superseded', finished_at = $6, claimed_until = NULL,
         attempts = d.attempts_before
       FROM behind b WHERE d.id = b.id
     ), unmade AS (
       DELETE FROM delivery_attempts a USING deliveries d
       WHERE d.id = $5 AND d.id IN (SELECT id FROM behind) AND a.delivery_id = d.id AND a.attempt > d.attempts_before
     ), named AS (
       UPDATE held_deliveries h SET reason = 'parent', held_by = $2 FROM behind b WHERE h.delivery_id = b.id
     ), moved AS (
       UPDATE parent_holds h SET joined_id = r.id, parent_id = $2 FROM root r
       WHERE h.joined_id IN (SELECT id FROM behind)
     ), held AS (
       INSERT INTO parent_holds (delivery_id, monitor_id, sequence, parent_id, joined_id, since, awaits_own)
       SELECT b.id, b.monitor_id, b.sequence, $2, r.id, $6, false FROM behind b, root r
       ON CONFLICT (delivery_id) DO UPDATE SET parent_id = $2, joined_id = excluded.joined_id
     )
     SELECT b.id, r."isSent" FROM behind b, root r`,
    [parent.parentNo, parent.parentId, parent.rootId, behind, claimedId, nowMs, rootId],
  );
}

/** What has come in the message of a delivery so far, and is still true; null where that is nothing. */
export async function readBehind(run: Run, rootId: string): Promise<Behind | null> {
  const rows = await run<{ name: string; total: number }>(
    `SELECT m.name, count(*) OVER () AS total FROM parent_holds h JOIN monitors m ON m.id = h.monitor_id
       AND m.sequence = h.sequence
     WHERE h.joined_id = $1 ORDER BY m.name, m.id LIMIT ${MOST_BEHIND_NAMED}`,
    [rootId],
  );
  const [first] = rows;
  return first === undefined ? null : { monitors: first.total, names: rows.map(({ name }) => name) };
}
