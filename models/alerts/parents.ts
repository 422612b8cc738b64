import type { ParentFacts } from '../../core/alerts/parents.ts';
import { AGENT_CHECKED_TYPES } from '../../core/monitors/monitor.ts';
import type { PlannedRecheck } from '../checks/schedule.ts';
import type { Run } from '../sql.ts';

/**
 * Results of a parent's location this close to one another see the same, in milliseconds: checks of all its dependents.
 */
const RECHECKS_APART_MS = 5000;

/** How far back a newest result is looked for, in milliseconds. */
const RECENT_MS = 3_600_000;

/** SQL: the types whose checks talk to the target, so that another one brings something new. */
const RECHECKED_TYPES = [...AGENT_CHECKED_TYPES, 'dns'].map((type) => `'${type}'`).join(', ');

/**
 * The monitors that these depend on, by the dependents' numbers, as they stand. Nothing is locked: an alert that waits
 * for what has changed by then looks again when it is claimed.
 */
export async function readParents(
  run: Run,
  { monitorNos, nowMs }: { monitorNos: readonly number[]; nowMs: number },
): Promise<Map<number, ParentFacts[]>> {
  if (monitorNos.length === 0) return new Map();
  const rows = await run<ParentFacts & { monitorNo: number }>(
    `SELECT e.monitor_no AS "monitorNo", p.no, p.id, p.name, e.mode, p.state, p.timeout_ms AS "timeoutMs",
       p.interval_seconds AS "intervalSeconds", s.sources
     FROM monitor_dependencies e JOIN monitors p ON p.no = e.parent_no, LATERAL (
       SELECT coalesce(json_agg(json_build_object(
           'newestAtMs',
             (SELECT n.due_at FROM newest_result(s.monitor_no, s.agent_no, $2::bigint - ${RECENT_MS}, $2) n),
           'isFailing', coalesce(s.state #>> '{failing,tripped}', 'false') = 'false'
             AND coalesce(jsonb_array_length(s.state #> '{failing,streak}'), 0) > 0,
           'recheckAtMs', s.look_at,
           'slot', CASE WHEN a.kind <> 'tenant' THEN s.phase END)), '[]') AS sources
       FROM monitor_sources s JOIN agents a ON a.no = s.agent_no
       WHERE s.monitor_no = p.no AND s.phase IS NOT NULL AND is_online(a) AND p.state IN ('up', 'degraded')
         AND p.type IN (${RECHECKED_TYPES})
     ) s
     WHERE e.monitor_no = ANY ($1::int[]) ORDER BY p.id`,
    [monitorNos, nowMs],
  );
  return Map.groupBy(rows, ({ monitorNo }) => monitorNo);
}

/**
 * Has the parents of these monitors checked again at once, those that are down already aside. A location that is locked
 * is being checked or evaluated just now, and is left out: the caller holds locks of other monitors.
 */
export async function recheckParents(
  run: Run,
  monitorNos: readonly number[],
  nowMs: number,
): Promise<PlannedRecheck[]> {
  if (monitorNos.length === 0) return [];
  return await recheckSources(
    run,
    {
      // Checks of parents that others depend on, too, are made for all of them.
      sources: `SELECT DISTINCT e.parent_no AS monitor_no, 0 AS after_ms
        FROM monitor_dependencies e JOIN monitors p ON p.no = e.parent_no
        WHERE e.monitor_no = ANY ($1::int[]) AND p.enabled AND p.state <> 'down'`,
      values: [monitorNos],
    },
    nowMs,
  );
}

/**
 * How far apart the checks of monitors behind one that has recovered begin, and within what time all, in milliseconds.
 */
const DEPENDENTS_APART_MS = 20;
const DEPENDENTS_WITHIN_MS = 30_000;

/** Has monitors whose alerts wait for results of their own checked again soon, some after the others. */
export async function recheckDependents(
  run: Run,
  monitorIds: readonly string[],
  nowMs: number,
): Promise<PlannedRecheck[]> {
  if (monitorIds.length === 0) return [];
  return await recheckSources(
    run,
    {
      sources: `SELECT m.no AS monitor_no, (k.index * ${DEPENDENTS_APART_MS} % ${DEPENDENTS_WITHIN_MS}) AS after_ms
        FROM unnest($1::text[]) WITH ORDINALITY AS k (id, index) JOIN monitors m ON m.id = k.id WHERE m.enabled`,
      values: [monitorIds],
    },
    nowMs,
  );
}

async function recheckSources(
  run: Run,
  { sources, values }: { sources: string; values: readonly unknown[] },
  nowMs: number,
): Promise<PlannedRecheck[]> {
  return await run<PlannedRecheck>(
    `WITH requested AS MATERIALIZED (${sources}), locked AS MATERIALIZED (
       SELECT s.monitor_no, s.agent_no, a.kind, greatest($2::bigint + r.after_ms, coalesce((
           SELECT n.due_at FROM newest_result(s.monitor_no, s.agent_no, $2::bigint - ${RECENT_MS}, $2) n), 0)
           + ${RECHECKS_APART_MS}) AS at
       FROM requested r JOIN monitors m ON m.no = r.monitor_no JOIN monitor_sources s ON s.monitor_no = m.no
         JOIN agents a ON a.no = s.agent_no
       WHERE s.phase IS NOT NULL AND m.type IN (${RECHECKED_TYPES})
       ORDER BY s.monitor_no, s.agent_no FOR NO KEY UPDATE OF s SKIP LOCKED
     ), updated AS (
       UPDATE monitor_sources s
       SET look_at = CASE k.kind WHEN 'tenant' THEN s.look_at ELSE least(s.look_at, k.at) END,
         asked_at = CASE k.kind WHEN 'tenant' THEN $2::bigint / 1000 ELSE s.asked_at END
       FROM locked k WHERE s.monitor_no = k.monitor_no AND s.agent_no = k.agent_no
       RETURNING s.monitor_no, s.agent_no, k.kind, s.look_at
     )
     SELECT monitor_no AS "monitorNo", agent_no AS "agentNo", look_at AS "atMs" FROM updated WHERE kind <> 'tenant'`,
    [...values, nowMs],
  );
}
