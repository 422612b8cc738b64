import type { PoolClient } from 'pg';
import { CHAT_LINK_SECONDS, CONFIRMATION_SECONDS } from '../../core/alerts/channel.ts';
import { MONITOR_HOLDS } from '../../core/alerts/hold.ts';
import { pullBackState, type SourceState } from '../../core/incidents/source-state.ts';
import { DAY_MS, HOUR_MS, toUnixSeconds } from '../../core/time.ts';
import { INVITATION_GOOD_SECONDS } from '../accounts/invitations.ts';
import { BREAK_GLASS_SECONDS } from '../accounts/users.ts';
import { PREVIOUS_SECRET_MS } from '../alerts/webhook-secrets.ts';
import { PACKED_MARK } from '../checks/recent-results.ts';
import { SCHEDULED_CHUNK, SCHEDULED_COLUMNS, moveDeadlines, type ScheduledRow } from '../heartbeats/schedule.ts';
import { KEPT_MS } from '../maintenance/maintenance-times.ts';
import { quoteList, runOn, type Run } from '../sql.ts';

/** The current time, and how far it was set back, in whole milliseconds. */
type SetBack = { nowMs: number; backMs: number };

/** Maximum time ahead of a planned recheck, in milliseconds: its interval's next tick is sooner. */
const FURTHEST_RECHECK_MS = 60_000;

/** Room for undecided observations of a heartbeat, in milliseconds: later ones have later times. */
const RECEIVED_ROOM_MS = 100;

/** Time limit of a statement, in milliseconds: a long time range has many rows, and no request waits for them. */
const MAX_STATEMENT_MS = 300_000;

/**
 * Corrects stored times that are ahead after the time was set back, in the transaction of `client`. Measurements are
 * deleted, because their times come again; decisions and marks are set to now; plans are moved back by `backMs`. With
 * `backMs` 0 it corrects times that processes with the old time have written since, and leaves plans as they are.
 */
export async function pullBackTimes(client: Pick<PoolClient, 'query'>, { nowMs, backMs }: SetBack): Promise<void> {
  const run = runOn(client, MAX_STATEMENT_MS);
  await run(`SET LOCAL statement_timeout = ${MAX_STATEMENT_MS}`);
  for (const statement of [
    ...forgetMeasured(nowMs),
    ...pullDecided({ nowMs, backMs }),
    ...pullMarks(nowMs),
    ...pullMaintenance(nowMs),
    ...pullAccess(nowMs),
    ...(backMs > 0 ? shiftPlanned(nowMs, backMs) : []),
  ])
    await run(statement);
  await pullSchedules(run, nowMs);
  const ahead = await run<{ monitor_no: number; agent_no: number; state: SourceState }>(
    `SELECT monitor_no, agent_no, state FROM monitor_sources WHERE (state ->> 'newestAtMs')::bigint > $1
     ORDER BY monitor_no, agent_no FOR NO KEY UPDATE`,
    [nowMs],
  );
  if (ahead.length === 0) return;
  await run(
    `UPDATE monitor_sources s SET state = k.state
     FROM unnest($1::int[], $2::int[], $3::jsonb[]) AS k (monitor_no, agent_no, state)
     WHERE s.monitor_no = k.monitor_no AND s.agent_no = k.agent_no`,
    [
      ahead.map((row) => row.monitor_no),
      ahead.map((row) => row.agent_no),
      ahead.map(({ state }) => JSON.stringify(pullBackState(state, nowMs))),
    ],
  );
}

/** Deletes measurements, so that new ones can be stored with the same times. */
function forgetMeasured(nowMs: number): string[] {
  return [
    `DELETE FROM check_results WHERE due_at > ${nowMs}`,
    ...unpackFrom(nowMs),
    `DELETE FROM recent_results WHERE due_at > ${nowMs}`,
    `DELETE FROM heartbeat_pings WHERE at > ${nowMs}`,
    `DELETE FROM hourly_rollups WHERE at > ${nowMs - HOUR_MS}`,
    `DELETE FROM daily_rollups WHERE at > ${nowMs - DAY_MS}`,
    `DELETE FROM late_hours WHERE at > ${nowMs - HOUR_MS}`,
    `DELETE FROM set_aside_hours WHERE at > ${nowMs - HOUR_MS}`,
    `DELETE FROM reports WHERE period_end > ${toUnixSeconds(nowMs)}`,
    `DELETE FROM zone_reports WHERE period_end > ${toUnixSeconds(nowMs)}`,
  ];
}

/** Unpacks the results of the current hour into single rows: that hour is packed when it is over. */
function unpackFrom(nowMs: number): string[] {
  const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  return [
    `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict, detail)
     SELECT due_at, monitor_no, agent_no, latency_ms, http_status, verdict, detail
     FROM unpacked_results(${hourMs}, ${nowMs + 1}) ON CONFLICT DO NOTHING`,
    `DELETE FROM packed_results WHERE at >= ${hourMs}`,
  ];
}

/** Keeps decisions, in their order, and the distance of the ends of mutes and snoozes from now. */
function pullDecided({ nowMs, backMs }: SetBack): string[] {
  return [
    `UPDATE transitions SET ${pulled(['at', 'detected_at'], nowMs)} WHERE detected_at > ${nowMs}`,
    `UPDATE monitors SET ${pulled(['state_since'], nowMs)} WHERE state_since > ${nowMs}`,
    // Accounts and statistics begin at these times.
    ...['monitors', 'channels', 'tenants'].map(
      (table) => `UPDATE ${table} SET created_at = ${toUnixSeconds(nowMs)} WHERE created_at > ${toUnixSeconds(nowMs)}`,
    ),
    // Silence counts from the last edit.
    `UPDATE monitors SET updated_at = ${toUnixSeconds(nowMs)} WHERE updated_at > ${toUnixSeconds(nowMs)}`,
    // Between monitors and deliveries: whoever decides, mutes or snoozes locks these in the same order.
    `UPDATE incidents SET ${pulled(['started_at', 'detected_at', 'resolved_at', 'acknowledged_at'], nowMs)}
     WHERE greatest(detected_at, resolved_at, acknowledged_at) > ${nowMs}`,
    ...(backMs > 0
      ? [
          shifted('monitor_mutes', ['muted_until'], { nowMs, backMs }),
          shifted('incidents', ['snoozed_until'], { nowMs, backMs }),
        ]
      : []),
    // A recovery finds the alerts of its trouble by its time.
    `UPDATE deliveries SET ${pulled(['created_at', 'finished_at'], nowMs)} WHERE id IN (
       SELECT a.id FROM channels c, LATERAL (
         SELECT d.id FROM deliveries d WHERE d.channel_id = c.id AND d.created_at > ${nowMs} OFFSET 0) a)`,
    `UPDATE channels SET ${pulled(['failing_since'], nowMs)} WHERE failing_since > ${nowMs}`,
    // These are undecided, and so newer than the newest decided one.
    `UPDATE heartbeat_observations o SET at = ${nowMs} + k.position
     FROM (SELECT at, monitor_no, row_number() OVER (PARTITION BY monitor_no ORDER BY at) AS position
       FROM heartbeat_observations WHERE at > ${nowMs}) k
     WHERE o.at = k.at AND o.monitor_no = k.monitor_no`,
    `UPDATE unchecked_times SET ${pulled(['started_at', 'ended_at'], nowMs)}
     WHERE greatest(started_at, ended_at) > ${nowMs}`,
    `UPDATE overload_gaps SET ${pulled(['started_at', 'ended_at'], nowMs)}
     WHERE greatest(started_at, ended_at) > ${nowMs}`,
    // Advisories that were sent too early are sent again when due.
    `DELETE FROM advisories WHERE said_at > ${nowMs}`,
    `DELETE FROM service_gaps WHERE started_at > ${nowMs} AND ended_at IS NOT NULL`,
    `UPDATE service_gaps SET ${pulled(['started_at', 'ended_at'], nowMs)}
     WHERE greatest(started_at, ended_at) > ${nowMs}`,
  ];
}

/** Moves the reference times: the newest of their kinds, deadlines, the end of the roll-ups. */
function pullMarks(nowMs: number): string[] {
  const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  const dueMs = `${nowMs} + 1000::bigint * (interval_seconds + grace_seconds)`;
  const overrunMs = `${nowMs} + 1000::bigint * max_duration_seconds`;
  const nowSeconds = toUnixSeconds(nowMs);
  return [
    `UPDATE service_marks SET ${pulled(['at', 'resumed_at', 'lost_from', 'lost_to'], nowMs)}
     WHERE name NOT IN ('time', 'time agreed', 'time set', 'rollups', '${PACKED_MARK}')
       AND greatest(at, resumed_at, lost_from, lost_to) > ${nowMs}`,
    `UPDATE service_marks SET at = ${hourMs}, resumed_at = ${hourMs}
     WHERE name IN ('rollups', '${PACKED_MARK}') AND at > ${hourMs}`,
    `UPDATE monitor_sources SET look_at = ${nowMs} WHERE look_at > ${nowMs + FURTHEST_RECHECK_MS}`,
    `UPDATE monitor_sources SET given_at = ${nowMs} WHERE given_at > ${nowMs}`,
    `UPDATE agents SET last_seen_at = ${notAfter('last_seen_at', nowSeconds)},
     offline_at = ${notAfter('offline_at', nowMs)}, behind_at = ${notAfter('behind_at', nowMs)}
     WHERE last_seen_at > ${nowSeconds} OR offline_at > ${nowMs} OR behind_at > ${nowMs}`,
    // A deadline must not be later than a ping now would set it.
    `UPDATE heartbeats SET heard_at = ${notAfter('heard_at', nowMs + RECEIVED_ROOM_MS)},
     run_started_at = ${notAfter('run_started_at', nowMs)},
     due_at = CASE WHEN cron IS NULL THEN ${notAfter('due_at', dueMs)} ELSE due_at END,
                           overrun_at = ${notAfter('overrun_at', overrunMs)}, rows_used_up = NULL, bytes_used_up = NULL
     WHERE heard_at > ${nowMs + RECEIVED_ROOM_MS} OR run_started_at > ${nowMs}
       OR (cron IS NULL AND due_at > ${dueMs}) OR overrun_at > ${overrunMs}`,
    // These alerts wait for a result newer than this time.
    `UPDATE parent_holds SET since = ${nowMs} WHERE since > ${nowMs}`,
    `UPDATE certificates SET observed_at = ${nowMs} WHERE observed_at > ${nowMs}`,
    // Answers that a domain is not registered are counted from the first one.
    `UPDATE domains SET ${pulled(['answered_at', 'not_found_since'], nowMs)}
     WHERE greatest(answered_at, not_found_since) > ${nowMs}`,
    `UPDATE rdap_bootstrap SET checked_at = ${nowMs} WHERE checked_at > ${nowMs}`,
    `UPDATE vendor_pages SET fetched_at = ${notAfter('fetched_at', nowMs)}, asked_at = ${notAfter('asked_at', nowMs)}
     WHERE greatest(fetched_at, asked_at) > ${nowMs}`,
  ];
}

/** Makes past maintenance that comes again relevant to alerts again (`current_occurrences`). */
function pullMaintenance(nowMs: number): string[] {
  return [
    `UPDATE maintenance_occurrences SET covered_at = ${nowMs} WHERE covered_at > ${nowMs}`,
    `INSERT INTO current_occurrences (occurrence_no, tenant_id, has_begun, has_ended)
     SELECT no, tenant_id, starts_at <= ${nowMs}, ends_at <= ${nowMs} FROM maintenance_occurrences
     WHERE covered_at IS NOT NULL AND NOT is_skipped AND ends_at > ${nowMs - KEPT_MS} ORDER BY no
     ON CONFLICT (occurrence_no) DO UPDATE SET has_begun = current_occurrences.has_begun AND excluded.has_begun,
       has_ended = current_occurrences.has_ended AND excluded.has_ended`,
    `INSERT INTO current_times (monitor_no, occurrence_no)
     SELECT DISTINCT t.monitor_no, t.occurrence_no FROM current_occurrences c
       JOIN maintenance_times t ON t.occurrence_no = c.occurrence_no WHERE t.ended_at > ${nowMs - KEPT_MS}
     ON CONFLICT DO NOTHING`,
  ];
}

/** Limits access and its traces, such as sessions, invitations and known browsers: none may outlast a new one. */
function pullAccess(nowMs: number): string[] {
  const nowSeconds = toUnixSeconds(nowMs);
  const [reset, invited] = [nowSeconds + BREAK_GLASS_SECONDS, nowSeconds + INVITATION_GOOD_SECONDS];
  const replacedMs = nowMs + PREVIOUS_SECRET_MS;
  return [
    // Users first: who signs in locks theirs before the session.
    `UPDATE users SET password_sign_in_until = ${reset} WHERE password_sign_in_until > ${reset}`,
    `UPDATE sessions SET ${pulled(['created_at', 'last_seen_at'], nowSeconds)}
     WHERE greatest(created_at, last_seen_at) > ${nowSeconds}`,
    `UPDATE sign_in_places SET seen_at = ${nowSeconds} WHERE seen_at > ${nowSeconds}`,
    `UPDATE invitations SET created_at = ${notAfter('created_at', nowSeconds)}, expires_at = ${invited}
     WHERE expires_at > ${invited}`,
    `UPDATE channels SET previous_secret_until = ${replacedMs} WHERE previous_secret_until > ${replacedMs}`,
    `UPDATE connect_codes k SET expires_at = l.expires_at
     FROM channels c, LATERAL (SELECT ${nowSeconds}
       + CASE c.type WHEN 'email' THEN ${CONFIRMATION_SECONDS} ELSE ${CHAT_LINK_SECONDS} END AS expires_at) l
     WHERE c.id = k.channel_id AND k.expires_at > l.expires_at`,
  ];
}

/** Moves the deadlines of schedules as well: none may be later than a ping now would set it. */
async function pullSchedules(run: Run, nowMs: number): Promise<void> {
  for (let afterNo = 0; ;) {
    const rows = await run<ScheduledRow>(
      `SELECT ${SCHEDULED_COLUMNS} FROM heartbeats WHERE cron IS NOT NULL AND monitor_no > $1 AND due_at > $2
       ORDER BY monitor_no LIMIT $3`,
      [afterNo, nowMs, SCHEDULED_CHUNK],
    );
    await moveDeadlines(run, rows, { nowMs, toMs: Math.min });
    afterNo = rows.at(-1)?.monitorNo ?? afterNo;
    if (rows.length < SCHEDULED_CHUNK) return;
  }
}

/** Keeps the distance of planned times from now. */
function shiftPlanned(nowMs: number, backMs: number): string[] {
  const shift = (table: string, columns: readonly string[]) => shifted(table, columns, { nowMs, backMs });
  return [
    `${shift('deliveries', ['next_attempt_at', 'claimed_until'])} AND outcome = 'pending'`,
    // The times that alerts have without a snooze, or until which they were held again.
    `UPDATE held_deliveries h SET held_by = (h.held_by::bigint - ${backMs})::text FROM deliveries d
     WHERE d.id = h.delivery_id AND d.outcome = 'pending' AND h.held_by IS NOT NULL
       AND h.reason IN ${quoteList([...MONITOR_HOLDS, 'snooze'])}`,
    `${shift('drills', ['started_at', 'alerted_at', 'ends_at'])} AND ended_at IS NULL`,
    shift('monthly_drills', ['next_at']),
    'DELETE FROM rate_limits',
    'DELETE FROM delivery_rates',
    shift('set_aside_hours', ['retry_at']),
    shift('summaries', ['due_at']),
    shift('alert_groups', ['opened_at', 'open_until', 'newest_due_at']),
    shift('channels', ['quiet_until']),
    shift('agents', ['held_until']),
    shift('domains', ['next_look_at', 'claimed_until']),
    shift('registry_turns', ['held_until', 'free_at']),
    shift('vendor_pages', ['retry_at', 'claimed_until']),
  ];
}

function shifted(table: string, columns: readonly string[], { nowMs, backMs }: SetBack): string {
  return `UPDATE ${table} SET ${columns.map((column) => `${column} = ${column} - ${backMs}`).join(', ')}
     WHERE greatest(${columns.join(', ')}) > ${nowMs}`;
}

function pulled(columns: readonly string[], nowMs: number): string {
  return columns.map((column) => `${column} = ${notAfter(column, nowMs)}`).join(', ');
}

/** Returns SQL for the earlier of a column and a time, null if the column is; `least` would return the time then. */
function notAfter(column: string, moment: number | string): string {
  return `CASE WHEN ${column} > ${moment} THEN ${moment} ELSE ${column} END`;
}
