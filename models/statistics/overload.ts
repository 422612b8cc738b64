import type { MonitorState } from '../../core/incidents/state.ts';
import type { ServiceGap, Stretch } from '../../core/statistics/service-gaps.ts';
import type { Run } from '../sql.ts';

/**
 * A monitor that became unknown through our own overload: what it was before, and the transition that says so. Unix
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

/** Ends the times in which monitors were not checked, in the transaction of the transitions that do. */
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
 * What monitors were before they became unknown through our overload, by their numbers; those that are unknown for
 * another reason are absent. The caller holds their locks.
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
export type OverloadStep = { begun: number | null; ended: ServiceGap | null };

/**
 * Opens a service gap where a monitor is not checked in time, and ends it where none is any more. Times of monitors
 * that were paused, deleted or decided by a release before this one end here.
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

/** The stretches that one answer or report lists at the most, longest first where there are more. */
const MOST_LISTED = 500;

/**
 * The times in `[fromMs, toMs)` in which monitors of an account, or one of them, were not checked in time. As service
 * gaps, in order, each stretch once whatever the number of monitors. One that lasts ends at `nowMs`.
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
     ) g ORDER BY upper(r) - lower(r) DESC LIMIT ${MOST_LISTED}`,
    [tenantId, monitorId ?? null, fromMs, toMs, nowMs],
  );
  return rows
    .toSorted((a, b) => a.startMs - b.startMs)
    .map(({ startMs, endMs }) => ({ kind: 'overload', startMs, endMs: endMs - 1 }));
}
