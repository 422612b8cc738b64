import type { MonitorState } from '../../core/incidents/state.ts';
import {
  findDependencyProblems,
  type Dependency,
  type DependencyMode,
  type Parent,
} from '../../core/monitors/dependencies.ts';
import type { Problem } from '../../core/monitors/input/checks.ts';
import type { MonitorType } from '../../core/monitors/monitor.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';

/** SQL: the parents of the monitor `m`, sorted by id, as JSON. */
export const PARENTS = `(SELECT
    coalesce(json_agg(json_build_object('id', p.id, 'mode', d.mode) ORDER BY p.id COLLATE "C"), '[]')
  FROM monitor_dependencies d JOIN monitors p ON p.no = d.parent_no WHERE d.monitor_no = m.no)`;

/**
 * Until the caller's transaction ends, no other one changes what monitors of the account depend on. Of two that would
 * each close half of a cycle one sees the other. Taken before any monitor is locked.
 */
export async function lockDependencies(run: Run, tenantId: string): Promise<void> {
  await run(`SELECT pg_advisory_xact_lock(hashtextextended('dependencies ' || $1, 0))`, [tenantId]);
}

/**
 * Replaces the parents of a monitor, under the lock of `lockDependencies`. Returns what is wrong with them; where that
 * is anything, nothing is written. A parent that is found cannot be deleted until the transaction ends.
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

/** The monitors that one depends on, and those that depend on it: the first `limit` by name, and how many there are. */
export type Relations = { parents: Related[]; children: Related[]; childCount: number };

/** Finds both ends of a monitor's dependencies; the caller has made sure that the monitor is its account's. */
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
