import {
  stepWatch,
  type Due,
  type GapKind,
  type ServiceGap,
  type ServiceEvidence,
  type WatchedService,
  type WatchStep,
} from '../../core/statistics/service-gaps.ts';
import type { Database } from '../database.ts';
import { inTransaction, type Run } from '../sql.ts';
import { MARKS } from '../system/service-marks.ts';

export type { GapKind, ServiceGap };

/**
 * The gaps that touch the window [fromMs, toMs), oldest first, whole and not merged. Kinds overlap, and a gap may begin
 * before the window and end after it. One that lasts ends at `nowMs`.
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

/** A gap as it is stored; `endMs` is null while it lasts. */
export type StoredGap = { no: number; kind: GapKind; startMs: number; endMs: number | null };

/**
 * The gaps that touch the window [fromMs, toMs), newest first, those of overload among them; `before` is the last one
 * of the page before.
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

/**
 * A shared agent whose last check-in was this much before the newest one, in seconds, is gone, and no agent
 * runs its checks.
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
 * Reads when the service was last active, and records that and the gaps that follow, in one transaction. Of two that do
 * so at once the second sees what the first one recorded. The caller says what it found in the queue.
 */
export async function watchService(
  database: Database,
  evidence: Pick<ServiceEvidence, 'nowMs' | 'oldestResultsAtMs'>,
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
    const step = stepWatch(before, { ...evidence, shortestIntervalSeconds: row?.shortestIntervalSeconds ?? null });
    await writeStep(run, { before, step, nowMs: evidence.nowMs });
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
    availableSinceMs: { checks: row?.checksOpenSinceMs ?? null, evaluation: row?.evaluationOpenSinceMs ?? null },
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
