import type { HeartbeatSettings } from '../../core/heartbeats/deadlines.ts';
import type { HeartbeatObservation } from '../../core/heartbeats/judge.ts';
import type { Database } from '../database.ts';
import { runOn, withAdvisoryLock, type Run } from '../sql.ts';
import { storeProof } from '../system/service-marks.ts';
import {
  SCHEDULED_CHUNK,
  SCHEDULED_COLUMNS,
  moveDeadlines,
  scheduleOf,
  type ScheduleColumns,
  type ScheduledRow,
} from './schedule.ts';

/**
 * Row of `service_marks` with ping availability: the time up to which pings could arrive. Every web process updates it
 * while it listens.
 */
export const PING_AVAILABILITY = 'pings';

/**
 * Additional time of ping availability before a deadline counts as missed, in milliseconds. A ping that arrived in time
 * may not be committed yet.
 */
const COMMIT_SLACK_MS = 200;

/**
 * Time without a record of availability after which pings were unavailable, in milliseconds: several times the
 * recording interval.
 */
const UNAVAILABLE_AFTER_MS = 3000;

/**
 * Time without renewal after which a hold belongs to a killed process, in milliseconds. It is many times the recording
 * interval, because a process may be slow.
 */
const ABANDONED_AFTER_MS = 10_000;

/** Prefix of the names of holds in `service_marks`; the holder's id follows. */
const HOLD = 'pings held by ';

/**
 * SQL: the time up to which pings could arrive and all of them are stored: none was lost, and no process holds
 * deadlines for one.
 */
const COMPLETE_UNTIL = `(SELECT least(p.at, p.lost_from,
    (SELECT min(h.at) FROM service_marks h WHERE starts_with(h.name, '${HOLD}')))
  FROM service_marks p WHERE p.name = '${PING_AVAILABILITY}')`;

/** Time without lost pings before availability is restored, in milliseconds. */
const QUIET_MS = 2000;

/** Number of heartbeats forgiven by one statement, so that pings never wait long for a row. */
const CHUNK = 5000;

/**
 * Records that pings can arrive now. After a gap, because no web process ran or PostgreSQL was away, the heartbeats
 * that may have pinged in vain are forgiven, by one process and before the mark moves: no heartbeat is missed because
 * of the service's own outage. The same applies after pings could not be stored (`recordLostPings`), once PostgreSQL
 * accepts writes again. Returns the number forgiven, and whether any heartbeat may exist. If a crash loses an update of
 * the mark, more heartbeats are forgiven.
 */
export async function recordPingAvailability(
  database: Database,
  now: () => number,
): Promise<{ forgiven: number; isAwaited: boolean }> {
  const { rows } = await database.pool.query<{ is_awaited: boolean }>({
    name: 'record-ping-availability',
    text: `UPDATE service_marks SET at = greatest(at, $2::bigint)
           WHERE name = $1 AND at >= $2::bigint - $3::bigint AND lost_from IS NULL
             AND NOT EXISTS (SELECT FROM service_marks h WHERE starts_with(h.name, '${HOLD}')
               AND h.resumed_at NOT BETWEEN $2::bigint - $4::bigint AND $2::bigint + $4::bigint)
             AND set_config('synchronous_commit', 'off', true) = 'off'
           RETURNING EXISTS (SELECT 1 FROM heartbeats) AS is_awaited`,
    values: [PING_AVAILABILITY, now(), UNAVAILABLE_AFTER_MS, ABANDONED_AFTER_MS],
  });
  const [held] = rows;
  if (held !== undefined) return { forgiven: 0, isAwaited: held.is_awaited };
  return {
    forgiven: (await withAdvisoryLock(database, 'ping door', () => restoreAvailability(database, now))) ?? 0,
    isAwaited: true,
  };
}

/**
 * Ends ping availability for all processes, because pings of this time range (Unix milliseconds) were not stored. No
 * deadline after its beginning counts until the heartbeats are forgiven.
 */
export async function recordLostPings(
  database: Database,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<void> {
  await database.pool.query({
    name: 'record-lost-pings',
    text:
      'UPDATE service_marks SET lost_from = least(lost_from, $2::bigint), lost_to = greatest(lost_to, $3::bigint) ' +
      'WHERE name = $1',
    values: [PING_AVAILABILITY, fromMs, toMs],
  });
}

/**
 * Has all processes take no deadline after `fromMs`, when a ping arrived that is still not stored. `nowMs` shows that
 * the holder is alive (both in Unix milliseconds). A hold forgives no heartbeat, unless its process ends without
 * releasing it.
 */
export async function holdDeadlines(
  database: Database,
  { holder, fromMs, nowMs }: { holder: string; fromMs: number; nowMs: number },
): Promise<void> {
  await database.pool.query({
    name: 'hold-deadlines',
    text: `INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $2, $3)
           ON CONFLICT (name) DO UPDATE SET at = excluded.at, resumed_at = excluded.resumed_at`,
    values: [`${HOLD}${holder}`, fromMs, nowMs],
  });
}

/** Ends a hold, once its pings are stored, or were recorded as lost. */
export async function releaseDeadlines(database: Database, holder: string): Promise<void> {
  await database.pool.query('DELETE FROM service_marks WHERE name = $1', [`${HOLD}${holder}`]);
}

/** Records the pings that a killed process held as lost. */
async function loseAbandoned(run: Run, nowMs: number): Promise<void> {
  await run(
    `WITH abandoned AS (
       DELETE FROM service_marks WHERE starts_with(name, '${HOLD}') AND resumed_at NOT BETWEEN $2::bigint AND $3::bigint
       RETURNING at, resumed_at
     )
     UPDATE service_marks SET lost_from = least(lost_from, a.from_at), lost_to = greatest(lost_to, a.to_at)
     FROM (SELECT min(at) AS from_at, max(resumed_at) AS to_at FROM abandoned) a
     WHERE name = $1 AND a.from_at IS NOT NULL`,
    [PING_AVAILABILITY, nowMs - ABANDONED_AFTER_MS, nowMs + ABANDONED_AFTER_MS],
  );
}

async function restoreAvailability(database: Database, now: () => number): Promise<number> {
  const run = runOn(database.pool);
  const nowMs = now();
  await run('INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $2, $2) ON CONFLICT DO NOTHING', [
    PING_AVAILABILITY,
    nowMs,
  ]);
  await loseAbandoned(run, nowMs);
  const [mark] = await run<{ at: number; lost_from: number | null; lost_to: number | null }>(
    'SELECT at, lost_from, lost_to FROM service_marks WHERE name = $1',
    [PING_AVAILABILITY],
  );
  const { at = nowMs, lost_from: lostFromMs = null, lost_to: lostToMs = null } = mark ?? {};
  // Another process has restored availability already.
  if (lostFromMs === null && nowMs - at <= UNAVAILABLE_AFTER_MS) return 0;
  // A larger difference in either direction means that a clock was set.
  if (lostToMs !== null && Math.abs(nowMs - lostToMs) < QUIET_MS) return 0;
  await storeProof(database);
  const closedAtMs = Math.min(at, lostFromMs ?? at);
  let total = 0;
  for (let last = 0; ;) {
    const chunk = await forgive(run, { closedAtMs: closedAtMs - COMMIT_SLACK_MS, nowMs, afterNo: last });
    total += chunk.forgiven;
    last = chunk.last;
    if (chunk.forgiven < CHUNK) break;
  }
  total += await forgiveScheduled(run, { closedAtMs: closedAtMs - COMMIT_SLACK_MS, nowMs });
  // Pings were available while heartbeats were forgiven, unless more pings were lost.
  await run(
    `UPDATE service_marks SET at = $2, resumed_at = $2, lost_from = NULL, lost_to = NULL
     WHERE name = $1 AND lost_to IS NOT DISTINCT FROM $3`,
    [PING_AVAILABILITY, now(), lostToMs],
  );
  return total;
}

/**
 * Forgives heartbeats. A ping is expected an interval after the previous one, and may arrive earlier or later by the
 * grace. If that time overlaps the gap, the ping may have been lost, and its wait starts over; a run in progress gets
 * the length of the gap in addition. Heartbeats are taken by number, so that no two statements deadlock; one that is
 * forgiven twice, because a process died, only waits a little longer. Scheduled ones are left to `forgiveScheduled`.
 * 1. `overlapping`: the next heartbeats whose time overlaps the gap, locked.
 * 2. `forgiven`: moves their deadlines after the gap, and those of runs in progress by its length.
 */
async function forgive(
  run: Run,
  stretch: { closedAtMs: number; nowMs: number; afterNo: number },
): Promise<{ forgiven: number; last: number }> {
  const [row] = await run<{ forgiven: number; last: number }>(
    `WITH overlapping AS (
       SELECT monitor_no FROM heartbeats
       WHERE monitor_no > $3 AND ((cron IS NULL AND due_at > $1 AND due_at - 2000::bigint * grace_seconds <= $2)
         OR overrun_at > $1)
       ORDER BY monitor_no LIMIT $4 FOR NO KEY UPDATE
     ), forgiven AS (
       UPDATE heartbeats h
       SET due_at = CASE WHEN cron IS NULL AND due_at > $1
         AND due_at - 2000::bigint * grace_seconds <= $2 THEN greatest(due_at,
         $2::bigint + 1000::bigint * (interval_seconds + grace_seconds)) ELSE due_at END,
           overrun_at = CASE WHEN overrun_at > $1 THEN overrun_at + $2::bigint - $1::bigint ELSE overrun_at END
       FROM overlapping t WHERE h.monitor_no = t.monitor_no
       RETURNING h.monitor_no
     )
     SELECT count(*) AS forgiven, coalesce(max(monitor_no), 0) AS last FROM forgiven`,
    [stretch.closedAtMs, stretch.nowMs, stretch.afterNo, CHUNK],
  );
  return row ?? { forgiven: 0, last: 0 };
}

/**
 * Forgives heartbeats with a schedule. A ping is expected at its run, and may arrive earlier by `early_seconds` and
 * later by the grace. If that time overlaps the gap, the next run is expected instead. Rows are locked by number; one
 * that a ping or an edit moved meanwhile is kept.
 */
async function forgiveScheduled(
  run: Run,
  { closedAtMs, nowMs }: { closedAtMs: number; nowMs: number },
): Promise<number> {
  let forgiven = 0;
  for (let afterNo = 0; ;) {
    const rows = await run<ScheduledRow>(
      `SELECT ${SCHEDULED_COLUMNS} FROM heartbeats
       WHERE cron IS NOT NULL AND monitor_no > $1 AND due_at > $2
         AND due_at - 1000::bigint * (grace_seconds + early_seconds) <= $3
       ORDER BY monitor_no LIMIT $4`,
      [afterNo, closedAtMs, nowMs, SCHEDULED_CHUNK],
    );
    forgiven += await moveDeadlines(run, rows, { nowMs, toMs: Math.max });
    afterNo = rows.at(-1)?.monitorNo ?? afterNo;
    if (rows.length < SCHEDULED_CHUNK) return forgiven;
  }
}

/** An undecided observation of a heartbeat, and the source and monitor of the result that it will be. */
export type PendingObservation = {
  monitorNo: number;
  agentNo: number;
  checksVersion: number;
  observation: HeartbeatObservation;
  settings: HeartbeatSettings;
};

/**
 * Polls for work. `due`: a deadline may be taken, or an observation waits to be decided. `quiet`: neither. `none`: no
 * heartbeat waits for a ping. One prepared statement, because it runs all the time and mostly finds nothing. The
 * smallest deadline comes from its index, where EXISTS would be planned as a scan of the table.
 */
export async function pollHeartbeats(database: Database): Promise<'due' | 'quiet' | 'none'> {
  const { rows } = await database.pool.query<{ is_waiting: boolean | null }>({
    name: 'poll-heartbeats',
    text: `SELECT (SELECT min(deadline_at) FROM heartbeats) <= ${COMPLETE_UNTIL} - $1::bigint
                  OR EXISTS (SELECT 1 FROM heartbeat_observations) AS is_waiting`,
    values: [COMMIT_SLACK_MS],
  });
  const isWaiting = rows[0]?.is_waiting ?? null;
  if (isWaiting === null) return 'none';
  return isWaiting ? 'due' : 'quiet';
}

/**
 * Turns deadlines that passed while pings could arrive into observations, at most `limit`, and returns their number.
 * Concurrent processes take different ones; while no web process listens, or pings are not stored yet, no later
 * deadline is taken.
 * 1. `missed`: heartbeats with a deadline before the end of ping availability, locked; skips those that another process
 *    locks.
 * 2. `reported`: marks them as down, without a deadline until the next ping.
 * 3. `inserted`: an observation for each, for the evaluator to decide.
 */
export async function takeMissed(run: Run, limit: number): Promise<number> {
  const [row] = await run<{ missed: number }>(
    `WITH missed AS (
       SELECT monitor_no, greatest(deadline_at, heard_at + 1) AS at, CASE
         WHEN overrun_at <= coalesce(due_at, overrun_at) THEN 'overrun' ELSE 'missed' END AS outcome
       FROM heartbeats WHERE deadline_at <= ${COMPLETE_UNTIL} - $2::bigint
       ORDER BY deadline_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
     ), reported AS (
       UPDATE heartbeats h SET verdict = 'down', heard_at = m.at, last_signal = NULL, due_at = NULL, overrun_at = NULL
         FROM missed m WHERE h.monitor_no = m.monitor_no
     ), inserted AS (
       INSERT INTO heartbeat_observations (at, monitor_no, sight) SELECT at, monitor_no, outcome FROM missed RETURNING 1
     )
     SELECT count(*) AS missed FROM inserted`,
    [limit, COMMIT_SLACK_MS],
  );
  return row?.missed ?? 0;
}

/** A row of an observation, with the settings of its heartbeat. */
type ObservationRow = Omit<HeartbeatObservation, 'type'> &
  Omit<HeartbeatSettings, 'schedule'> &
  ScheduleColumns &
  Pick<PendingObservation, 'monitorNo' | 'agentNo' | 'checksVersion'>;

/**
 * Lists the observations to decide next: at most `limit`, and `ofAccount` per account, so that none waits for another
 * account's queue (D-661). Within an account the heartbeats that have waited longest come first, each with its
 * observations in order. They stay until `deleteObservations` is called.
 * 1. `waiting`: the heartbeats with observations.
 * 2. `shared`: the number of the account's observations before those of each.
 * 3. `placed`: the position of each observation within its account.
 * 4. `next`: the first ones of every account.
 */
export async function listPendingObservations(
  run: Run,
  { limit, ofAccount }: { limit: number; ofAccount: number },
): Promise<PendingObservation[]> {
  const rows = await run<ObservationRow>(
    `WITH waiting AS (
       SELECT monitor_no, min(at) AS at, count(*) AS count FROM heartbeat_observations GROUP BY monitor_no
     ), shared AS (
       SELECT w.monitor_no,
         (sum(w.count) OVER (PARTITION BY m.tenant_id ORDER BY w.at, w.monitor_no) - w.count)::bigint AS before
       FROM waiting w JOIN monitors m ON m.no = w.monitor_no
     ), placed AS (
       SELECT o.*, s.before + row_number() OVER (PARTITION BY o.monitor_no ORDER BY o.at) AS place
       FROM shared s JOIN heartbeat_observations o ON o.monitor_no = s.monitor_no WHERE s.before < $2
     ), next AS (
       SELECT * FROM placed WHERE place <= $2 ORDER BY place, at, monitor_no LIMIT $1
     )
     SELECT o.monitor_no AS "monitorNo", s.agent_no AS "agentNo", m.checks_version AS "checksVersion",
            o.sight AS outcome, o.at AS "startedAt", o.duration_ms AS "latencyMs", o.exit_status AS "exitStatus",
            o.first_line AS "firstLine", h.interval_seconds AS "intervalSeconds", h.grace_seconds AS "graceSeconds",
            h.max_duration_seconds AS "maxDurationSeconds", h.fail_enabled AS "failEnabled",
            h.cron, h.time_zone AS "timezone", h.early_seconds AS "earlySeconds"
     FROM next o
     JOIN heartbeats h ON h.monitor_no = o.monitor_no
     JOIN monitor_sources s ON s.monitor_no = o.monitor_no
     JOIN monitors m ON m.no = o.monitor_no
     ORDER BY o.at, o.monitor_no`,
    [limit, ofAccount],
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

/** Deletes observations that were decided and committed. */
export async function deleteObservations(run: Run, decided: readonly PendingObservation[]): Promise<void> {
  await run(
    `DELETE FROM heartbeat_observations o USING unnest($1::bigint[], $2::int[]) AS k (at, monitor_no) WHERE o.at = k.at
     AND o.monitor_no = k.monitor_no`,
    [decided.map(({ observation }) => observation.startedAt), decided.map(({ monitorNo }) => monitorNo)],
  );
}
