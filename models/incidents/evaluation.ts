import type { FailureEvidence } from '../../core/incidents/evidence.ts';
import { freshnessMs, type Source } from '../../core/incidents/quorum.ts';
import type { GaugeName, SourceState } from '../../core/incidents/source-state.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import type { MonitorType } from '../../core/monitors/monitor.ts';
import { requireRecentResults } from '../checks/recent-results.ts';
import type { Run } from '../sql.ts';
import { findUncheckedFrom } from '../statistics/service-gaps.ts';

/**
 * Maximum interval of monitors whose results are packed, in seconds. Up to it, results that count (`freshnessMs`) are
 * no older than an hour, and packed ones are older.
 */
const MAX_PACKED_SECONDS = 1200;

/** SQL: whether the results of agent `a` count; those of a retired region do until its monitors have moved (D-654). */
export const MAY_VOTE = `(is_online(a) OR (a.kind = 'first_party' AND a.offline_at IS NULL))`;

/** A source for the first pass over a batch: enough to decide whether a result changes anything. */
export type EvaluatedSource = {
  monitorNo: number;
  agentNo: number;
  state: SourceState | null;
  monitorState: MonitorState;
  monitorStateSinceMs: number;
  /** Current version of the monitor's checks: a result of another version no longer counts. */
  checksVersion: number;
  downAfterFailures: number;
  upAfterSuccesses: number;
  intervalSeconds: number;
  /** Whether its steady results are packed: there are several per hour, and none is a ping. */
  packsResults: boolean;
};

/**
 * A source with its scheduling data. `slot`: its slot in the schedule of a shared agent; null if it has none, and for
 * customers' agents, which have their own schedule. `behindAtMs`: when its agent last skipped checks for lack of time
 * (null = never). `wasNotCounted`: it did not count when a sweep last decided its monitor, or its agent went offline
 * since.
 */
type ScheduledSource = Source & { slot: number | null; wasNotCounted: boolean; behindAtMs: number | null };

/** A monitor with all its sources, locked, for a decision. */
export type EvaluatedMonitor = {
  no: number;
  id: string;
  tenantId: string;
  name: string;
  type: MonitorType;
  target: string;
  intervalSeconds: number;
  downAfterFailures: number;
  upAfterSuccesses: number;
  waitsForPings: boolean;
  /** Ids of the vendor monitors that it depends on (D-46). */
  dependencyIds: readonly string[];
  quorum: number;
  state: MonitorState;
  stateSinceMs: number;
  sequence: number;
  updatedAtMs: number;
  sources: ScheduledSource[];
  /** Its state before it became unknown because of the service's overload; null if it is not, or for another reason. */
  uncheckedFrom: MonitorState | null;
  /** Whether it depends on other monitors, and whether others depend on it (D-528). */
  hasParents: boolean;
  hasDependents: boolean;
};

type SourceKey = { monitorNo: number; agentNo: number };

/** Reads the sources of a batch; skips those of paused or deleted monitors. */
export async function readSources(run: Run, keys: readonly SourceKey[]): Promise<EvaluatedSource[]> {
  return await run<EvaluatedSource>(selectSources(''), sourceColumns(keys));
}

/**
 * Locks sources in the order of their numbers, so that evaluators never deadlock, and reads them again. Batches that
 * change a source are thus applied one after the other.
 */
export async function lockSources(run: Run, keys: readonly SourceKey[]): Promise<EvaluatedSource[]> {
  return await run<EvaluatedSource>(selectSources('FOR NO KEY UPDATE OF s'), sourceColumns(keys));
}

function sourceColumns(keys: readonly SourceKey[]): number[][] {
  return [keys.map((key) => key.monitorNo), keys.map((key) => key.agentNo)];
}

function selectSources(lock: string): string {
  return `SELECT s.monitor_no AS "monitorNo", s.agent_no AS "agentNo", s.state, m.state AS "monitorState",
            m.state_since AS "monitorStateSinceMs", m.checks_version AS "checksVersion",
            failures_until_bad(m) AS "downAfterFailures", successes_until_up(m) AS "upAfterSuccesses",
            m.interval_seconds AS "intervalSeconds",
            m.interval_seconds <= ${MAX_PACKED_SECONDS} AND m.type <> 'heartbeat' AS "packsResults"
     FROM unnest($1::int[], $2::int[]) AS k (monitor_no, agent_no)
     JOIN monitor_sources s ON s.monitor_no = k.monitor_no AND s.agent_no = k.agent_no
     JOIN monitors m ON m.no = s.monitor_no AND m.enabled
     ORDER BY s.monitor_no, s.agent_no ${lock}`;
}

/** Returns the key of a monitor's source. */
export function sourceKey({ monitorNo, agentNo }: SourceKey): string {
  return `${monitorNo}/${agentNo}`;
}

/**
 * Returns the due time of each source's newest stored result, by `sourceKey`; a source without results since `sinceMs`
 * is absent. If read before a batch is stored, the batch's results must be newer (D-40).
 */
export async function findNewestResults(
  run: Run,
  keys: readonly SourceKey[],
  { sinceMs, nowMs }: { sinceMs: number; nowMs: number },
): Promise<Map<string, number>> {
  const rows = await run<{ monitorNo: number; agentNo: number; newestAtMs: number | null }>(
    `SELECT k.monitor_no AS "monitorNo", k.agent_no AS "agentNo",
            (SELECT n.due_at FROM newest_result(k.monitor_no, k.agent_no, $3, $4) n) AS "newestAtMs"
     FROM unnest($1::int[], $2::int[]) AS k (monitor_no, agent_no)`,
    [...sourceColumns(keys), sinceMs, nowMs],
  );
  return new Map(
    rows.flatMap(({ monitorNo, agentNo, newestAtMs }) =>
      newestAtMs === null ? [] : [[sourceKey({ monitorNo, agentNo }), newestAtMs]],
    ),
  );
}

/**
 * Maximum number of sources whose states are read in one transaction: a thousand monitors with five locations. A state
 * takes at most some 10 kB.
 */
const MAX_SOURCES = 5000;

/**
 * Groups monitors so that each group has at most 5,000 sources; a monitor with more is alone. The groups, and the
 * monitors in them, are ordered by number.
 */
export async function groupBySources(run: Run, monitorNos: readonly number[]): Promise<number[][]> {
  const rows = await run<{ no: number; sources: number }>(
    `SELECT monitor_no AS no, count(*)::int AS sources FROM monitor_sources WHERE monitor_no = ANY($1::int[])
     GROUP BY monitor_no ORDER BY monitor_no`,
    [monitorNos],
  );
  const groups: number[][] = [];
  let left = 0;
  for (const { no, sources } of rows) {
    const group = groups.at(-1);
    if (group === undefined || sources > left) {
      groups.push([no]);
      left = MAX_SOURCES - sources;
    } else {
      group.push(no);
      left -= sources;
    }
  }
  return groups;
}

/**
 * Locks monitors in the order of their numbers and reads all their sources; skips paused and deleted ones. Throws if
 * the newest results are lost: their sources would count as silent.
 */
export async function lockMonitors(
  run: Run,
  monitorNos: readonly number[],
  nowMs: number,
): Promise<EvaluatedMonitor[]> {
  await requireRecentResults(run);
  const monitors = await run<Omit<EvaluatedMonitor, 'sources' | 'uncheckedFrom'>>(
    `SELECT m.no, m.id, m.tenant_id AS "tenantId", m.name, m.type, m.target, m.interval_seconds AS "intervalSeconds",
            failures_until_bad(m) AS "downAfterFailures", successes_until_up(m) AS "upAfterSuccesses",
            m.type = 'heartbeat' AS "waitsForPings", coalesce(m.check_spec -> 'dependencies', '[]') AS "dependencyIds",
            m.down_min_sources AS quorum, m.state, m.state_since AS "stateSinceMs", m.sequence,
            m.updated_at * 1000 AS "updatedAtMs",
            EXISTS (SELECT FROM monitor_dependencies e WHERE e.monitor_no = m.no) AS "hasParents",
            EXISTS (SELECT FROM monitor_dependencies e WHERE e.parent_no = m.no) AS "hasDependents"
     FROM monitors m WHERE m.no = ANY($1::int[]) AND m.enabled ORDER BY m.no FOR NO KEY UPDATE`,
    [monitorNos],
  );
  if (monitors.length === 0) return [];
  const horizonMs = nowMs - Math.max(...monitors.map((monitor) => freshnessMs(monitor.intervalSeconds)));
  const voters = await run<ScheduledSource & { monitorNo: number }>(
    `SELECT s.monitor_no AS "monitorNo", s.agent_no AS "agentNo", a.name, s.state,
            ${MAY_VOTE} AS online,
            CASE WHEN a.kind <> 'tenant' THEN s.phase END AS slot, s.was_unheard AS "wasNotCounted",
            a.behind_at AS "behindAtMs",
            (SELECT n.due_at FROM newest_result(s.monitor_no, s.agent_no, $2, $3) n) AS "newestAtMs"
     FROM monitor_sources s JOIN agents a ON a.no = s.agent_no WHERE s.monitor_no = ANY($1::int[])
     ORDER BY s.monitor_no, s.agent_no`,
    [monitors.map((monitor) => monitor.no), horizonMs, nowMs],
  );
  const sources = Map.groupBy(voters, (voter) => voter.monitorNo);
  const uncheckedFrom = await findUncheckedFrom(run, monitors);
  return monitors.map((monitor) => ({
    ...monitor,
    sources: sources.get(monitor.no) ?? [],
    uncheckedFrom: uncheckedFrom.get(monitor.no) ?? null,
  }));
}

/**
 * Evidence of the first bad results of a source's gauges, by gauge, for those that began anew. Null if it has no bad
 * result any more.
 */
export type FirstFailureEvidence = Partial<Record<GaugeName, (FailureEvidence & { atMs: number }) | null>> | null;

/**
 * Stores the states of changed sources, and the evidence of their first failures, with one statement. The evidence has
 * its own column, which is read only for incidents: the state is read with every batch.
 */
export async function storeSourceStates(
  run: Run,
  changed: readonly (SourceKey & { state: SourceState | null; firstFailureEvidence: FirstFailureEvidence })[],
): Promise<void> {
  if (changed.length === 0) return;
  await run(
    `UPDATE monitor_sources s SET state = k.state, seen = CASE WHEN k.evidence IS NULL THEN NULL
     WHEN k.evidence = '{}' THEN s.seen ELSE coalesce(s.seen, '{}') || k.evidence END
     FROM unnest($1::int[], $2::int[], $3::jsonb[], $4::jsonb[]) AS k (monitor_no, agent_no, state, evidence)
     WHERE s.monitor_no = k.monitor_no AND s.agent_no = k.agent_no`,
    [
      ...sourceColumns(changed),
      changed.map((source) => JSON.stringify(source.state)),
      changed.map(({ firstFailureEvidence }) => firstFailureEvidence && JSON.stringify(firstFailureEvidence)),
    ],
  );
}

/**
 * Updates which sources did not count when their monitors were decided, with one statement that locks the sources. The
 * evaluator holds those locks already. The sweep, which locks monitors first, calls it after its commit, because the
 * evaluator locks sources before monitors.
 */
export async function updateNotCounted(
  run: Run,
  sources: readonly (SourceKey & { isNotCounted: boolean })[],
): Promise<void> {
  if (sources.length === 0) return;
  await run(
    `WITH locked AS (
       SELECT s.monitor_no, s.agent_no, k.is_not_counted
       FROM unnest($1::int[], $2::int[], $3::boolean[]) AS k (monitor_no, agent_no, is_not_counted)
       JOIN monitor_sources s ON s.monitor_no = k.monitor_no AND s.agent_no = k.agent_no
       ORDER BY s.monitor_no, s.agent_no FOR NO KEY UPDATE OF s
     )
     UPDATE monitor_sources s SET was_unheard = k.is_not_counted FROM locked k WHERE s.monitor_no = k.monitor_no
       AND s.agent_no = k.agent_no`,
    [...sourceColumns(sources), sources.map((source) => source.isNotCounted)],
  );
}

/** Stores the states of monitors after their transitions, in one statement. */
export async function storeMonitorStates(
  run: Run,
  monitors: readonly { no: number; state: MonitorState; stateSinceMs: number; sequence: number }[],
): Promise<void> {
  await run(
    `UPDATE monitors m SET state = k.state, state_since = k."stateSinceMs", sequence = k.sequence
     FROM json_to_recordset($1::json) AS k (no integer, state text, "stateSinceMs" bigint, sequence integer)
       WHERE m.no = k.no`,
    [JSON.stringify(monitors)],
  );
}

/** A page of monitors, ordered by number; `lastNo` is null at the end. */
type StalePage = { stale: number[]; lastNo: number | null };

/** Time at which monitors are stale, and the time since which an edit (in Unix seconds) makes them so. */
export type StaleAsOf = { nowMs: number; editedSinceSeconds: number };

export type StalePageQuery = StaleAsOf & { afterNo: number; limit: number };

/** Maximum number of a monitor. */
const MAX_NO = 2 ** 31 - 1;

/**
 * Lists stale monitors among the next `limit`, by number: those that time or an edit may have changed although no
 * result did. These are decided ones with an offline agent, or with a source without a recent result (only once if its
 * agent is behind); those with a source that counts again; undecided ones past their patience; and those edited since
 * `editedSinceSeconds`. With a later time, those that silence may change by then are included.
 */
export async function listStaleMonitors(run: Run, { afterNo, limit, ...asOf }: StalePageQuery): Promise<StalePage> {
  const [last] = await run<{ no: number }>('SELECT no FROM monitors WHERE no > $1 ORDER BY no OFFSET $2 LIMIT 1', [
    afterNo,
    limit - 1,
  ]);
  const lastNo = last?.no ?? null;
  const stale = await selectStale(run, asOf, {
    where: (no) => `${no} > $3 AND ${no} <= $4`,
    values: [afterNo, lastNo ?? MAX_NO],
  });
  return { stale, lastNo };
}

/** Returns those of the given monitors that `listStaleMonitors` would list. */
export async function findStaleAmong(run: Run, asOf: StaleAsOf, monitorNos: readonly number[]): Promise<number[]> {
  return await selectStale(run, asOf, { where: (no) => `${no} = ANY($3::int[])`, values: [monitorNos] });
}

/**
 * Lists monitors that may be stale for another reason than silence. They were edited, a source did not count in the
 * last decision, or an agent is offline.
 */
export async function listChangedMonitors(run: Run, editedSinceSeconds: number): Promise<number[]> {
  const rows = await run<{ no: number }>(
    `SELECT no FROM monitors WHERE updated_at >= $1
     UNION SELECT monitor_no FROM monitor_sources WHERE was_unheard
     UNION SELECT s.monitor_no FROM agents a JOIN monitor_sources s ON s.agent_no = a.no AND s.phase IS NOT NULL
           WHERE NOT is_online(a)`,
    [editedSinceSeconds],
  );
  return rows.map(({ no }) => no);
}

/**
 * Lists the included monitors that are stale, by number.
 * 1. `sources`: those of the included monitors. Every part reads these: a plan with a hash reads its whole input, and
 *    the sources of all monitors would cost more than everything else.
 * 2. `not_counted`: those that did not count in the last decision, from a small index, so that the other rows need not
 *    be read.
 * 3. `doubted`: the included monitors to which one of the reasons applies. The patience of undecided ones is
 *    `undecidedMs` of core/incidents/quorum.ts.
 * 4. Those of them that are scheduled, or have no sources at all.
 */
async function selectStale(
  run: Run,
  { nowMs, editedSinceSeconds }: StaleAsOf,
  { where, values }: { where: (no: string) => string; values: readonly unknown[] },
): Promise<number[]> {
  const rows = await run<{ no: number }>(
    `WITH sources AS NOT MATERIALIZED (
       SELECT monitor_no, agent_no, phase, was_unheard FROM monitor_sources WHERE ${where('monitor_no')}
     ), not_counted AS NOT MATERIALIZED (
       SELECT monitor_no, agent_no FROM sources WHERE was_unheard
     ), doubted AS NOT MATERIALIZED (
       SELECT DISTINCT m.no
       FROM monitors m LEFT JOIN sources s ON s.monitor_no = m.no LEFT JOIN agents a ON a.no = s.agent_no, LATERAL (
         SELECT EXISTS (SELECT FROM recent_results r WHERE r.monitor_no = s.monitor_no AND r.agent_no = s.agent_no
                  AND r.due_at >= fresh_since(m.interval_seconds, $1))
                  OR EXISTS (SELECT FROM check_results r WHERE r.monitor_no = s.monitor_no AND r.agent_no = s.agent_no
                    AND r.due_at >= fresh_since(m.interval_seconds, $1)) AS is_recent,
                coalesce(a.behind_at >= fresh_since(m.interval_seconds, $1), false) AS is_behind,
                EXISTS (SELECT FROM not_counted n WHERE n.monitor_no = s.monitor_no AND n.agent_no = s.agent_no)
                  AS was_not_counted
       ) source
       WHERE ${where('m.no')} AND m.enabled AND m.target <> '' AND (
         m.updated_at >= $2
         OR (m.state = 'pending' AND $1 - m.state_since >= (3 * m.interval_seconds + 60) * 1000)
         OR (m.state IN ('up', 'degraded', 'down') AND (
           s.monitor_no IS NULL OR NOT is_online(a) OR NOT (is_recent OR (is_behind AND was_not_counted))))
         OR (was_not_counted AND is_online(a) AND is_recent))
     )
     SELECT no FROM doubted d
     WHERE EXISTS (SELECT FROM sources s WHERE s.monitor_no = d.no AND s.phase IS NOT NULL)
       OR NOT EXISTS (SELECT FROM sources s WHERE s.monitor_no = d.no)
     ORDER BY no`,
    [nowMs, editedSinceSeconds, ...values],
  );
  return rows.map(({ no }) => no);
}

/**
 * Lists monitors that are still unknown because of the service's overload although no location is behind any more: by
 * now the locations themselves are silent.
 */
export async function listSilentAfterOverload(run: Run, nowMs: number): Promise<number[]> {
  const rows = await run<{ no: number }>(
    `SELECT m.no FROM unchecked_times u JOIN monitors m ON m.no = u.monitor_no AND m.sequence = u.sequence
     WHERE u.ended_at IS NULL AND m.enabled AND NOT EXISTS (
       SELECT FROM monitor_sources s JOIN agents a ON a.no = s.agent_no
       WHERE s.monitor_no = m.no AND a.behind_at >= fresh_since(m.interval_seconds, $1))
     ORDER BY m.no`,
    [nowMs],
  );
  return rows.map(({ no }) => no);
}
