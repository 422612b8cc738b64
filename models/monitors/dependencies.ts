import type { ParentFacts } from '../../core/alerts/parents.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import type { Problem } from '../../core/input.ts';
import {
  findDependencyProblems,
  type Dependency,
  type DependencyMode,
  type Parent,
} from '../../core/monitors/dependencies.ts';
import { AGENT_CHECKED_TYPES, type MonitorType } from '../../core/monitors/monitor.ts';
import type { PlannedRecheck } from '../checks/schedule.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';

/** SQL: the parents of the monitor `m`, sorted by id, as JSON. */
export const PARENTS = `(SELECT
    coalesce(json_agg(json_build_object('id', p.id, 'mode', d.mode) ORDER BY p.id COLLATE "C"), '[]')
  FROM monitor_dependencies d JOIN monitors p ON p.no = d.parent_no WHERE d.monitor_no = m.no)`;

/**
 * Locks an account's dependencies until the caller's transaction ends: of two concurrent changes that would each close
 * half of a cycle, one sees the other. Must be taken before any monitor is locked.
 */
export async function lockDependencies(run: Run, tenantId: string): Promise<void> {
  await run(`SELECT pg_advisory_xact_lock(hashtextextended('dependencies ' || $1, 0))`, [tenantId]);
}

/**
 * Replaces the parents of a monitor, under the lock of `lockDependencies`. Returns their problems; if there are any,
 * nothing is written. The parents cannot be deleted until the transaction ends.
 */
export async function replaceParents(
  run: Run,
  { tenantId, monitor, parents }: { tenantId: string; monitor: { no: number; id: string }; parents: readonly Parent[] },
): Promise<Problem[]> {
  const own = await run<{ id: string }>(
    'SELECT id FROM monitors WHERE tenant_id = $1 AND id = ANY ($2::text[]) ORDER BY no FOR KEY SHARE',
    [tenantId, parents.map(({ id }) => id)],
  );
  const problems = findDependencyProblems(parents, {
    monitorId: monitor.id,
    ownIds: new Set(own.map(({ id }) => id)),
    dependencies: parents.length === 0 ? [] : await listDependencies(run, tenantId),
  });
  if (problems.length > 0) return problems;
  await run(
    `DELETE FROM monitor_dependencies d USING monitors p
     WHERE d.monitor_no = $1 AND p.no = d.parent_no AND p.id <> ALL ($2::text[])`,
    [monitor.no, parents.map(({ id }) => id)],
  );
  if (parents.length > 0)
    await run(
      `INSERT INTO monitor_dependencies (monitor_no, parent_no, mode)
       SELECT $1, p.no, k.mode FROM unnest($2::text[], $3::text[]) AS k (id, mode) JOIN monitors p ON p.id = k.id
       ON CONFLICT (monitor_no, parent_no) DO UPDATE SET mode = excluded.mode`,
      [monitor.no, parents.map(({ id }) => id), parents.map(({ mode }) => mode)],
    );
  return [];
}

async function listDependencies(run: Run, tenantId: string): Promise<Dependency[]> {
  return await run<Dependency>(
    `SELECT m.id AS "monitorId", p.id AS "parentId" FROM monitor_dependencies d
     JOIN monitors m ON m.no = d.monitor_no JOIN monitors p ON p.no = d.parent_no WHERE m.tenant_id = $1`,
    [tenantId],
  );
}

/** A monitor at the other end of a dependency. */
export type Related = { id: string; name: string; type: MonitorType; state: MonitorState; mode: DependencyMode };

/** The monitors that one depends on, and those that depend on it: the first `limit` by name, and their number. */
type Relations = { parents: Related[]; children: Related[]; childCount: number };

/** Finds both sides of a monitor's dependencies; the caller has verified that the monitor belongs to its account. */
export async function findRelations(
  { pool }: Pick<Database, 'pool'>,
  { monitorNo, limit }: { monitorNo: number; limit: number },
): Promise<Relations> {
  const run = runOn(pool);
  const columns = 'o.id, o.name, o.type, o.state, d.mode';
  const [parents, children, [counted]] = await Promise.all([
    run<Related>(
      `SELECT ${columns} FROM monitor_dependencies d JOIN monitors o ON o.no = d.parent_no
       WHERE d.monitor_no = $1 ORDER BY o.name, o.id`,
      [monitorNo],
    ),
    run<Related>(
      `SELECT ${columns} FROM monitor_dependencies d JOIN monitors o ON o.no = d.monitor_no
       WHERE d.parent_no = $1 ORDER BY o.name, o.id LIMIT $2`,
      [monitorNo, limit],
    ),
    run<{ count: number }>('SELECT count(*) FROM monitor_dependencies WHERE parent_no = $1', [monitorNo]),
  ]);
  return { parents, children, childCount: counted?.count ?? 0 };
}

/**
 * Time within which results of a parent's location are considered equal, in milliseconds: one check serves all
 * dependents.
 */
const RECHECKS_APART_MS = 5000;

/** Maximum age of a newest result, in milliseconds. */
const RECENT_MS = 3_600_000;

/** SQL: the types whose checks contact the target, so that another one yields new information. */
const RECHECKED_TYPES = [...AGENT_CHECKED_TYPES, 'dns'].map((type) => `'${type}'`).join(', ');

/** SQL: the locations of a parent `p` that count, as JSON, at a given time. */
const sourcesOf = (now: string) => `(SELECT coalesce(json_agg(json_build_object(
    'newestAtMs',
      (SELECT n.due_at FROM newest_result(s.monitor_no, s.agent_no, ${now}::bigint - ${RECENT_MS}, ${now}) n),
    'isFailing', coalesce(s.state #>> '{failing,tripped}', 'false') = 'false'
      AND coalesce(jsonb_array_length(s.state #> '{failing,streak}'), 0) > 0,
    'recheckAtMs', s.look_at,
    'slot', CASE WHEN a.kind <> 'tenant' THEN s.phase END)), '[]')
  FROM monitor_sources s JOIN agents a ON a.no = s.agent_no
  WHERE s.monitor_no = p.no AND s.phase IS NOT NULL AND is_online(a) AND p.state IN ('up', 'degraded')
    AND p.type IN (${RECHECKED_TYPES}))`;

/**
 * Returns the parents of these monitors in their current state, by the dependents' numbers. Nothing is locked: a
 * waiting alert reads them again when it is claimed.
 */
export async function readParents(
  run: Run,
  { monitorNos, nowMs }: { monitorNos: readonly number[]; nowMs: number },
): Promise<Map<number, ParentFacts[]>> {
  if (monitorNos.length === 0) return new Map();
  const rows = await run<ParentFacts & { monitorNo: number }>(
    `SELECT e.monitor_no AS "monitorNo", p.no, p.id, p.name, e.mode, p.state, p.timeout_ms AS "timeoutMs",
       p.interval_seconds AS "intervalSeconds", ${sourcesOf('$2')} AS sources
     FROM monitor_dependencies e JOIN monitors p ON p.no = e.parent_no
     WHERE e.monitor_no = ANY ($1::int[]) ORDER BY p.id`,
    [monitorNos, nowMs],
  );
  return Map.groupBy(rows, ({ monitorNo }) => monitorNo);
}

/** Returns the parents that hold alerts back, each once, in their current state; nothing is locked. */
export async function readHoldingParents(
  run: Run,
  nowMs: number,
): Promise<Pick<ParentFacts, 'no' | 'state' | 'sources'>[]> {
  return await run(
    `SELECT p.no, p.state, ${sourcesOf('$1')} AS sources FROM monitors p WHERE p.no IN (
       SELECT e.parent_no FROM parent_holds h JOIN monitors m ON m.id = h.monitor_id
         JOIN monitor_dependencies e ON e.monitor_no = m.no AND e.mode = 'hold'
       WHERE h.joined_id IS NULL AND NOT h.awaits_own)`,
    [nowMs],
  );
}

/**
 * Has the parents of these monitors checked again at once, except those that are down already. Skips locked locations,
 * which are just being checked or evaluated, because the caller holds locks of other monitors.
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
      // Checks of parents are made for all of their dependents.
      sources: `SELECT DISTINCT e.parent_no AS monitor_no, 0 AS after_ms
        FROM monitor_dependencies e JOIN monitors p ON p.no = e.parent_no
        WHERE e.monitor_no = ANY ($1::int[]) AND p.enabled AND p.state <> 'down'`,
      values: [monitorNos],
    },
    nowMs,
  );
}

/**
 * Interval between the checks of monitors behind a recovered one, and the time within which all begin, in milliseconds.
 */
const DEPENDENTS_APART_MS = 20;
const DEPENDENTS_WITHIN_MS = 30_000;

/** Has monitors whose alerts wait for their own results checked again soon, one after the other. */
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
