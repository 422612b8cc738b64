import type { MonitorType } from '../../core/monitors/monitor.ts';
import { NO_LATENCIES } from '../../core/statistics/latency-histogram.ts';
import {
  MAX_INCIDENTS,
  NO_INCIDENTS,
  buildReport,
  longestIncidents,
  reportMonitor,
  reportedPeriod,
  type IncidentFigures,
  type MonitorFacts,
  type MonitorReport,
  type Reported,
} from '../../core/statistics/reports/build.ts';
import type { ReportContent, ReportDetails, ReportIncident } from '../../core/statistics/reports/content.ts';
import { dayEdges, type ReportWindow } from '../../core/statistics/reports/periods.ts';
import type { ServiceSla } from '../../core/statistics/service-hours.ts';
import { ServiceCalendar, measureService, type CountedHours } from '../../core/statistics/service-sla.ts';
import type { StateSeconds } from '../../core/statistics/sla.ts';
import type { Database } from '../database.ts';
import { countChanges, readStateHistories } from '../incidents/transitions.ts';
import { measureWithMaintenance, readExcludedTimes } from '../maintenance/maintenance-times.ts';
import { runOn, type Run } from '../sql.ts';
import { listOverloadGaps, listServiceGaps } from './service-gaps.ts';
import { sumTallies, type Tally } from './statistics.ts';

/**
 * Number of monitors whose facts are in memory at a time, and the maximum number of changes of all of them and of one.
 * Of a monitor with more only the newest are read.
 */
const REPORTED_AT_ONCE = 200;
const REPORTED_CHANGES = 500_000;
const REPORTED_OF_ONE = 300_000;

type ReportedMonitor = {
  no: number;
  id: string;
  name: string;
  type: MonitorType;
  slaTarget: number | null;
  sla: ServiceSla | null;
  createdAt: number;
};

/**
 * Composes a tenant's report of a period that has ended. It has the monitors that exist now and were created before its
 * end, by creation; null if there are none. Only reads: 1,000 monitors and a month take about three seconds.
 */
export async function composeReport(
  database: Database,
  { tenantId, window, nowMs }: { tenantId: string; window: ReportWindow; nowMs: number },
): Promise<{ content: ReportContent; details: ReportDetails } | null> {
  const run = runOn(database.pool);
  const gaps = await listServiceGaps(run, { ...edgesOf(window), nowMs });
  const period = reportedPeriod(window, gaps);
  const reports: MonitorReport[] = [];
  let incidents: ReportIncident[] = [];
  let after: ReportedMonitor | undefined;
  do {
    const monitors = await listMonitors(run, { tenantId, beforeSeconds: window.endSeconds, after });
    for (const chunk of await cutByChanges(database, monitors, window))
      reports.push(...(await reportChunk(database, { monitors: chunk, ...period, nowMs })));
    incidents = longestIncidents([...incidents, ...(await listLongestIncidents(run, monitors, window))], window);
    after = monitors.length === REPORTED_AT_ONCE ? monitors.at(-1) : undefined;
  } while (after !== undefined);
  const overload = await listOverloadGaps(run, { tenantId, ...edgesOf(window), nowMs });
  return reports.length === 0
    ? null
    : buildReport(window, reports, {
        incidents,
        gaps: [...gaps, ...overload].toSorted((a, b) => a.startMs - b.startMs),
      });
}

/** Splits monitors into chunks whose changes in a window fit into memory. */
async function cutByChanges(
  database: Database,
  monitors: readonly ReportedMonitor[],
  window: ReportWindow,
): Promise<ReportedMonitor[][]> {
  const monitorIds = monitors.map(({ id }) => id);
  const counts = await countChanges(database, { monitorIds, ...edgesOf(window), most: REPORTED_OF_ONE });
  const chunks: ReportedMonitor[][] = [];
  let held = Infinity;
  for (const [index, monitor] of monitors.entries()) {
    held += counts[index] ?? 0;
    if (held > REPORTED_CHANGES) {
      chunks.push([]);
      held = counts[index] ?? 0;
    }
    chunks.at(-1)?.push(monitor);
  }
  return chunks;
}

type Chunk = Reported & { monitors: readonly ReportedMonitor[]; nowMs: number };

async function reportChunk(database: Database, { monitors, nowMs, ...period }: Chunk): Promise<MonitorReport[]> {
  const { window } = period;
  const monitorIds = monitors.map(({ id }) => id);
  const histories = await readStateHistories(database, { monitorIds, ...edgesOf(window), most: REPORTED_OF_ONE });
  const incidents = await countIncidents(runOn(database.pool), monitorIds, window);
  const monitorNos = monitors.map(({ no }) => no);
  const days = await readDays(database, { monitorNos, window, nowMs });
  return await measureWithMaintenance(
    database,
    { monitors, ...edgesOf(window) },
    ({ no, createdAt, ...monitor }, { excluded, retroactive }) =>
      reportMonitor(period, {
        monitor: { ...monitor, createdAtMs: createdAt * 1000 },
        transitions: histories.get(monitor.id) ?? [],
        maintenance: excluded,
        retroactive,
        days: days.map((day) => dayOf(day.get(no))),
        incidents: incidents.get(monitor.id) ?? NO_INCIDENTS,
      }),
  );
}

/**
 * Reads whole days from their roll-ups; the period is their sum, so that nothing is read twice. One statement for all
 * days would cost PostgreSQL half as much again.
 */
async function readDays(
  database: Database,
  { monitorNos, window, nowMs }: { monitorNos: number[]; window: ReportWindow; nowMs: number },
): Promise<Map<number, Tally>[]> {
  const edges = dayEdges(window).map((seconds) => seconds * 1000);
  const days: Map<number, Tally>[] = [];
  for (const [day, fromMs] of edges.slice(0, -1).entries())
    days.push(await sumTallies(database, { monitorNos, fromMs, toMs: edges[day + 1] ?? fromMs, nowMs }));
  return days;
}

/** Returns the figures of a day; checks without a verdict measured nothing. */
function dayOf(tally: Tally | undefined): MonitorFacts['days'][number] {
  if (tally === undefined) return { checks: 0, latency: NO_LATENCIES };
  return { checks: tally.up + tally.degraded + tally.down, latency: tally.latency };
}

async function listMonitors(
  run: Run,
  { tenantId, beforeSeconds, after }: { tenantId: string; beforeSeconds: number; after: ReportedMonitor | undefined },
): Promise<ReportedMonitor[]> {
  return await run<ReportedMonitor>(
    `SELECT no, id, name, type, sla_target AS "slaTarget", sla, created_at AS "createdAt" FROM monitors
     WHERE tenant_id = $1 AND created_at < $2 AND ($3::bigint IS NULL OR (created_at, id) > ($3, $4::text))
     ORDER BY created_at, id LIMIT $5`,
    [tenantId, beforeSeconds, after?.createdAt ?? null, after?.id ?? null, REPORTED_AT_ONCE],
  );
}

/**
 * SQL: the incidents of the monitors `$1` that overlap the window `[$2, $3)` of Unix seconds. An incident overlaps if
 * it includes a second of the window, or began in it and ended within the same second. One that ended later counts as
 * open (D-231).
 */
const TOUCHING = `SELECT i.*, s.start_second, CASE WHEN s.end_second <= $3::bigint THEN s.end_second END AS end_second
  FROM incidents i, LATERAL (
    SELECT i.started_at / 1000 AS start_second, i.resolved_at / 1000 AS end_second) s
  WHERE i.monitor_id = ANY($1::text[]) AND i.started_at < $3::bigint * 1000
    AND (i.resolved_at IS NULL OR s.end_second > $2::bigint OR s.start_second >= $2::bigint)`;

/**
 * Counts the incidents of each monitor that has any, in the database: an account whose monitors change at every check
 * has millions.
 */
async function countIncidents(
  run: Run,
  monitorIds: readonly string[],
  { startSeconds, endSeconds }: ReportWindow,
): Promise<Map<string, IncidentFigures>> {
  const rows = await run<IncidentFigures & { id: string }>(
    `SELECT monitor_id AS id, count(*) AS count,
       greatest(0, max(coalesce(end_second, $3) - greatest(start_second, $2))) AS "longestSeconds",
       count(end_second) AS resolved,
       coalesce(sum(greatest(0, end_second - start_second)) FILTER (WHERE end_second IS NOT NULL), 0)::bigint
         AS "resolvedSeconds"
     FROM (${TOUCHING}) t GROUP BY monitor_id`,
    [monitorIds, startSeconds, endSeconds],
  );
  return new Map(rows.map(({ id, ...figures }) => [id, figures]));
}

/** Lists the longest incidents for a report, of all of these monitors together. */
async function listLongestIncidents(
  run: Run,
  monitors: readonly ReportedMonitor[],
  { startSeconds, endSeconds }: ReportWindow,
): Promise<ReportIncident[]> {
  return await run<ReportIncident>(
    `SELECT id, monitor_id, monitor_name, state, reason, start_second AS started_at, end_second AS resolved_at,
       CASE WHEN end_second IS NOT NULL THEN greatest(0, end_second - start_second) END AS duration_seconds,
       CASE WHEN end_second IS NOT NULL THEN resolution END AS resolution
     FROM (${TOUCHING}) t
     ORDER BY coalesce(end_second, $3) - start_second DESC, start_second, id COLLATE "C" LIMIT ${MAX_INCIDENTS}`,
    [monitors.map(({ id }) => id), startSeconds, endSeconds],
  );
}

function edgesOf({ startSeconds, endSeconds }: ReportWindow): { fromMs: number; toMs: number } {
  return { fromMs: startSeconds * 1000, toMs: endSeconds * 1000 };
}

/** Maximum number of monitors in one SLA over tags. */
export const MAX_TAGGED = 1000;

/** Maximum number of state changes and maintenance times of all of them in a window. */
const MAX_CHANGES = 1_000_000;

/** Number of monitors measured at a time, and the maximum number of changes of one of them. */
const TAGGED_AT_ONCE = 50;
const MAX_OF_ONE = 10_000;

type TaggedMonitor = { no: number; id: string; name: string; createdAt: number };

/** A monitor's time in each state in the service hours. */
type MeasuredService = { id: string; name: string; seconds: StateSeconds };

/** Result of the measurement: too many monitors, too many changes of them, or the times of each. */
type TagSla = 'monitors' | 'changes' | readonly MeasuredService[];

/**
 * Measures the times in each state in service hours of the monitors that currently have all of these tags, by creation.
 * The window is `[fromMs, toMs)` in Unix milliseconds. Only reads: 1,000 monitors and a year take about two seconds.
 */
export async function measureTags(
  database: Pick<Database, 'pool'>,
  { tenantId, tags, counted, nowMs, ...window }: TagSlaRead,
): Promise<TagSla> {
  const run = runOn(database.pool);
  const monitors = await listTagged(run, { tenantId, tags, beforeMs: window.toMs });
  if (monitors.length > MAX_TAGGED) return 'monitors';
  const gaps = await listServiceGaps(run, { ...window, nowMs });
  const calendar = new ServiceCalendar(window);
  const measured: MeasuredService[] = [];
  let left = MAX_CHANGES;
  for (let first = 0; first < monitors.length; first += TAGGED_AT_ONCE) {
    const chunk = monitors.slice(first, first + TAGGED_AT_ONCE);
    const histories = await readStateHistories(database, {
      monitorIds: chunk.map(({ id }) => id),
      ...window,
      most: MAX_OF_ONE,
    });
    const maintenance = await readExcludedTimes(database, { monitorNos: chunk.map(({ no }) => no), ...window });
    if (maintenance === null) return 'changes';
    const lengths = [...histories.values()].map(({ length }) => length);
    for (const { excluded } of maintenance.values()) left -= excluded.length;
    left -= lengths.reduce((sum, length) => sum + length, 0);
    // A history of maximum length may lack its beginning.
    if (left < 0 || lengths.some((length) => length >= MAX_OF_ONE)) return 'changes';
    for (const { no, id, name, createdAt } of chunk)
      measured.push({
        id,
        name,
        seconds: await measureService(calendar, counted, {
          transitions: histories.get(id) ?? [],
          createdAtMs: createdAt * 1000,
          gaps,
          maintenance: maintenance.get(no)?.excluded ?? [],
        }),
      });
  }
  return measured;
}

type TagSlaRead = {
  tenantId: string;
  tags: readonly string[];
  counted: CountedHours;
  fromMs: number;
  toMs: number;
  nowMs: number;
};

async function listTagged(
  run: Run,
  { tenantId, tags, beforeMs }: { tenantId: string; tags: readonly string[]; beforeMs: number },
): Promise<TaggedMonitor[]> {
  return await run<TaggedMonitor>(
    `SELECT no, id, name, created_at AS "createdAt" FROM monitors
     WHERE tenant_id = $1 AND tags @> $2::text[] AND created_at * 1000 < $3::bigint
     ORDER BY created_at, id LIMIT $4`,
    [tenantId, tags, beforeMs, MAX_TAGGED + 1],
  );
}
