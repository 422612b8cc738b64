import { LONGEST_SETTLE_SECONDS } from '../../core/maintenance/window.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';

/** Occurrences that begin within this time are written ahead, in milliseconds. */
const AHEAD_MS = 15 * 60_000;

/** Current occurrences are kept so long after their end, in milliseconds: the longest that an alert waits. */
const KEPT_MS = LONGEST_SETTLE_SECONDS * 1000;

/**
 * Writes which monitors are in maintenance when, of all windows or of one. It does so for occurrences that are in
 * progress, begin within a quarter of an hour, or were never covered because the service was away. A monitor that came
 * to a window in progress, or got its tag then, is covered from now on; one that lost its tag, until now. Returns how
 * many monitors were added and taken out. Run it in a transaction. One statement, whose work follows what is in
 * progress and not what is planned or was: whole tables are never read, which the planner would prefer where it
 * overestimates (`OFFSET 0`).
 * 1. `occurrences`: the current ones, and those that become so.
 * 2. `wanted`: the monitors of each, found by the way in which the window names them.
 * 3. `present`: those that are written. What is wanted and not there is added; what is there and not wanted ends now.
 * 4. New ones are marked as covered, and are current until no alert waits for them.
 */
export async function coverOccurrences(
  run: Run,
  { nowMs, windowId = null }: { nowMs: number; windowId?: string | null },
): Promise<{ added: number; ended: number }> {
  // Its overestimated cost would have it compiled, which takes longer than to run it.
  await run(`SELECT set_config('jit', 'off', true)`);
  const [counted] = await run<{ added: number; ended: number }>(
    `WITH occurrences AS MATERIALIZED (
       SELECT o.* FROM maintenance_occurrences o
       WHERE o.covered_at IS NULL AND NOT o.is_skipped AND o.starts_at < $1::bigint + ${AHEAD_MS}
         AND ($2::text IS NULL OR o.window_id = $2)
       UNION ALL
       SELECT o.* FROM current_occurrences c, LATERAL (
         SELECT * FROM maintenance_occurrences WHERE no = c.occurrence_no OFFSET 0) o
       WHERE o.covered_at IS NOT NULL AND NOT o.is_skipped AND o.ends_at > $1 AND ($2::text IS NULL OR o.window_id = $2)
     ), wanted AS MATERIALIZED (
       SELECT o.no AS occurrence_no, m.no AS monitor_no FROM occurrences o, LATERAL (
         SELECT no FROM monitors WHERE tenant_id = o.tenant_id OFFSET 0) m WHERE o.all_monitors
       UNION
       SELECT o.no, m.no FROM occurrences o, unnest(o.monitor_ids) AS i (id), LATERAL (
         SELECT no FROM monitors WHERE id = i.id AND tenant_id = o.tenant_id OFFSET 0) m WHERE NOT o.all_monitors
       UNION
       SELECT o.no, m.no FROM occurrences o, LATERAL (
         SELECT no FROM monitors WHERE tenant_id = o.tenant_id AND tags && o.tags OFFSET 0) m
         WHERE o.tags <> '{}' AND NOT o.all_monitors
     ), present AS MATERIALIZED (
       SELECT t.monitor_no, t.occurrence_no, t.started_at FROM occurrences o, LATERAL (
         SELECT * FROM maintenance_times WHERE occurrence_no = o.no AND ended_at > $1 OFFSET 0) t
     ), added AS (
       INSERT INTO maintenance_times (monitor_no, occurrence_no, started_at, ended_at)
       SELECT w.monitor_no, o.no, CASE WHEN o.covered_at IS NULL THEN o.starts_at ELSE greatest(o.starts_at, $1) END,
         o.ends_at
       FROM wanted w JOIN occurrences o ON o.no = w.occurrence_no
       WHERE NOT EXISTS (
         SELECT FROM present p WHERE p.monitor_no = w.monitor_no AND p.occurrence_no = w.occurrence_no)
       ON CONFLICT DO NOTHING RETURNING monitor_no, occurrence_no, ended_at
     ), unwanted AS MATERIALIZED (
       SELECT p.* FROM present p WHERE NOT EXISTS (
         SELECT FROM wanted w WHERE w.monitor_no = p.monitor_no AND w.occurrence_no = p.occurrence_no)
     ), unbegun AS (
       DELETE FROM maintenance_times t USING unwanted u
       WHERE (t.monitor_no, t.occurrence_no, t.started_at) = (u.monitor_no, u.occurrence_no, u.started_at)
         AND u.started_at > $1
     ), ended AS (
       UPDATE maintenance_times t SET ended_at = $1 FROM unwanted u
       WHERE (t.monitor_no, t.occurrence_no, t.started_at) = (u.monitor_no, u.occurrence_no, u.started_at)
         AND u.started_at <= $1
       RETURNING 1
     ), covered AS (
       UPDATE maintenance_occurrences m SET covered_at = $1 FROM occurrences o
       WHERE m.no = o.no AND o.covered_at IS NULL
     ), current AS (
       INSERT INTO current_occurrences (occurrence_no, tenant_id, has_begun, has_ended)
       SELECT o.no, o.tenant_id, o.starts_at <= $1, o.ends_at <= $1 FROM occurrences o
       WHERE o.covered_at IS NULL AND o.ends_at > $1::bigint - ${KEPT_MS} ON CONFLICT DO NOTHING
     ), found AS (
       INSERT INTO current_times (monitor_no, occurrence_no)
       SELECT monitor_no, occurrence_no FROM added WHERE ended_at > $1::bigint - ${KEPT_MS} ON CONFLICT DO NOTHING
     )
     SELECT (SELECT count(*) FROM added) AS added, (SELECT count(*) FROM ended) AS ended`,
    [nowMs, windowId],
  );
  return counted ?? { added: 0, ended: 0 };
}

/** Occurrences that are announced in one statement. */
export const ANNOUNCED_AT_ONCE = 1000;

/**
 * Notifies the streams of accounts of up to 1000 occurrences that have begun or are over, each once; returns how many.
 * Those that are over for long enough are forgotten. Of several processes each takes others.
 */
export async function announceOccurrences(database: Pick<Database, 'pool'>, nowMs: number): Promise<number> {
  const [counted] = await runOn(database.pool)<{ handled: number }>(
    `WITH due AS MATERIALIZED (
       SELECT c.occurrence_no AS no, c.tenant_id, o.window_id, o.ends_at,
         (NOT c.has_begun AND o.starts_at <= $1::bigint) OR (NOT c.has_ended AND o.ends_at <= $1) AS is_news
       FROM current_occurrences c JOIN maintenance_occurrences o ON o.no = c.occurrence_no
       WHERE (NOT c.has_begun AND o.starts_at <= $1) OR (NOT c.has_ended AND o.ends_at <= $1)
         OR o.ends_at <= $1 - ${KEPT_MS}
       LIMIT ${ANNOUNCED_AT_ONCE} FOR UPDATE OF c SKIP LOCKED
     ), known AS (
       UPDATE current_occurrences c SET has_begun = true, has_ended = d.ends_at <= $1
       FROM due d WHERE c.occurrence_no = d.no AND d.ends_at > $1 - ${KEPT_MS}
     ), over AS (
       DELETE FROM current_occurrences c USING due d WHERE c.occurrence_no = d.no AND d.ends_at <= $1 - ${KEPT_MS}
     )
     SELECT count(*) AS handled, count(CASE WHEN is_news THEN
         pg_notify('spotcheck_changes', tenant_id || ' maintenance ' || window_id) END) AS announced
     FROM due`,
    [nowMs],
  );
  return counted?.handled ?? 0;
}
