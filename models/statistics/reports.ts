import type { ReportContent, ReportDetails } from '../../core/statistics/reports/content.ts';
import type { ReportPeriod, ReportWindow } from '../../core/statistics/reports/periods.ts';
import { CANARY } from '../../core/system/canary.ts';
import type { Database } from '../database.ts';
import { runOn, type Run, type RowKey } from '../sql.ts';

/** A stored report (D-62), without its details. Times are Unix seconds. */
export type Report = {
  id: string;
  period: ReportPeriod;
  periodStart: number;
  periodEnd: number;
  createdAt: number;
  content: ReportContent;
};

/** A report with its details, which are null if it was made without. */
export type FullReport = Report & { details: ReportDetails | null };

/** The columns of a `Report`. */
const COLUMNS = `id, period, period_start AS "periodStart", period_end AS "periodEnd", created_at AS "createdAt",
  content`;

/** Maximum size of the reports read at once, in bytes as compressed by PostgreSQL. */
const PAGE_BYTES = 1024 * 1024;

/**
 * Lists a tenant's reports, newest first; `before` is the last one of the previous page. Returns at most a megabyte in
 * stored form, but at least one report: `isCut` if that leaves some out within `limit`.
 */
export async function listReports(
  database: Database,
  query: { tenantId: string; period?: ReportPeriod; before?: { createdAt: number; id: string }; limit?: number },
): Promise<{ reports: Report[]; isCut: boolean }> {
  const run = runOn(database.pool);
  const found = await run<{ id: string; bytesBefore: number }>(
    `SELECT id, (sum(pg_column_size(content)) OVER (ORDER BY created_at DESC, id DESC)
       - pg_column_size(content))::bigint AS "bytesBefore"
     FROM reports
     WHERE tenant_id = $1 AND ($2::bigint IS NULL OR (created_at, id) < ($2, $3::text)) AND ($5::text IS NULL
       OR period = $5)
     ORDER BY created_at DESC, id DESC LIMIT $4`,
    [
      query.tenantId,
      query.before?.createdAt ?? null,
      query.before?.id ?? null,
      query.limit ?? null,
      query.period ?? null,
    ],
  );
  const page = found.filter(({ bytesBefore }) => bytesBefore < PAGE_BYTES).map(({ id }) => id);
  const reports = await run<Report>(
    `SELECT ${COLUMNS} FROM reports WHERE tenant_id = $1 AND id = ANY($2::text[]) ORDER BY created_at DESC, id DESC`,
    [query.tenantId, page],
  );
  return { reports, isCut: page.length < found.length };
}

/** Finds a report of a tenant with its details; null if there is none. */
export async function findReport(database: Database, key: RowKey): Promise<FullReport | null> {
  const [report] = await runOn(database.pool)<FullReport>(
    `SELECT ${COLUMNS}, details FROM reports WHERE tenant_id = $1 AND id = $2`,
    [key.tenantId, key.id],
  );
  return report ?? null;
}

/**
 * Lists the tenants that lack the report of one of these periods, the newest of their kinds. As reports are made in
 * order, no other tenant lacks any. Periods that ended before the tenant or its first monitor was created do not count.
 */
export async function listTenantsWithout(
  database: Database,
  newest: readonly ReportWindow[],
): Promise<{ id: string; createdAt: number }[]> {
  return await runOn(database.pool)<{ id: string; createdAt: number }>(
    `SELECT t.id, t.created_at AS "createdAt" FROM tenants t
     WHERE t.id <> '${CANARY.tenantId}' AND EXISTS (SELECT FROM missing_reports(t.id, t.created_at, $1, $2, $3))
     ORDER BY t.created_at, t.id`,
    columnsOf(newest),
  );
}

/** Returns those of these periods whose report a tenant lacks, in the given order. */
export async function listMissingReports(
  database: Database,
  tenant: { id: string; createdAt: number },
  windows: readonly ReportWindow[],
): Promise<ReportWindow[]> {
  return await runOn(database.pool)<ReportWindow>(
    `SELECT period, period_start AS "startSeconds", period_end AS "endSeconds"
     FROM missing_reports($4, $5, $1, $2, $3) ORDER BY ordinal`,
    [...columnsOf(windows), tenant.id, tenant.createdAt],
  );
}

/**
 * Writes a report; false, without writing it, if the tenant has one of that period. Until the caller's transaction ends
 * no other process can write it.
 */
export async function insertReport(
  run: Run,
  report: {
    id: string;
    tenantId: string;
    window: ReportWindow;
    content: ReportContent;
    details: ReportDetails;
    nowMs: number;
  },
): Promise<boolean> {
  const { id, tenantId, window, content, details, nowMs } = report;
  const rows = await run(
    `INSERT INTO reports (id, tenant_id, period, period_start, period_end, created_at, content, details)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (tenant_id, period, period_start) DO NOTHING RETURNING id`,
    [
      id,
      tenantId,
      window.period,
      window.startSeconds,
      window.endSeconds,
      Math.floor(nowMs / 1000),
      JSON.stringify(content),
      JSON.stringify(details),
    ],
  );
  return rows.length > 0;
}

function columnsOf(windows: readonly ReportWindow[]): unknown[] {
  return [
    windows.map(({ period }) => period),
    windows.map(({ startSeconds }) => startSeconds),
    windows.map(({ endSeconds }) => endSeconds),
  ];
}

/**
 * A zone, other than UTC, in whose weeks and months a tenant wants reports; `sinceSeconds` is when its first channel
 * was created.
 */
type ReportZone = { tenantId: string; timezone: string; sinceSeconds: number };

/** A week or month of a tenant in a zone. */
export type ZonePeriod = { tenantId: string; window: ReportWindow & { timezone: string } };

/** Lists the zones of all email channels with reports that are enabled and connected. */
export async function listReportZones(database: Database): Promise<ReportZone[]> {
  return await runOn(database.pool)<ReportZone>(
    `SELECT tenant_id AS "tenantId", report_timezone AS timezone, min(created_at) AS "sinceSeconds" FROM channels
     WHERE type = 'email' AND wants_reports AND report_timezone IS NOT NULL AND enabled AND status = 'connected'
     GROUP BY tenant_id, report_timezone ORDER BY tenant_id, report_timezone`,
  );
}

/** Returns those of the periods that have no report yet, in order. */
export async function filterUnreported(database: Database, periods: readonly ZonePeriod[]): Promise<ZonePeriod[]> {
  if (periods.length === 0) return [];
  const rows = await runOn(database.pool)<{ ordinal: number }>(
    `SELECT w.ordinal::int AS ordinal
     FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY
       AS w (tenant_id, timezone, period, period_start, ordinal)
     WHERE NOT EXISTS (SELECT FROM zone_reports r WHERE (r.tenant_id, r.timezone, r.period, r.period_start)
       = (w.tenant_id, w.timezone, w.period, w.period_start))
     ORDER BY w.ordinal`,
    [
      periods.map(({ tenantId }) => tenantId),
      periods.map(({ window }) => window.timezone),
      periods.map(({ window }) => window.period),
      periods.map(({ window }) => window.startSeconds),
    ],
  );
  return rows.flatMap(({ ordinal }) => periods[ordinal - 1] ?? []);
}

/**
 * Writes the report of a period; false, without writing it, if there is one. Until the caller's transaction ends no
 * other process can write it.
 */
export async function insertZoneReport(
  run: Run,
  { tenantId, window, content, nowMs }: ZonePeriod & { content: ReportContent | null; nowMs: number },
): Promise<boolean> {
  const { timezone, period, startSeconds, endSeconds } = window;
  const rows = await run(
    `INSERT INTO zone_reports (tenant_id, timezone, period, period_start, period_end, created_at, content)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING tenant_id`,
    [
      tenantId,
      timezone,
      period,
      startSeconds,
      endSeconds,
      Math.floor(nowMs / 1000),
      content === null ? null : JSON.stringify(content),
    ],
  );
  return rows.length > 0;
}

/** Finds the content of a period's report; null if there is none. */
export async function findZoneReport(
  database: Database,
  { tenantId, timezone, period, startSeconds }: { tenantId: string } & Omit<ZonePeriod['window'], 'endSeconds'>,
): Promise<ReportContent | null> {
  const [row] = await runOn(database.pool)<{ content: ReportContent | null }>(
    `SELECT content FROM zone_reports
     WHERE tenant_id = $1 AND timezone = $2 AND period = $3 AND period_start = $4`,
    [tenantId, timezone, period, startSeconds],
  );
  return row?.content ?? null;
}

/** Lists the email channels of a tenant that receive the reports of a zone. Run it like `listReportChannels`. */
export async function listZoneReportChannels(
  run: Run,
  { tenantId, timezone }: { tenantId: string; timezone: string },
): Promise<string[]> {
  const rows = await run<{ id: string }>(
    `SELECT c.id FROM channels c
     WHERE c.tenant_id = $1 AND c.type = 'email' AND c.wants_reports AND c.report_timezone = $2 AND c.enabled
       AND c.status = 'connected'
     ORDER BY c.id FOR KEY SHARE`,
    [tenantId, timezone],
  );
  return rows.map(({ id }) => id);
}

/** Deletes reports that are older than the deliveries which show them; returns their number. */
export async function deleteOldZoneReports(database: Database, beforeMs: number): Promise<number> {
  const rows = await runOn(database.pool)('DELETE FROM zone_reports WHERE created_at < $1 RETURNING tenant_id', [
    Math.floor(beforeMs / 1000),
  ]);
  return rows.length;
}
