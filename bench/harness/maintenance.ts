import { DAY_MS } from '../../core/time.ts';
import type { Database } from '../../models/database.ts';
import { runOn } from '../../models/sql.ts';
import { monitorId } from './monitors.ts';

/** Days of past occurrences, in addition to the sixty that are planned ahead. */
const PAST_DAYS = 30;
const AHEAD_DAYS = 60;

/** Most windows of an account; the accounts are those of `spreadOverAccounts`. */
const WINDOWS_OF_ACCOUNT = 500;

/**
 * Writes daily windows of an hour, spread over the day, each for its share of the monitors. It also writes the
 * occurrences and times that a month of service would have left. Returns the numbers of rows.
 */
export async function fillWithMaintenance(
  database: Database,
  { accounts, windows, monitors }: { accounts: number; windows: number; monitors: number },
): Promise<{ windows: number; occurrences: number; times: number; inProgress: number }> {
  const run = runOn(database.pool);
  const share = Math.floor(monitors / windows);
  const ofAccount = Math.ceil(windows / accounts);
  if (ofAccount > WINDOWS_OF_ACCOUNT) throw new Error('An account has at most 500 windows');
  const nowMs = Date.now();
  const dayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  await run(
    `INSERT INTO maintenance_windows (id, tenant_id, name, description, all_monitors, monitor_ids, tags, timezone,
       starts_at, duration_seconds, cron, alerts, sla, settle_seconds, planned_until, has_more, created_at, updated_at)
     SELECT 'mnt_' || i, 'ten_bench' || i / $2::int, 'Backups', '', false,
       ARRAY(SELECT 'mon_' || lpad((1 + i * $3::int + n)::text, 26, '0') FROM generate_series(0, $3::int - 1) AS n),
       '{}', 'UTC', $4::bigint / 1000 + i * 86400 / $1::int, 3600, '0 3 * * *', 'hold', 'exclude', 300,
       $4::bigint + $5::bigint, true, 0, 0
     FROM generate_series(0, $1::int - 1) AS i`,
    [windows, ofAccount, share, dayMs, AHEAD_DAYS * DAY_MS],
  );
  // One day per statement, as the service would write them: a single statement would be too large.
  for (let day = -PAST_DAYS; day < AHEAD_DAYS; day += 1) {
    await run(
      `INSERT INTO maintenance_occurrences (window_id, tenant_id, window_name, local_start, starts_at, ends_at,
         all_monitors, monitor_ids, tags, alerts, sla, settle_seconds, covered_at)
       SELECT w.id, w.tenant_id, w.name, '2026-12-01T03:00', s.at, s.at + 3600000, false, w.monitor_ids, '{}', 'hold',
         'exclude', 300, CASE WHEN s.at < $2 THEN s.at END
       FROM maintenance_windows w, LATERAL (SELECT (w.starts_at + $1::bigint * 86400) * 1000 AS at) s`,
      [day, nowMs],
    );
    if (day <= 0)
      await run(
        `INSERT INTO maintenance_times (monitor_no, occurrence_no, started_at, ended_at)
         SELECT m.no, o.no, o.starts_at, o.ends_at FROM maintenance_occurrences o, unnest(o.monitor_ids) AS i (id)
           JOIN monitors m ON m.id = i.id
         WHERE o.covered_at IS NOT NULL AND o.starts_at >= $1::bigint AND o.starts_at < $1::bigint + $2::bigint`,
        [dayMs + day * DAY_MS, DAY_MS],
      );
  }
  await run(
    `INSERT INTO current_occurrences (occurrence_no, tenant_id, has_begun, has_ended)
     SELECT no, tenant_id, true, ends_at <= $1 FROM maintenance_occurrences
     WHERE covered_at IS NOT NULL AND ends_at > $1::bigint - 3600000`,
    [nowMs],
  );
  await run(
    `INSERT INTO current_times SELECT t.monitor_no, t.occurrence_no
     FROM current_occurrences c JOIN maintenance_times t ON t.occurrence_no = c.occurrence_no`,
    [],
  );
  await run('ANALYZE');
  const [made] = await run<{ windows: number; occurrences: number; times: number; inProgress: number }>(
    `SELECT (SELECT count(*) FROM maintenance_windows) AS windows,
       (SELECT count(*) FROM maintenance_occurrences) AS occurrences, (SELECT count(*) FROM maintenance_times) AS times,
       (SELECT count(*) FROM current_occurrences WHERE NOT has_ended) AS "inProgress"`,
  );
  if (made === undefined || (await run('SELECT FROM monitors WHERE id = $1', [monitorId(monitors)])).length === 0)
    throw new Error('The monitors of the windows are not there');
  return made;
}
