import type { Database } from './database.ts';
import { runWith } from './sql.ts';

/** A report as it is stored (D-62). Times are Unix seconds; `content` holds `summary` and `monitors` in their wire form. */
export type Report = { id: string; period: 'week' | 'month'; periodStart: number; periodEnd: number; createdAt: number; content: Record<string, unknown> };

type ReportRow = { id: string; period: 'week' | 'month'; period_start: number; period_end: number; created_at: number; content: Record<string, unknown> };

const COLUMNS = 'id, period, period_start, period_end, created_at, content';

/** A tenant's reports, newest first; `before` is the last one of the page before. */
export async function listReports(database: Database, query: { tenantId: string; before?: { createdAt: number; id: string }; limit?: number }): Promise<Report[]> {
  const rows = await runWith(database)<ReportRow>(
    `SELECT ${COLUMNS} FROM reports WHERE tenant_id = $1 AND ($2::bigint IS NULL OR (created_at, id) < ($2, $3::text))
     ORDER BY created_at DESC, id DESC LIMIT $4`,
    [query.tenantId, query.before?.createdAt ?? null, query.before?.id ?? null, query.limit ?? null],
  );
  return rows.map(reportOf);
}

/** One report of a tenant; null when it has none of that id. */
export async function findReport(database: Database, key: { tenantId: string; id: string }): Promise<Report | null> {
  const [row] = await runWith(database)<ReportRow>(`SELECT ${COLUMNS} FROM reports WHERE tenant_id = $1 AND id = $2`, [key.tenantId, key.id]);
  return row === undefined ? null : reportOf(row);
}

function reportOf(row: ReportRow): Report {
  return { id: row.id, period: row.period, periodStart: row.period_start, periodEnd: row.period_end, createdAt: row.created_at, content: row.content };
}
