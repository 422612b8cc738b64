import { MAX_BEHIND_NAMED, type Behind } from '../../core/alerts/parents.ts';
import type { Run } from '../sql.ts';
import { TAKES_BEHIND } from './parent-holds.ts';

/** A parent, and the delivery whose message contains the alerts behind it; `rootNo` is that delivery's monitor. */
type Root = { channelId: string; parentNo: number; parentId: string; rootId: string; rootNo: number };

/** The message that contains the claimed alert, and whether it had been sent before. */
export type Joined = { rootId: string; isSent: boolean };

/**
 * Folds all alerts of a channel that wait behind this monitor, which is down, into its message. The claimed alert is
 * among them; its attempt counts as not made. They are `superseded`, and each records the delivery that contains it.
 * Null if the claimed alert was not among them. Run it in a transaction.
 *
 * The parent and the root's monitor are locked: after their recoveries the message accepts no more alerts. All alerts
 * are locked before they are read: until then the alerts in a message, and whether the root is part of another message
 * itself, may change. Both happen in a chain of monitors that go down together. The locks are taken in the evaluator's
 * order: monitors, then deliveries, and those of parents first.
 */
export async function joinParent(
  run: Run,
  root: Root,
  { claimedId, nowMs }: { claimedId: string | null; nowMs: number },
): Promise<Joined | null> {
  if (!(await lockDown(run, [root.parentNo, root.rootNo]))) return null;
  const { rootId, rootNo } = await lockRoot(run, root);
  if (rootNo !== root.rootNo && !(await lockDown(run, [rootNo]))) return null;
  if (claimedId !== null) await run('SELECT FROM deliveries WHERE id = $1 FOR NO KEY UPDATE', [claimedId]);
  const behind = await lockBehind(run, root, { rootId, claimedId, nowMs });
  const joined = await joinLocked(run, root, { rootId, behind, claimedId, nowMs });
  const claimed = joined.find(({ id }) => id === claimedId);
  return claimed === undefined ? null : { rootId, isSent: claimed.isSent };
}

/** Locks monitors as down until the transaction ends; false if one of them is not down. */
async function lockDown(run: Run, monitorNos: readonly number[]): Promise<boolean> {
  const down = await run(`SELECT FROM monitors WHERE no = ANY ($1::int[]) AND state = 'down' ORDER BY no FOR SHARE`, [
    monitorNos,
  ]);
  return down.length === new Set(monitorNos).size;
}

/** Locks the root, or the delivery whose message contains it by now, and returns the one locked. */
async function lockRoot(
  run: Run,
  { rootId, rootNo }: Pick<Root, 'rootId' | 'rootNo'>,
): Promise<Pick<Root, 'rootId' | 'rootNo'>> {
  await run('SELECT FROM deliveries WHERE id = $1 FOR SHARE', [rootId]);
  const [joined] = await run<Pick<Root, 'rootId' | 'rootNo'>>(
    `SELECT r.id AS "rootId", m.no AS "rootNo" FROM parent_holds j JOIN deliveries r ON r.id = j.joined_id
       JOIN monitors m ON m.id = r.monitor_id
     WHERE j.delivery_id = $1`,
    [rootId],
  );
  return joined === undefined ? { rootId, rootNo } : await lockRoot(run, joined);
}

/** Locks the alerts that wait behind a parent, and returns their ids; skips those locked by others. */
async function lockBehind(
  run: Run,
  { channelId, parentNo }: Root,
  { rootId, claimedId, nowMs }: { rootId: string; claimedId: string | null; nowMs: number },
): Promise<string[]> {
  const behind = await run<{ id: string }>(
    `SELECT d.id FROM monitor_dependencies e JOIN monitors m ON m.no = e.monitor_no
       JOIN deliveries d ON d.channel_id = $1 AND d.monitor_id = m.id AND d.outcome = 'pending'
       JOIN held_deliveries h ON h.delivery_id = d.id AND h.summary_id IS NULL AND h.released_at IS NULL
     WHERE e.parent_no = $2 AND e.mode = 'hold' AND d.event <> 'monitor.up' AND d.id <> $5
       AND (d.id = $3 OR (h.reason = 'parent' AND d.attempts = d.attempts_before
         AND coalesce(d.claimed_until, 0) <= $4))
       AND NOT EXISTS (SELECT FROM reminders n WHERE n.delivery_id = d.id)
     ORDER BY d.no FOR NO KEY UPDATE OF d SKIP LOCKED`,
    [channelId, parentNo, claimedId, nowMs, rootId],
  );
  return behind.map(({ id }) => id);
}

async function joinLocked(
  run: Run,
  { parentId }: Root,
  {
    rootId,
    behind,
    claimedId,
    nowMs,
  }: { rootId: string; behind: readonly string[]; claimedId: string | null; nowMs: number },
): Promise<{ id: string; isSent: boolean }[]> {
  if (behind.length === 0) return [];
  return await run<{ id: string; isSent: boolean }>(
    `WITH root AS MATERIALIZED (
       SELECT r.id, r.attempts > 0 AS "isSent" FROM deliveries r JOIN monitors m ON m.id = r.monitor_id
       WHERE r.id = $2 AND (r.message #>> '{detail,sequence}')::integer = m.sequence AND ${TAKES_BEHIND('$4', '$5')}
     ), behind AS MATERIALIZED (
       SELECT d.id, d.monitor_id, (d.message #>> '{detail,sequence}')::integer AS sequence FROM deliveries d, root
       WHERE d.id = ANY ($3::text[])
     ), joined AS (
       UPDATE deliveries d SET outcome = 'superseded', finished_at = $5, claimed_until = NULL,
         attempts = d.attempts_before
       FROM behind b WHERE d.id = b.id
     ), unmade AS (
       DELETE FROM delivery_attempts a USING deliveries d
       WHERE d.id = $4 AND d.id IN (SELECT id FROM behind) AND a.delivery_id = d.id AND a.attempt > d.attempts_before
     ), named AS (
       UPDATE held_deliveries h SET reason = 'parent', held_by = $1 FROM behind b WHERE h.delivery_id = b.id
     ), moved AS (
       UPDATE parent_holds h SET joined_id = r.id FROM root r
       WHERE h.joined_id IN (SELECT id FROM behind)
     ), held AS (
       INSERT INTO parent_holds (delivery_id, monitor_id, sequence, parent_id, joined_id, since, awaits_own)
       SELECT b.id, b.monitor_id, b.sequence, $1, r.id, $5, false FROM behind b, root r
       ON CONFLICT (delivery_id) DO UPDATE SET parent_id = $1, joined_id = excluded.joined_id
     )
     SELECT b.id, r."isSent" FROM behind b, root r`,
    [parentId, rootId, behind, claimedId, nowMs],
  );
}

/** Returns the alerts in the message of a delivery so far that are still true; null if there are none. */
export async function readBehind(run: Run, rootId: string): Promise<Behind | null> {
  const rows = await run<{ name: string; total: number }>(
    `SELECT m.name, count(*) OVER () AS total FROM parent_holds h JOIN monitors m ON m.id = h.monitor_id
       AND m.sequence = h.sequence
     WHERE h.joined_id = $1 ORDER BY m.name, m.id LIMIT ${MAX_BEHIND_NAMED}`,
    [rootId],
  );
  const [first] = rows;
  return first === undefined ? null : { monitors: first.total, names: rows.map(({ name }) => name) };
}

/**
 * Reads the monitors behind one that is down from the newest delivered message. That is the delivery itself, or an
 * update of it. Null if it contains none, or none was delivered.
 */
export async function readSaidBehind(run: Run, rootId: string): Promise<Behind | null> {
  const [newest] = await run<{ behind: Behind | null }>(
    `SELECT d.message #> '{detail,behind}' AS behind FROM deliveries d
     WHERE d.outcome = 'delivered'
       AND d.id = ANY ($1::text || ARRAY (SELECT delivery_id FROM reminders WHERE follows = $1 AND number < 0))
     ORDER BY d.finished_at DESC, d.no DESC LIMIT 1`,
    [rootId],
  );
  return newest?.behind ?? null;
}
