import { encodeCause, type Vote } from '../../core/checks/verdict.ts';
import type { PingKind } from '../../core/heartbeats/deadlines.ts';
import { firstLineOf, hideCredentials } from '../../core/heartbeats/pings.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';

/** An event of a heartbeat: a ping, or (`kind` null) a deadline that passed without one, with its cause and reason. */
export type StoredPing = {
  atMs: number;
  kind: PingKind | null;
  exitStatus: number | null;
  /** From the run's start to its end, in milliseconds; null if no start was reported. */
  durationMs: number | null;
  /** Verdict on the job; `none` for a start, which has no result yet. */
  verdict: Vote;
  cause: string | null;
  /** First line of a failed run's output, or the time waited; null if it succeeded, or had no output. */
  reason: string | null;
  /** What the job sent with the ping, as far as it was stored; null if nothing, if this is no ping, or if not read. */
  output: string | null;
};

/** Query for the pings in `[fromMs, toMs)`; the caller ends the window at the last one of the previous page. */
type PingQuery = {
  monitorNo: number;
  verdict?: Vote;
  fromMs: number;
  toMs: number;
  limit: number;
  /** Whether to read the output, up to 10 kB a ping. */
  withOutput: boolean;
};

type PingRow = {
  at: number;
  kind: PingKind | null;
  exit_status: number | null;
  duration_ms: number | null;
  first_line: string | null;
  output: string | null;
  cause: number | null;
};

const MISSED = encodeCause('heartbeat_missed');
const OVERRUN = encodeCause('heartbeat_overrun');

const CAUSES = new Map([
  [MISSED, 'heartbeat_missed'],
  [OVERRUN, 'heartbeat_overrun'],
]);

/** Conditions for the pings with each verdict. */
const VERDICT_CONDITIONS = {
  up: `kind = 'success' OR (kind = 'exit' AND exit_status = 0)`,
  down: `kind = 'fail' OR (kind = 'exit' AND exit_status <> 0)`,
  none: `kind = 'start'`,
  degraded: 'false',
} as const satisfies Record<Vote, string>;

/** Lists the pings of a heartbeat and the deadlines that passed without one, newest first. */
export async function listPings(
  database: Pick<Database, 'pool'>,
  { monitorNo, verdict, fromMs, toMs, limit, withOutput }: PingQuery,
): Promise<StoredPing[]> {
  const mayBeMissed = verdict === undefined || verdict === 'down';
  const rows = await runOn(database.pool)<PingRow>(
    // The tables are locked in the order in which partitions are created: the other order could deadlock.
    `(SELECT due_at AS at, NULL::text AS kind, NULL::smallint AS exit_status, NULL::bigint AS duration_ms,
     detail ->> 'reason' AS first_line, NULL::text AS output, cause FROM check_results
      WHERE ${mayBeMissed} AND monitor_no = $1 AND due_at >= $2 AND due_at < $3 AND verdict = 3
        AND cause IN (${MISSED}, ${OVERRUN})
      ORDER BY due_at DESC LIMIT $4)
     UNION ALL
     (SELECT at, kind, exit_status, duration_ms,
        CASE WHEN ${VERDICT_CONDITIONS.down} THEN split_part(body, E'\\n', 1) END,
        ${withOutput ? 'body' : 'NULL'}, NULL FROM heartbeat_pings
      WHERE monitor_no = $1 AND at >= $2 AND at < $3
        AND (${verdict === undefined ? 'true' : VERDICT_CONDITIONS[verdict]})
      ORDER BY at DESC LIMIT $4)
     ORDER BY at DESC LIMIT $4`,
    [monitorNo, fromMs, toMs, limit],
  );
  return rows.map(pingOf);
}

function pingOf(row: PingRow): StoredPing {
  const verdict = verdictOf(row);
  // Earlier releases stored bodies as they were sent.
  const hide = (text: string | null) => (text === null ? null : hideCredentials(text));
  return {
    atMs: row.at,
    kind: row.kind,
    exitStatus: row.exit_status,
    durationMs: row.duration_ms,
    verdict,
    cause: verdict === 'down' ? (CAUSES.get(row.cause) ?? 'heartbeat_failed') : null,
    reason: verdict === 'down' ? firstLineOf(hide(row.first_line)) : null,
    output: hide(row.output),
  };
}

function verdictOf({ kind, exit_status: exitStatus }: PingRow): Vote {
  if (kind === 'start') return 'none';
  return kind === 'success' || (kind === 'exit' && exitStatus === 0) ? 'up' : 'down';
}

/** Number of a deleted heartbeat's pings that one statement deletes. */
const CHUNK = 10_000;

/** Deletes the pings of deleted heartbeats, at most `most` in all, and returns their number; the next run continues. */
export async function deleteOrphanedPings(database: Pick<Database, 'pool'>, most: number): Promise<number> {
  const run = runOn(database.pool);
  let deleted = 0;
  for (const { no } of await run<{ no: number }>('SELECT monitor_no AS no FROM orphaned_pings ORDER BY 1')) {
    for (let last = CHUNK; last === CHUNK && deleted < most; deleted += last) last = await deleteSome(run, no);
    if (deleted >= most) return deleted;
    await run('DELETE FROM orphaned_pings WHERE monitor_no = $1', [no]);
  }
  return deleted;
}

async function deleteSome(run: Run, monitorNo: number): Promise<number> {
  const [row] = await run<{ deleted: number }>(
    `WITH gone AS (
       DELETE FROM heartbeat_pings WHERE monitor_no = $1 AND at IN (SELECT at FROM heartbeat_pings WHERE monitor_no = $1
         ORDER BY at LIMIT ${CHUNK}) RETURNING 1
     ) SELECT count(*) AS deleted FROM gone`,
    [monitorNo],
  );
  return row?.deleted ?? 0;
}
