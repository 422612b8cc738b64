import { LONGEST_SETTLE_SECONDS, type AlertMaintenance, type WindowSettings } from '../../core/maintenance/window.ts';
import type { Stretch } from '../../core/statistics/sla.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';

/**
 * A time range of a monitor's maintenance, from one occurrence of a window, in Unix milliseconds. `isExcluded`: it is
 * excluded from uptime and SLA; `retroactive` are the parts that were past when they were entered.
 */
export type MaintenanceTime = Stretch & {
  windowId: string;
  windowName: string;
  isExcluded: boolean;
  retroactive: readonly Stretch[];
};

/** Maintenance excluded from a monitor's uptime, in order without overlaps; `retroactive` was entered afterwards. */
type ExcludedTimes = { excluded: readonly Stretch[]; retroactive: readonly Stretch[] };

/** The current maintenance of a monitor in responses; `ends_at` is in Unix seconds. */
export type CurrentMaintenance = { window_id: string; ends_at: number };

type TimesRead = { monitorNos: readonly number[]; fromMs: number; toMs: number };

type TimeRow = Omit<MaintenanceTime, 'retroactive'> & { monitorNo: number; late: [number, number][] | null };

/** Counts a monitor's maintenance times that overlap the window `[fromMs, toMs)`, up to `most`. */
export async function countMaintenanceTimes(
  database: Pick<Database, 'pool'>,
  { monitorNo, fromMs, toMs, most }: { monitorNo: number; fromMs: number; toMs: number; most: number },
): Promise<number> {
  const [row] = await runOn(database.pool)<{ count: number }>(
    {
      name: 'count-maintenance-times',
      text: `SELECT count(*) FROM (
               SELECT FROM maintenance_times
               WHERE monitor_no = $1 AND started_at < $3 AND ended_at > $2 LIMIT $4) AS one`,
    },
    [monitorNo, fromMs, toMs, most],
  );
  return row?.count ?? 0;
}

/**
 * Returns the maintenance of these monitors that overlaps the window `[fromMs, toMs)`, in full, in order. Of more than
 * `most` times the newest are returned; monitors without any have no entry. One index lookup for each monitor.
 */
export async function readMaintenanceTimes(
  database: Pick<Database, 'pool'>,
  { monitorNos, fromMs, toMs, most }: TimesRead & { most: number },
): Promise<Map<number, MaintenanceTime[]>> {
  const rows = await runOn(database.pool)<TimeRow>(
    {
      name: 'read-maintenance-times',
      text: `SELECT t.monitor_no AS "monitorNo", t.started_at AS "startMs", t.ended_at AS "endMs",
               o.window_id AS "windowId", o.window_name AS "windowName", o.sla = 'exclude' AS "isExcluded",
               (SELECT json_agg(json_build_array(lower(r), upper(r))) FROM unnest(o.retroactive) AS r) AS late
             FROM maintenance_times t JOIN maintenance_occurrences o ON o.no = t.occurrence_no
             WHERE t.monitor_no = ANY($1::int[]) AND t.started_at < $3 AND t.ended_at > $2 AND NOT o.is_skipped
             ORDER BY t.monitor_no DESC, t.started_at DESC, o.no DESC LIMIT $4`,
    },
    [monitorNos, fromMs, toMs, most],
  );
  const times = rows.toReversed().map(({ late, ...time }) => ({
    ...time,
    retroactive: (late ?? []).map(([startMs, endMs]) => ({ startMs, endMs })),
  }));
  return Map.groupBy(times, ({ monitorNo }) => monitorNo);
}

/** Maximum number of maintenance times of several monitors that are read at once. */
const MAX_TIMES = 100_000;

/**
 * Returns the maintenance excluded from these monitors' uptime that overlaps the window `[fromMs, toMs)`, merged by the
 * database. Monitors without any have no entry. Null if several monitors have 100,000 times or more: read fewer of them
 * then.
 */
export async function readExcludedTimes(
  database: Pick<Database, 'pool'>,
  { monitorNos, fromMs, toMs }: TimesRead,
): Promise<Map<number, ExcludedTimes> | null> {
  const most = monitorNos.length === 1 ? null : MAX_TIMES;
  const rows = await runOn(database.pool)<ExcludedTimes & { monitorNo: number; count: number }>(
    {
      name: 'read-excluded-times',
      text: `WITH times AS MATERIALIZED (
               SELECT t.monitor_no, int8range(t.started_at, t.ended_at) AS time, o.retroactive
               FROM maintenance_times t JOIN maintenance_occurrences o ON o.no = t.occurrence_no
               WHERE t.monitor_no = ANY($1::int[]) AND t.started_at < $3 AND t.ended_at > $2
                 AND t.ended_at > t.started_at AND NOT o.is_skipped AND o.sla = 'exclude'
               LIMIT $4
             ), merged AS (
               SELECT monitor_no, count(*) AS count, range_agg(time) AS times FROM times GROUP BY monitor_no
             ), late AS (
               SELECT monitor_no, range_agg(time * r) AS times FROM times, unnest(retroactive) AS r GROUP BY monitor_no
             )
             SELECT m.monitor_no AS "monitorNo", m.count, ${stretchesOf('m.times')} AS excluded,
               ${stretchesOf('l.times')} AS retroactive
             FROM merged m LEFT JOIN late l USING (monitor_no)`,
    },
    [monitorNos, fromMs, toMs, most],
  );
  if (most !== null && rows.reduce((sum, { count }) => sum + count, 0) >= most) return null;
  return new Map(rows.map(({ monitorNo, excluded, retroactive }) => [monitorNo, { excluded, retroactive }]));
}

/** SQL: the ranges of a multirange, in order. */
function stretchesOf(ranges: string): string {
  return `coalesce((SELECT json_agg(json_build_object('startMs', lower(r), 'endMs', upper(r)))
                 FROM unnest(${ranges}) AS r), '[]')`;
}

/** Number of parts into which monitors with too much maintenance are split; halves would need more reads. */
const PARTS = 8;

/** Measures monitors in order, each with the maintenance excluded from its uptime. */
export async function measureWithMaintenance<Monitor extends { no: number }, Measured>(
  database: Pick<Database, 'pool'>,
  { monitors, fromMs, toMs }: { monitors: readonly Monitor[]; fromMs: number; toMs: number },
  measure: (monitor: Monitor, times: ExcludedTimes) => Measured | Promise<Measured>,
): Promise<Measured[]> {
  const times = await readExcludedTimes(database, { monitorNos: monitors.map(({ no }) => no), fromMs, toMs });
  const measured: Measured[] = [];
  if (times !== null) {
    for (const monitor of monitors)
      measured.push(await measure(monitor, times.get(monitor.no) ?? { excluded: [], retroactive: [] }));
    return measured;
  }
  const size = Math.ceil(monitors.length / PARTS);
  for (let first = 0; first < monitors.length; first += size) {
    const part = { monitors: monitors.slice(first, first + size), fromMs, toMs };
    measured.push(...(await measureWithMaintenance(database, part, measure)));
  }
  return measured;
}

/**
 * Returns the maintenance to consider for alerts of these monitors at a time, by the monitors' numbers. For each kind
 * of `alerts` it is the one that holds longest.
 */
export async function listAlertMaintenance(
  run: Run,
  { monitorNos, nowMs }: { monitorNos: readonly number[]; nowMs: number },
): Promise<Map<number, AlertMaintenance[]>> {
  if (monitorNos.length === 0) return new Map();
  const rows = await run<AlertMaintenance & { monitorNo: number }>(
    {
      name: 'list-alert-maintenance',
      // Of several windows of one kind only the one that holds longest matters.
      text: `SELECT DISTINCT ON (t.monitor_no, o.alerts) t.monitor_no AS "monitorNo", o.no AS "occurrenceNo",
               o.window_id AS "windowId", o.window_name AS "windowName", o.alerts, t.ended_at AS "endsAtMs",
               t.ended_at + o.settle_seconds * 1000 AS "untilMs"
             FROM current_times c
             JOIN maintenance_times t ON t.monitor_no = c.monitor_no AND t.occurrence_no = c.occurrence_no
             JOIN maintenance_occurrences o ON o.no = c.occurrence_no
             WHERE c.monitor_no = ANY($1::int[]) AND NOT o.is_skipped AND t.started_at <= $2
               AND t.ended_at > t.started_at
               AND t.ended_at + o.settle_seconds * 1000 > $2
             ORDER BY t.monitor_no, o.alerts, t.ended_at + o.settle_seconds * 1000 DESC, o.no`,
    },
    [monitorNos, nowMs],
  );
  return Map.groupBy(rows, ({ monitorNo }) => monitorNo);
}

/** Selects all monitors of a tenant, or the given ones. */
type Selection = { tenantId: string } | { monitorIds: readonly string[] };

/** Returns the current maintenance of monitors that ends last, by id, in the form of responses. */
export async function readCurrentMaintenance(
  database: Pick<Database, 'pool'>,
  { nowMs, ...selection }: Selection & { nowMs: number },
): Promise<Map<string, CurrentMaintenance>> {
  const isOfTenant = 'tenantId' in selection;
  const rows = await runOn(database.pool)<CurrentMaintenance & { id: string }>(
    {
      name: `read-maintenance-of-${isOfTenant ? 'tenant' : 'monitors'}`,
      text: `SELECT DISTINCT ON (m.id) m.id, o.window_id, t.ended_at / 1000 AS ends_at
             FROM ${
               isOfTenant
                 ? 'current_occurrences c JOIN maintenance_times t ON t.occurrence_no = c.occurrence_no'
                 : `monitors n JOIN current_times c ON c.monitor_no = n.no
             JOIN maintenance_times t ON t.monitor_no = c.monitor_no AND t.occurrence_no = c.occurrence_no`
             }
             JOIN maintenance_occurrences o ON o.no = c.occurrence_no JOIN monitors m ON m.no = t.monitor_no
             WHERE ${isOfTenant ? 'c.tenant_id = $1' : 'n.id = ANY($1::text[])'}
               AND t.started_at <= $2 AND t.ended_at > $2 AND NOT o.is_skipped
             ORDER BY m.id, t.ended_at DESC`,
    },
    ['tenantId' in selection ? selection.tenantId : selection.monitorIds, nowMs],
  );
  return new Map(rows.map(({ id, ...maintenance }) => [id, maintenance]));
}

/** Time before the start of occurrences at which they are covered, in milliseconds. */
const AHEAD_MS = 15 * 60_000;

/** Time that occurrences stay current after their end, in milliseconds: the longest that an alert waits. */
export const KEPT_MS = LONGEST_SETTLE_SECONDS * 1000;

/** Number of occurrences covered in one transaction: each has up to all monitors of its account. */
export const COVERED_AT_ONCE = 50;

/** SQL: occurrences that begin soon, or were never covered because the service was away, the earliest first. */
const uncovered = (condition: string) => `SELECT o.* FROM maintenance_occurrences o
       WHERE o.covered_at IS NULL AND NOT o.is_skipped AND o.starts_at < $1::bigint + ${AHEAD_MS} AND ${condition}
       ORDER BY o.starts_at, o.no LIMIT ${COVERED_AT_ONCE}`;

/** SQL: covered occurrences that are not over. */
const inProgress = (condition: string) => `SELECT o.* FROM current_occurrences c, LATERAL (
         SELECT * FROM maintenance_occurrences WHERE no = c.occurrence_no OFFSET 0) o
       WHERE o.covered_at IS NOT NULL AND NOT o.is_skipped AND o.ends_at > $1 AND ${condition}`;

/** Numbers of monitors that were added to maintenance, and whose maintenance was ended. */
export type Covered = { added: number; ended: number };

/**
 * Covers the occurrences of a window that are in progress or begin within a quarter of an hour. Run it in a
 * transaction.
 */
export async function coverWindow(run: Run, windowId: string, nowMs: number): Promise<Covered> {
  const ofWindow = 'o.window_id = $2';
  return await cover(run, `(${uncovered(ofWindow)}) UNION ALL ${inProgress(ofWindow)}`, [nowMs, windowId]);
}

/** Covers up to 50 due occurrences of any windows. Run it in a transaction, again while `occurrences` is 50. */
export async function coverNext(run: Run, nowMs: number): Promise<Covered & { occurrences: number }> {
  return await cover(run, uncovered('true'), [nowMs]);
}

/**
 * Updates the monitors of up to 50 occurrences in progress, those after `afterNo` by number. `lastNo` is the last of
 * them, null if there are none. Run it in a transaction.
 */
export async function coverInProgress(
  run: Run,
  { afterNo, nowMs }: { afterNo: number; nowMs: number },
): Promise<Covered & { lastNo: number | null }> {
  const next = `c.occurrence_no > $2 ORDER BY c.occurrence_no LIMIT ${COVERED_AT_ONCE}`;
  return await cover(run, inProgress(next), [nowMs, afterNo]);
}

/**
 * Writes the times of monitors in maintenance, for the `occurrences` that a query selects; its first value is now. A
 * monitor that was added to a window in progress, or got its tag then, is covered from now on; one that lost its tag,
 * until now. The work is proportional to the selection: the planner would prefer to read whole tables where it
 * overestimates (`OFFSET 0` prevents that).
 * 1. Locks the occurrences, and reads them again in case they changed while waiting: another end, or a skip.
 * 2. `wanted`: the monitors of each, found by the way in which the window selects them.
 * 3. `present`: the stored ones. Adds those wanted but not present, unless deleted meanwhile; ends those present but
 *    not wanted now.
 * 4. Marks new ones as covered; they are current until no alert waits for them.
 */
async function cover(
  run: Run,
  occurrences: string,
  values: readonly [nowMs: number, ...unknown[]],
): Promise<Covered & { occurrences: number; lastNo: number | null }> {
  // Because of its overestimated cost the statement would be compiled, which takes longer than running it.
  await run(`SELECT set_config('jit', 'off', true)`);
  const selected = await run<{ no: number }>(`SELECT q.no FROM (${occurrences}) q ORDER BY q.no`, values);
  const nos = selected.map(({ no }) => no);
  await run('SELECT FROM maintenance_occurrences WHERE no = ANY($1::bigint[]) ORDER BY no FOR NO KEY UPDATE', [nos]);
  const [counted] = await run<Covered>(
    `WITH occurrences AS MATERIALIZED (
       SELECT * FROM maintenance_occurrences WHERE no = ANY($2::bigint[]) AND NOT is_skipped
         AND (covered_at IS NULL OR ends_at > $1)
     ), wanted AS MATERIALIZED (
       SELECT o.no AS occurrence_no, m.no AS monitor_no FROM occurrences o, LATERAL (
         SELECT no FROM monitors WHERE tenant_id = o.tenant_id OFFSET 0) m WHERE o.all_monitors
       UNION
       SELECT o.no, m.no FROM occurrences o, unnest(o.monitor_ids) AS i (id), LATERAL (
         SELECT no FROM monitors WHERE id = i.id AND tenant_id = o.tenant_id OFFSET 0) m WHERE NOT o.all_monitors
       UNION
       SELECT o.no, m.no FROM occurrences o, LATERAL (
         SELECT no FROM monitors WHERE tenant_id = o.tenant_id AND tags && o.tags OFFSET 0) m
         WHERE o.tags <> '{}' AND NOT o.all_monitors
     ), present AS MATERIALIZED (
       SELECT t.monitor_no, t.occurrence_no, t.started_at FROM occurrences o, LATERAL (
         SELECT * FROM maintenance_times WHERE occurrence_no = o.no AND ended_at > $1 OFFSET 0) t
     ), lacking AS MATERIALIZED (
       SELECT w.* FROM wanted w WHERE NOT EXISTS (
         SELECT FROM present p WHERE p.monitor_no = w.monitor_no AND p.occurrence_no = w.occurrence_no)
     ), kept AS MATERIALIZED (
       SELECT k.no FROM (SELECT DISTINCT monitor_no FROM lacking ORDER BY monitor_no) l, LATERAL (
         SELECT no FROM monitors WHERE no = l.monitor_no FOR KEY SHARE) k
     ), added AS (
       INSERT INTO maintenance_times (monitor_no, occurrence_no, started_at, ended_at)
       SELECT l.monitor_no, o.no, CASE WHEN o.covered_at IS NULL THEN o.starts_at ELSE greatest(o.starts_at, $1) END,
         o.ends_at
       FROM lacking l JOIN kept k ON k.no = l.monitor_no JOIN occurrences o ON o.no = l.occurrence_no
       ON CONFLICT DO NOTHING RETURNING monitor_no, occurrence_no, ended_at
     ), unwanted AS MATERIALIZED (
       SELECT p.* FROM present p WHERE NOT EXISTS (
         SELECT FROM wanted w WHERE w.monitor_no = p.monitor_no AND w.occurrence_no = p.occurrence_no)
     ), unbegun AS (
       DELETE FROM maintenance_times t USING unwanted u
       WHERE (t.monitor_no, t.occurrence_no, t.started_at) = (u.monitor_no, u.occurrence_no, u.started_at)
         AND u.started_at > $1
     ), ended AS (
       UPDATE maintenance_times t SET ended_at = $1 FROM unwanted u
       WHERE (t.monitor_no, t.occurrence_no, t.started_at) = (u.monitor_no, u.occurrence_no, u.started_at)
         AND u.started_at <= $1
       RETURNING 1
     ), covered AS (
       UPDATE maintenance_occurrences m SET covered_at = $1 FROM occurrences o
       WHERE m.no = o.no AND o.covered_at IS NULL
     ), current AS (
       INSERT INTO current_occurrences (occurrence_no, tenant_id, has_begun, has_ended)
       SELECT o.no, o.tenant_id, o.starts_at <= $1, o.ends_at <= $1 FROM occurrences o
       WHERE o.covered_at IS NULL AND o.ends_at > $1::bigint - ${KEPT_MS} ON CONFLICT DO NOTHING
     ), found AS (
       INSERT INTO current_times (monitor_no, occurrence_no)
       SELECT monitor_no, occurrence_no FROM added WHERE ended_at > $1::bigint - ${KEPT_MS} ON CONFLICT DO NOTHING
     )
     SELECT (SELECT count(*) FROM added) AS added, (SELECT count(*) FROM ended) AS ended`,
    [values[0], nos],
  );
  return { added: 0, ended: 0, ...counted, occurrences: nos.length, lastNo: nos.at(-1) ?? null };
}

/** Number of occurrences announced in one statement. */
export const ANNOUNCED_AT_ONCE = 1000;

/**
 * Announces up to 1000 occurrences that have begun or ended to the streams of their accounts, each once; returns their
 * number. Deletes those that ended long enough ago. Concurrent processes take different ones.
 */
export async function announceOccurrences(database: Pick<Database, 'pool'>, nowMs: number): Promise<number> {
  const [counted] = await runOn(database.pool)<{ handled: number }>(
    `WITH due AS MATERIALIZED (
       SELECT c.occurrence_no AS no, c.tenant_id, o.window_id, o.ends_at,
         (NOT c.has_begun AND o.starts_at <= $1::bigint) OR (NOT c.has_ended AND o.ends_at <= $1) AS is_news
       FROM current_occurrences c JOIN maintenance_occurrences o ON o.no = c.occurrence_no
       WHERE (NOT c.has_begun AND o.starts_at <= $1) OR (NOT c.has_ended AND o.ends_at <= $1)
         OR o.ends_at <= $1 - ${KEPT_MS}
       LIMIT ${ANNOUNCED_AT_ONCE} FOR UPDATE OF c SKIP LOCKED
     ), known AS (
       UPDATE current_occurrences c SET has_begun = true, has_ended = d.ends_at <= $1
       FROM due d WHERE c.occurrence_no = d.no AND d.ends_at > $1 - ${KEPT_MS}
     ), over AS (
       DELETE FROM current_occurrences c USING due d WHERE c.occurrence_no = d.no AND d.ends_at <= $1 - ${KEPT_MS}
     )
     SELECT count(*) AS handled, count(CASE WHEN is_news THEN
         pg_notify('spotcheck_changes', tenant_id || ' maintenance ' || window_id) END) AS announced
     FROM due`,
    [nowMs],
  );
  return counted?.handled ?? 0;
}

/** Number of monitors that a preview names. */
const NAMED = 100;

/** Maximum number of deliveries among which a preview counts alerts. */
const COUNTED = 100_000;

/**
 * Returns the monitors that a window would cover, the first 100 by name. Also counts the alerts to chats that were
 * created within the given spans (Unix milliseconds), which are in order and equally long, since a given time. Reads at
 * most 100,000 deliveries for that.
 */
export async function previewMonitors(
  database: Database,
  window: Pick<WindowSettings, 'allMonitors' | 'monitorIds' | 'tags'> & {
    tenantId: string;
    spans: readonly { startMs: number; endMs: number }[];
    sinceMs: number;
  },
): Promise<{ monitors: { id: string; name: string }[]; total: number; heldAlerts: number }> {
  const run = runOn(database.pool);
  const covered = 'm.tenant_id = $1 AND ($2 OR m.id = ANY($3::text[]) OR m.tags && $4::text[])';
  const bind = [window.tenantId, window.allMonitors, window.monitorIds, window.tags];
  const monitors = await run<{ id: string; name: string; total: number }>(
    `SELECT m.id, m.name, count(*) OVER () AS total FROM monitors m WHERE ${covered}
     ORDER BY m.name, m.id LIMIT ${NAMED}`,
    bind,
  );
  const [alerts] = await run<{ count: number }>(
    `SELECT count(*) FROM (
       SELECT d.channel_id, d.event, d.created_at
       FROM monitors m JOIN deliveries d ON d.monitor_id = m.id AND d.created_at >= $7
       WHERE ${covered} LIMIT ${COUNTED}) d
     JOIN channels c ON c.id = d.channel_id AND c.type <> 'webhook'
     WHERE d.event IN ('monitor.down', 'monitor.degraded')
       AND d.created_at < ($6::bigint[])[width_bucket(d.created_at, $5::bigint[])]`,
    [...bind, window.spans.map(({ startMs }) => startMs), window.spans.map(({ endMs }) => endMs), window.sinceMs],
  );
  return {
    monitors: monitors.map(({ id, name }) => ({ id, name })),
    total: monitors[0]?.total ?? 0,
    heldAlerts: alerts?.count ?? 0,
  };
}
