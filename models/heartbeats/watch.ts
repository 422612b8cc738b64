import type { HeartbeatSettings } from '../../core/heartbeats/deadlines.ts';
import type { HeartbeatObservation } from '../../core/heartbeats/judge.ts';
import type { Database } from '../database.ts';
import type { Run } from '../sql.ts';
import { scheduleOf, type ScheduleColumns } from './heartbeats.ts';
import { COMMIT_SLACK_MS, PING_AVAILABILITY } from './ping-availability.ts';

/** An observation of a heartbeat that is not decided yet, and the source and monitor that it will be a result of. */
export type PendingObservation = {
  monitorNo: number;
  agentNo: number;
  checksVersion: number;
  observation: HeartbeatObservation;
  settings: HeartbeatSettings;
};

/**
 * Polls what is to be done. `due`: a deadline may be taken, or an observation waits to be decided. `quiet`: neither.
 * `none`: no heartbeat waits for a ping at all. One prepared statement, because it runs all the time and mostly finds
 * nothing. The smallest deadline comes from its index, where EXISTS would be planned as a scan of the table.
 */
export async function pollHeartbeats(database: Database): Promise<'due' | 'quiet' | 'none'> {
  const { rows } = await database.pool.query<{ is_waiting: boolean | null }>({
    name: 'poll-heartbeats',
    text: `SELECT (SELECT min(deadline_at) FROM heartbeats) <= (SELECT least(at, lost_from) - $1::bigint
        FROM service_marks WHERE name = $2)
                  OR EXISTS (SELECT 1 FROM heartbeat_observations) AS is_waiting`,
    values: [COMMIT_SLACK_MS, PING_AVAILABILITY],
  });
  const isWaiting = rows[0]?.is_waiting ?? null;
  if (isWaiting === null) return 'none';
  return isWaiting ? 'due' : 'quiet';
}

/**
 * Turns deadlines that passed while pings could come in into observations, at most `limit` of them, and returns how
 * many. Of two processes that do so at once each takes others; while no web process listens, or pings came that could
 * not be stored, ping availability does not advance, and no later deadline is taken.
 * 1. `missed`: heartbeats with a deadline before the end of ping availability, locked; what another process holds is
 *    skipped.
 * 2. `reported`: they are down, and wait for nothing until the next ping.
 * 3. `inserted`: an observation of each, which the evaluator decides.
 */
export async function takeMissed(run: Run, limit: number): Promise<number> {
  const [row] = await run<{ missed: number }>(
    `WITH missed AS (
       SELECT monitor_no, greatest(deadline_at, heard_at + 1) AS at, CASE
         WHEN overrun_at <= coalesce(due_at, overrun_at) THEN 'overrun' ELSE 'missed' END AS outcome
       FROM heartbeats WHERE deadline_at <= (SELECT least(at, lost_from) - $2::bigint FROM service_marks
         WHERE name = $3)
       ORDER BY deadline_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
     ), reported AS (
       UPDATE heartbeats h SET verdict = 'down', heard_at = m.at, last_signal = NULL, due_at = NULL, overrun_at = NULL
         FROM missed m WHERE h.monitor_no = m.monitor_no
     ), inserted AS (
       INSERT INTO heartbeat_observations (at, monitor_no, sight) SELECT at, monitor_no, outcome FROM missed RETURNING 1
     )
     SELECT count(*) AS missed FROM inserted`,
    [limit, COMMIT_SLACK_MS, PING_AVAILABILITY],
  );
  return row?.missed ?? 0;
}

/** An observation as it comes, with the settings of its heartbeat. */
type ObservationRow = Omit<HeartbeatObservation, 'type'> &
  Omit<HeartbeatSettings, 'schedule'> &
  ScheduleColumns &
  Pick<PendingObservation, 'monitorNo' | 'agentNo' | 'checksVersion'>;

/** The oldest observations that are not decided, at most `limit`. They stay until `deleteObservations` is called. */
export async function listPendingObservations(run: Run, limit: number): Promise<PendingObservation[]> {
  const rows = await run<ObservationRow>(
    `SELECT o.monitor_no AS "monitorNo", s.agent_no AS "agentNo", m.checks_version AS "checksVersion",
            o.sight AS outcome, o.at AS "startedAt", o.duration_ms AS "latencyMs", o.exit_status AS "exitStatus",
            o.first_line AS "firstLine", h.interval_seconds AS "intervalSeconds", h.grace_seconds AS "graceSeconds",
            h.max_duration_seconds AS "maxDurationSeconds", h.fail_enabled AS "failEnabled",
            h.cron, h.time_zone AS "timezone", h.early_seconds AS "earlySeconds"
     FROM heartbeat_observations o
     JOIN heartbeats h ON h.monitor_no = o.monitor_no
     JOIN monitor_sources s ON s.monitor_no = o.monitor_no
     JOIN monitors m ON m.no = o.monitor_no
     ORDER BY o.at, o.monitor_no LIMIT $1`,
    [limit],
  );
  return rows.map(({ intervalSeconds, graceSeconds, maxDurationSeconds, failEnabled, ...row }) => {
    const { monitorNo, agentNo, checksVersion, cron, timezone, earlySeconds, ...observation } = row;
    return {
      monitorNo,
      agentNo,
      checksVersion,
      observation: { type: 'heartbeat', ...observation },
      settings: {
        intervalSeconds,
        schedule: scheduleOf({ cron, timezone, earlySeconds }),
        graceSeconds,
        maxDurationSeconds,
        failEnabled,
      },
    };
  });
}

/** Removes what was decided and committed. */
export async function deleteObservations(run: Run, decided: readonly PendingObservation[]): Promise<void> {
  await run(
    `DELETE FROM heartbeat_observations o USING unnest($1::bigint[], $2::int[]) AS k (at, monitor_no) WHERE o.at = k.at
     AND o.monitor_no = k.monitor_no`,
    [decided.map(({ observation }) => observation.startedAt), decided.map(({ monitorNo }) => monitorNo)],
  );
}
