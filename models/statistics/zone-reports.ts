import type { ReportContent } from '../../core/statistics/reports/content.ts';
import type { ReportWindow } from '../../core/statistics/reports/periods.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';

/**
 * A zone, other than UTC, in whose weeks and months a tenant wants reports; `sinceSeconds` is when its first channel
 * was created.
 */
export type ReportZone = { tenantId: string; timezone: string; sinceSeconds: number };

/** A week or month of a tenant in a zone. */
export type ZonePeriod = { tenantId: string; window: ReportWindow & { timezone: string } };

/** The zones of all email channels that want reports and are enabled and connected. */
export async function listReportZones(database: Database): Promise<ReportZone[]> {
  return await runOn(database.pool)<ReportZone>(
    `SELECT tenant_id AS "tenantId", report_timezone AS timezone, min(created_at) AS "sinceSeconds" FROM channels
     WHERE type = 'email' AND wants_reports AND report_timezone IS NOT NULL AND enabled AND status = 'connected'
     GROUP BY tenant_id, report_timezone ORDER BY tenant_id, report_timezone`,
  );
}

/** Those of some periods that are not reported yet, in their order. */
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
 * Writes the report of a period; false, without writing it, where there is one. Until the caller's transaction ends no
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

/** What the report of a period says; null where there is none. */
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

/** The email channels of a tenant that are sent the reports of a zone. Run as `listReportChannels`. */
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

/** Deletes reports that are older than the deliveries which show them; returns how many. */
export async function deleteOldZoneReports(database: Database, beforeMs: number): Promise<number> {
  const rows = await runOn(database.pool)('DELETE FROM zone_reports WHERE created_at < $1 RETURNING tenant_id', [
    Math.floor(beforeMs / 1000),
  ]);
  return rows.length;
}
