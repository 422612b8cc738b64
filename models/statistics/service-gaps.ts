import type { MonitorState } from '../../core/incidents/state.ts';
import {
  stepWatch,
  type Due,
  type GapKind,
  type ServicePoll,
  type ServiceGap,
  type Stretch,
  type WatchStep,
  type WatchedService,
} from '../../core/statistics/service-gaps.ts';
import type { Database } from '../database.ts';
import { inTransaction, type Run } from '../sql.ts';
import { MARKS } from '../system/service-marks.ts';

export type { GapKind, ServiceGap };

/**
 * Lists the gaps that overlap the window [fromMs, toMs), oldest first, in full and not merged. Kinds overlap, and a gap
 * may begin before the window and end after it. One in progress ends at `nowMs`.
 */
export async function listServiceGaps(
  run: Run,
  window: { fromMs: number; toMs: number; nowMs: number },
): Promise<ServiceGap[]> {
  const rows = await run<{ kind: GapKind; started_at: number; ended_at: number }>(
    {
      name: 'list-service-gaps',
      text: `SELECT kind, started_at, coalesce(ended_at, greatest(started_at, $3::bigint)) AS ended_at FROM service_gaps
             WHERE started_at < $2 AND coalesce(ended_at, greatest(started_at, $3::bigint)) > $1
             ORDER BY started_at, no`,
    },
    [window.fromMs, window.toMs, window.nowMs],
  );
  return rows.map((row) => ({ kind: row.kind, startMs: row.started_at, endMs: row.ended_at }));
}

/** A stored gap; `endMs` is null while it is in progress. */
export type StoredGap = { no: number; kind: GapKind; startMs: number; endMs: number | null };

/**
 * Lists the gaps that overlap the window [fromMs, toMs), newest first, including those of overload; `before` is the
 * last one of the previous page.
 */
export async function pageServiceGaps(
  run: Run,
  query: { fromMs: number; toMs: number; before?: { startMs: number; no: number }; limit: number },
): Promise<StoredGap[]> {
  const { fromMs, toMs, before, limit } = query;
  return await run<StoredGap>(
    `SELECT no, kind, started_at AS "startMs", ended_at AS "endMs"
     FROM (SELECT no, kind, started_at, ended_at FROM service_gaps UNION ALL SELECT no, 'overload', started_at, ended_at
       FROM overload_gaps) g
     WHERE started_at < $2 AND (ended_at IS NULL OR ended_at > $1) AND ($3::bigint IS NULL
       OR (started_at, no) < ($3, $4::bigint))
     ORDER BY started_at DESC, no DESC LIMIT $5`,
    [fromMs, toMs, before?.startMs ?? null, before?.no ?? null, limit],
  );
}

/** Returns when the newest gap of each kind ended, in Unix milliseconds; `nowMs` for one in progress. */
export async function lastServiceGaps(run: Run, nowMs: number): Promise<{ kind: GapKind; endMs: number }[]> {
  return await run<{ kind: GapKind; endMs: number }>(
    `SELECT kind, max(coalesce(ended_at, $1)) AS "endMs"
     FROM (SELECT kind, ended_at FROM service_gaps UNION ALL SELECT 'overload', ended_at FROM overload_gaps) g
     GROUP BY kind`,
    [nowMs],
  );
}

/**
 * Age of a shared agent's last check-in, relative to the newest one, from which it counts as gone, in seconds. Its
 * checks are not run.
 */
const GONE_AFTER_SECONDS = 60;

type WatchRow = Pick<WatchedService, 'checkedAtMs' | 'evaluatedAtMs'> & {
  dueSinceMs: number | null;
  dueIntervalSeconds: number | null;
  shortestIntervalSeconds: number | null;
  checksOpenSinceMs: number | null;
  evaluationOpenSinceMs: number | null;
};

/**
 * Reads when the service was last active, and records that and the resulting gaps, in one transaction. Of two
 * concurrent calls the second sees the first one's record. The caller passes the state of the queue.
 */
export async function watchService(
  database: Database,
  poll: Pick<ServicePoll, 'nowMs' | 'oldestResultsAtMs'>,
): Promise<WatchStep> {
  return await inTransaction(database, async (run) => {
    const [sweep] = await run<{ at: number; resumed_at: number }>(
      'SELECT at, resumed_at FROM service_marks WHERE name = $1 FOR NO KEY UPDATE',
      [MARKS.sweep],
    );
    const [row] = await run<WatchRow>(
      `SELECT (SELECT at FROM service_marks WHERE name = '${MARKS.checks}') AS "checkedAtMs",
              (SELECT at FROM service_marks WHERE name = '${MARKS.evaluation}') AS "evaluatedAtMs",
              (SELECT at FROM service_marks WHERE name = '${MARKS.due}') AS "dueSinceMs",
              (SELECT interval_seconds FROM service_marks WHERE name = '${MARKS.due}') AS "dueIntervalSeconds",
              (SELECT min(p.interval_seconds) FROM schedule_phases p JOIN agents a ON a.no = p.agent_no
               WHERE p.monitors > 0 AND (a.kind = 'service' OR (a.kind = 'first_party'
                     AND a.last_seen_at >= (SELECT max(last_seen_at) FROM agents
                       WHERE kind = 'first_party') - $1::bigint))) AS "shortestIntervalSeconds",
              (SELECT started_at FROM service_gaps WHERE kind = 'checks' AND ended_at IS NULL) AS "checksOpenSinceMs",
              (SELECT started_at FROM service_gaps WHERE kind = 'evaluation'
               AND ended_at IS NULL) AS "evaluationOpenSinceMs"`,
      [GONE_AFTER_SECONDS],
    );
    const before: WatchedService = {
      sweptAtMs: sweep?.at ?? null,
      resumedAtMs: sweep?.resumed_at ?? null,
      ...watchedOf(row),
    };
    const step = stepWatch(before, { ...poll, shortestIntervalSeconds: row?.shortestIntervalSeconds ?? null });
    await writeStep(run, { before, step, nowMs: poll.nowMs });
    return step;
  });
}

function watchedOf(row: WatchRow | undefined): Omit<WatchedService, 'sweptAtMs' | 'resumedAtMs'> {
  const { dueSinceMs = null, dueIntervalSeconds = null } = row ?? {};
  const isDue = dueSinceMs !== null && dueIntervalSeconds !== null;
  return {
    checkedAtMs: row?.checkedAtMs ?? null,
    evaluatedAtMs: row?.evaluatedAtMs ?? null,
    due: isDue ? { sinceMs: dueSinceMs, intervalSeconds: dueIntervalSeconds } : null,
    gapOpenSinceMs: { checks: row?.checksOpenSinceMs ?? null, evaluation: row?.evaluationOpenSinceMs ?? null },
  };
}

async function writeStep(
  run: Run,
  { before, step, nowMs }: { before: WatchedService; step: WatchStep; nowMs: number },
): Promise<void> {
  await run(
    `INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $2, $3)
     ON CONFLICT (name) DO UPDATE SET at = greatest(service_marks.at, excluded.at), resumed_at = excluded.resumed_at`,
    [MARKS.sweep, nowMs, step.watchingSinceMs],
  );
  if (!isSameDue(before.due, step.due)) {
    await run(
      `INSERT INTO service_marks (name, at, resumed_at, interval_seconds) VALUES ($1, $2, $2, $3)
       ON CONFLICT (name) DO UPDATE SET at = excluded.at, interval_seconds = excluded.interval_seconds`,
      [MARKS.due, step.due?.sinceMs ?? nowMs, step.due?.intervalSeconds ?? null],
    );
  }
  for (const { kind, startMs, endMs } of step.ended) {
    if (kind === 'clock')
      await run('INSERT INTO service_gaps (kind, started_at, ended_at) VALUES ($1, $2, $3)', [kind, startMs, endMs]);
    else await run('UPDATE service_gaps SET ended_at = $2 WHERE kind = $1 AND ended_at IS NULL', [kind, endMs]);
  }
  for (const { kind, startMs } of step.begun)
    await run('INSERT INTO service_gaps (kind, started_at) VALUES ($1, $2) ON CONFLICT DO NOTHING', [kind, startMs]);
}

function isSameDue(a: Due | null, b: Due | null): boolean {
  return a?.sinceMs === b?.sinceMs && a?.intervalSeconds === b?.intervalSeconds;
}

/**
 * A monitor that became unknown because of the service's overload: its previous state, and the transition. Unix
 * milliseconds.
 */
export type UncheckedMonitor = {
  monitorId: string;
  monitorNo: number;
  tenantId: string;
  sequence: number;
  from: MonitorState;
  atMs: number;
};

/** Records that monitors are not checked in time, in the transaction of their transitions. */
export async function beginUnchecked(run: Run, monitors: readonly UncheckedMonitor[]): Promise<void> {
  if (monitors.length === 0) return;
  await run(
    `INSERT INTO unchecked_times (monitor_id, sequence, monitor_no, tenant_id, from_state, started_at)
     SELECT m."monitorId", m.sequence, m."monitorNo", m."tenantId", m."from", m."atMs"
     FROM json_to_recordset($1::json) AS m ("monitorId" text, sequence integer, "monitorNo" integer, "tenantId" text,
       "from" text, "atMs" bigint)`,
    [JSON.stringify(monitors)],
  );
}

/** Ends the times in which monitors were not checked, in the transaction of the transitions that end them. */
export async function endUnchecked(run: Run, monitors: readonly { monitorNo: number; atMs: number }[]): Promise<void> {
  if (monitors.length === 0) return;
  await run(
    `UPDATE unchecked_times u SET ended_at = greatest(u.started_at, k.at)
     FROM unnest($1::int[], $2::bigint[]) AS k (monitor_no, at)
     WHERE u.monitor_no = k.monitor_no AND u.ended_at IS NULL`,
    [monitors.map(({ monitorNo }) => monitorNo), monitors.map(({ atMs }) => atMs)],
  );
}

/**
 * Returns the states of monitors before they became unknown because of the service's overload, by number; those that
 * are unknown for another reason are absent. The caller holds their locks.
 */
export async function findUncheckedFrom(
  run: Run,
  monitors: readonly { no: number; state: MonitorState; sequence: number }[],
): Promise<Map<number, MonitorState>> {
  const unknown = monitors.filter(({ state }) => state === 'unknown');
  if (unknown.length === 0) return new Map();
  const rows = await run<{ no: number; from: MonitorState }>(
    `SELECT u.monitor_no AS no, u.from_state AS "from" FROM unnest($1::int[], $2::int[]) AS k (monitor_no, sequence)
     JOIN unchecked_times u ON u.monitor_no = k.monitor_no AND u.sequence = k.sequence AND u.ended_at IS NULL`,
    [unknown.map(({ no }) => no), unknown.map(({ sequence }) => sequence)],
  );
  return new Map(rows.map(({ no, from }) => [no, from]));
}

/** The service gap that began or ended with a sweep; null = none. */
type OverloadStep = { begun: number | null; ended: ServiceGap | null };

/**
 * Opens a service gap if a monitor is not checked in time, and ends it once none is. Also ends the times of monitors
 * that were paused, deleted or decided by a previous release.
 */
export async function watchOverload(run: Run, nowMs: number): Promise<OverloadStep> {
  await run(
    `UPDATE unchecked_times u SET ended_at = greatest(u.started_at, coalesce((SELECT t.at FROM transitions t
     WHERE t.monitor_id = u.monitor_id AND t.sequence = u.sequence + 1), $1))
     WHERE u.ended_at IS NULL AND NOT EXISTS (SELECT FROM monitors m WHERE m.no = u.monitor_no
       AND m.sequence = u.sequence)`,
    [nowMs],
  );
  const [begun] = await run<{ startMs: number }>(
    `INSERT INTO overload_gaps (started_at) SELECT min(started_at) FROM unchecked_times WHERE ended_at IS NULL
     HAVING count(*) > 0
     ON CONFLICT ((true)) WHERE ended_at IS NULL DO NOTHING RETURNING started_at AS "startMs"`,
  );
  const [ended] = await run<Stretch>(
    `UPDATE overload_gaps g SET ended_at = greatest(g.started_at, coalesce((SELECT max(ended_at) FROM unchecked_times
     WHERE started_at >= g.started_at), $1))
     WHERE g.ended_at IS NULL AND NOT EXISTS (SELECT FROM unchecked_times WHERE ended_at IS NULL)
     RETURNING started_at AS "startMs", ended_at AS "endMs"`,
    [nowMs],
  );
  return { begun: begun?.startMs ?? null, ended: ended === undefined ? null : { kind: 'overload', ...ended } };
}

/** Maximum number of times in one response or report; beyond it only the longest are listed. */
const MAX_LISTED = 500;

/**
 * Lists the times in `[fromMs, toMs)` in which monitors of an account, or one of them, were not checked in time. They
 * are service gaps, in order, merged over all monitors. One in progress ends at `nowMs`.
 */
export async function listOverloadGaps(
  run: Run,
  {
    tenantId,
    monitorId,
    fromMs,
    toMs,
    nowMs,
  }: { tenantId: string; monitorId?: string; fromMs: number; toMs: number; nowMs: number },
): Promise<ServiceGap[]> {
  const rows = await run<Stretch>(
    `SELECT lower(r) AS "startMs", upper(r) AS "endMs" FROM (
       SELECT unnest(range_agg(int8range(started_at, greatest(started_at, coalesce(ended_at, $5)) + 1))) AS r
         FROM unchecked_times
       WHERE tenant_id = $1 AND ($2::text IS NULL OR monitor_id = $2) AND started_at < $4
         AND coalesce(ended_at, $5) > $3
     ) g ORDER BY upper(r) - lower(r) DESC LIMIT ${MAX_LISTED}`,
    [tenantId, monitorId ?? null, fromMs, toMs, nowMs],
  );
  return rows
    .toSorted((a, b) => a.startMs - b.startMs)
    .map(({ startMs, endMs }) => ({ kind: 'overload', startMs, endMs: endMs - 1 }));
}
