import { isOverdue, summarizeOverdue, type ScheduledMonitor } from '../../core/checks/slots.ts';
import { freshnessMs, type Source } from '../../core/incidents/quorum.ts';
import type { Monitor } from '../../core/monitors/monitor.ts';
import { KeptCalls } from '../../core/shared-calls.ts';
import { mergeHistograms, quantileOf, type Histogram } from '../../core/statistics/latency-histogram.ts';
import { cutWindow } from '../../core/statistics/rollup-spans.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { MAY_VOTE } from '../incidents/evaluation.ts';
import { runOn } from '../sql.ts';
import { rolledUntilMs } from '../statistics/rollups.ts';
import { tallySql, type TallyRow } from '../statistics/statistics.ts';
import { LISTED, columnOf, type ListedMonitor } from './monitor-rows.ts';
import type { MeasuredMonitor } from './monitors.ts';

type ValuesOf<Names extends readonly (keyof ListedMonitor)[]> = {
  -readonly [Index in keyof Names]: ListedMonitor[Names[Index]];
};

/**
 * Lists all monitors of a tenant by creation, then id. For thousands at once: reads arrays, which take two thirds of
 * the time of objects.
 */
export async function listAllMonitors({ pool }: Pick<Database, 'pool'>, tenantId: string): Promise<ListedMonitor[]> {
  const { rows } = await pool.query<ValuesOf<typeof LISTED>>({
    text: `SELECT ${LISTED.map(columnOf).join(', ')} FROM monitors WHERE tenant_id = $1 ORDER BY created_at, id`,
    values: [tenantId],
    rowMode: 'array',
  });
  return rows.map(monitorOf);
}

function monitorOf([
  id,
  name,
  type,
  target,
  intervalSeconds,
  timeoutMs,
  method,
  expectedStatus,
  bodyMatch,
  followRedirects,
  downAfterFailures,
  upAfterSuccesses,
  downMinSources,
  heartbeatGraceSeconds,
  slaTarget,
  sla,
  reopenSeconds,
  monthlyDrill,
  tags,
  state,
  enabled,
  stateSinceMs,
  createdAt,
  updatedAt,
]: ValuesOf<typeof LISTED>): ListedMonitor {
  return {
    id,
    name,
    type,
    target,
    intervalSeconds,
    timeoutMs,
    method,
    expectedStatus,
    bodyMatch,
    followRedirects,
    downAfterFailures,
    upAfterSuccesses,
    downMinSources,
    heartbeatGraceSeconds,
    slaTarget,
    sla,
    reopenSeconds,
    monthlyDrill,
    tags,
    state,
    enabled,
    stateSinceMs,
    createdAt,
    updatedAt,
  };
}

/** Lists the monitors of a tenant, or those of `ids` among them, with the fields for statistics and their checks. */
export async function listMeasuredMonitors(
  database: Pick<Database, 'pool'>,
  tenantId: string,
  ids: readonly string[] | null = null,
): Promise<(MeasuredMonitor & ScheduledMonitor)[]> {
  return await runOn(database.pool)(
    `SELECT no, id, type, target, enabled, interval_seconds AS "intervalSeconds", sla_target AS "slaTarget", sla,
       created_at AS "createdAt", updated_at AS "updatedAt"
     FROM monitors WHERE tenant_id = $1 ${ids === null ? '' : 'AND id = ANY($2::text[])'}`,
    ids === null ? [tenantId] : [tenantId, ids],
  );
}

/** Time for which last checks are read: an interval is at most a day, so an older check is overdue in any case. */
const LAST_CHECK_MS = freshnessMs(DAY_MS / 1000);

/**
 * Returns when each of these monitors was last checked, or its heartbeat pinged, in Unix milliseconds by number.
 * Monitors without one within three days are absent. One index lookup for each source and day.
 */
export async function readLastChecks(
  database: Pick<Database, 'pool'>,
  { monitorNos, nowMs }: { monitorNos: readonly number[]; nowMs: number },
): Promise<Map<number, number>> {
  const rows = await runOn(database.pool)<{ monitorNo: number; atMs: number }>(
    `SELECT s.monitor_no AS "monitorNo", max(least(r.due_at, $3::bigint)) AS "atMs"
     FROM monitor_sources s, newest_result(s.monitor_no, s.agent_no, $2, $3) r
     WHERE s.monitor_no = ANY($1::int[]) AND NOT EXISTS (SELECT FROM heartbeats h WHERE h.monitor_no = s.monitor_no)
     GROUP BY s.monitor_no
     UNION ALL
     SELECT monitor_no, heard_at FROM heartbeats
     WHERE monitor_no = ANY($1::int[]) AND last_signal IS NOT NULL AND heard_at >= $2`,
    [monitorNos, nowMs - LAST_CHECK_MS, nowMs],
  );
  return new Map(rows.map(({ monitorNo, atMs }) => [monitorNo, atMs]));
}

/**
 * Last checks of an account's monitors in Unix milliseconds, and the overdue monitors, both by id. `noChecksSinceMs` is
 * that of `summarizeOverdue`.
 */
export type AccountChecks = {
  lastChecks: ReadonlyMap<string, number>;
  overdue: ReadonlySet<string>;
  noChecksSinceMs: number | null;
};

/**
 * Time that an account's checks are cached, in milliseconds: the first for each monitor, but at least the second.
 * Reading them thus takes a fiftieth of a core.
 */
const CHECKS_KEPT_MS_A_MONITOR = 3;
const LEAST_KEPT_MS = 5000;

/** Maximum number of accounts with cached checks. */
const MAX_ACCOUNTS = 200;

/**
 * Makes the cache that reads the last checks of all monitors of an account with two statements, for any number of
 * screens.
 */
export function keepAccountChecks({
  database,
  now,
}: {
  database: Pick<Database, 'pool'>;
  now: () => number;
}): KeptCalls<AccountChecks> {
  const read = async (tenantId: string) => {
    const nowMs = now();
    const monitors = await listMeasuredMonitors(database, tenantId);
    const byNo = await readLastChecks(database, { monitorNos: monitors.map(({ no }) => no), nowMs });
    const checked = monitors.map((monitor) => ({ ...monitor, lastCheckAtMs: byNo.get(monitor.no) }));
    return {
      result: {
        lastChecks: new Map(
          checked.flatMap(({ id, lastCheckAtMs }) => (lastCheckAtMs === undefined ? [] : [[id, lastCheckAtMs]])),
        ),
        overdue: new Set(
          checked.filter((monitor) => isOverdue(monitor, monitor.lastCheckAtMs, nowMs)).map(({ id }) => id),
        ),
        noChecksSinceMs: summarizeOverdue(checked, nowMs).noChecksSinceMs,
      },
      keptMs: Math.max(LEAST_KEPT_MS, monitors.length * CHECKS_KEPT_MS_A_MONITOR),
    };
  };
  return new KeptCalls(read, { now, most: MAX_ACCOUNTS });
}

/**
 * Counts the alerts that a tenant's channels were sent, or are to be sent, since a time; excludes reports, tests and
 * drills.
 */
export async function countAlerts(
  database: Pick<Database, 'pool'>,
  { tenantId, sinceMs }: { tenantId: string; sinceMs: number },
): Promise<number> {
  const [row] = await runOn(database.pool)<{ count: number }>(
    {
      name: 'count-alerts',
      text: `SELECT count(*) FROM channels c
             JOIN deliveries d ON d.channel_id = c.id AND d.created_at >= $2 AND d.outcome <> 'superseded'
               AND split_part(d.event, '.', 1) IN ('monitor', 'agent', 'advisory', 'summary')
               AND (d.monitor_id IS NULL OR d.monitor_id NOT LIKE 'drl\\_%')
             WHERE c.tenant_id = $1`,
    },
    [tenantId, sinceMs],
  );
  return row?.count ?? 0;
}

type HourRow = { monitor_no: number; at: number } & Pick<TallyRow, 'buckets' | 'counts'>;

/** Median response times in milliseconds, of each hour, the oldest first, and of all together; null = none measured. */
type Latencies = { hourly: (number | null)[]; median: number | null };

/**
 * Returns the median response times of the last `hours` whole hours, including that of `nowMs`, by the monitors'
 * numbers; all sources together. Hours that are not rolled up yet are computed from single results.
 */
export async function readHourlyLatencies(
  database: Pick<Database, 'pool'>,
  { monitorNos, hours, nowMs }: { monitorNos: readonly number[]; hours: number; nowMs: number },
): Promise<Map<number, Latencies>> {
  const run = runOn(database.pool);
  const fromMs = (Math.floor(nowMs / HOUR_MS) + 1 - hours) * HOUR_MS;
  const spans = cutWindow(
    { fromMs, toMs: fromMs + hours * HOUR_MS },
    { rolledUntilMs: await rolledUntilMs(run), coarsest: 'hour' },
  );
  const { sql, bind } = tallySql(
    { raw: spans.raw, hours: [], days: [] },
    { monitorNos, keys: { monitor_no: 'monitor_no', at: `at / ${HOUR_MS}::bigint * ${HOUR_MS}::bigint` } },
  );
  const [rolled, single] = await Promise.all([
    Promise.all(
      spans.hours.map((span) =>
        run<HourRow>(
          'SELECT monitor_no, at, buckets, counts FROM hourly_rollups WHERE monitor_no = ANY($1::int[]) AND at ' +
            '>= $2 AND at < $3',
          [monitorNos, span.fromMs, span.toMs],
        ),
      ),
    ),
    sql === null ? [] : run<HourRow>(sql, bind),
  ]);
  const byMonitor = Map.groupBy([...rolled.flat(), ...single], (row) => row.monitor_no);
  return new Map(
    monitorNos.map((no) => {
      const ofMonitor = byMonitor.get(no) ?? [];
      const byHour = Map.groupBy(ofMonitor, ({ at }) => (at - fromMs) / HOUR_MS);
      const medianOf = (rowsOfHours: readonly HourRow[]) =>
        quantileOf(mergeHistograms(rowsOfHours.flatMap(histogramsOf)), 0.5);
      return [
        no,
        {
          hourly: Array.from({ length: hours }, (_, hour) => medianOf(byHour.get(hour) ?? [])),
          median: medianOf(ofMonitor),
        },
      ];
    }),
  );
}

function histogramsOf({ buckets, counts }: HourRow): Histogram[] {
  return buckets === null || counts === null ? [] : [{ buckets, counts }];
}

/** An agent as a location of one monitor; `lastSeenAt` is in Unix seconds, null before its first check-in. */
type MonitorLocation = Source & { id: string; region: string | null; lastSeenAt: number | null };

/**
 * Lists the locations of a monitor by id, with the data that decides whether they count. Nothing is locked: their
 * status is reported, not decided. `newestAtMs` is null if the newest result is too old to count.
 */
export async function listMonitorLocations(
  { pool }: Pick<Database, 'pool'>,
  { no, intervalSeconds }: Pick<Monitor, 'no' | 'intervalSeconds'>,
  nowMs: number,
): Promise<MonitorLocation[]> {
  return await runOn(pool)<MonitorLocation>(
    `SELECT a.id, a.no AS "agentNo", a.name, a.region, a.last_seen_at AS "lastSeenAt",
            ${MAY_VOTE} AS online, s.state,
            (SELECT n.due_at FROM newest_result(s.monitor_no, s.agent_no, $2, $3) n) AS "newestAtMs"
     FROM monitor_sources s JOIN agents a ON a.no = s.agent_no
     WHERE s.monitor_no = $1 AND a.kind <> 'service' ORDER BY a.id`,
    [no, nowMs - freshnessMs(intervalSeconds), nowMs],
  );
}
