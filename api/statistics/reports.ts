import type { Response } from 'express';
import { renderReportCsv } from '../../core/statistics/reports/content.ts';
import { dateOf } from '../../core/statistics/reports/periods.ts';
import { findTenant } from '../../models/accounts/tenants.ts';
import { listTaggedMonitorIds } from '../../models/monitors/monitors.ts';
import { findReport, listReports, type FullReport, type Report } from '../../models/statistics/reports.ts';
import { notFound } from '../api-error.ts';
import type { Answer, Handler, Parts, Query } from '../handler.ts';
import { byCreation, cutPage, readPage } from '../pagination.ts';
import { callerOf, idOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { REPORT_PAGE_POLICY, renderReportPage } from './report-page/page.ts';

type Format = NonNullable<Query<'getReport'>['format']>;

/** `GET /reports` */
export function listReportsHandler({ database, config }: Parts<'database' | 'config'>): Handler<'listReports'> {
  return async (request, response) => {
    const { limit, after } = readPage(request);
    const { period } = request.query;
    const { reports, isCut } = await listReports(database, {
      tenantId: callerOf(response).tenantId,
      ...(period && { period }),
      ...(after && { before: { createdAt: after.at, id: after.id } }),
      ...(limit !== null && { limit: limit + 1 }),
    });
    const page = cutPage(
      reports,
      { limit, isCut, positionOf: byCreation },
      { request, response, publicUrl: config.publicUrl },
    );
    response.json({ reports: page.map(presentReport) });
  };
}

/** `GET /reports/{id}`, as JSON, as a table for spreadsheets, or as a page to print. */
export function getReportHandler(dependencies: Parts<'database'>): Handler<'getReport'> {
  return async (request, response) => {
    const id = idOf(request);
    const { format = 'json', tag: tags } = request.query;
    const { tenantId } = callerOf(response);
    const found = await findReport(dependencies.database, { tenantId, id });
    if (found === null) throw notFound('report', id);
    const report =
      tags === undefined ? found : narrow(found, await listTaggedMonitorIds(dependencies.database, tenantId, tags));
    await SENDERS[format](response, report, dependencies);
  };
}

/** Returns the report with only these monitors; its summary remains that of the account. */
function narrow(report: FullReport, monitorIds: ReadonlySet<string>): FullReport {
  const { content, details } = report;
  return {
    ...report,
    content: { ...content, monitors: content.monitors.filter(({ id }) => monitorIds.has(id)) },
    details: details && {
      ...details,
      incidents: details.incidents.filter(({ monitor_id: id }) => monitorIds.has(id)),
    },
  };
}

const SENDERS: Record<
  Format,
  (response: Response<Answer<'getReport'>>, report: FullReport, dependencies: Parts<'database'>) => void | Promise<void>
> = {
  json: (response, report) => void response.json(presentFullReport(report)),
  csv: (response, report) => {
    response
      .set('Content-Disposition', `attachment; filename="${fileNameOf(report)}.csv"`)
      .type('text/csv')
      .send(renderReportCsv(report.content.monitors));
  },
  html: async (response, report, { database }) => {
    const tenant = await findTenant(database, callerOf(response).tenantId);
    response
      .set({
        'Content-Security-Policy': REPORT_PAGE_POLICY,
        'Content-Disposition': `inline; filename="${fileNameOf(report)}.html"`,
        'Referrer-Policy': 'no-referrer',
      })
      .type('html')
      .send(renderReportPage({ report, tenantName: tenant?.name ?? '' }));
  },
};

/** Returns a file name such as `report-week-2026-03-16`, with the period and its first day. */
function fileNameOf({ period, periodStart }: FullReport): string {
  return `report-${period}-${dateOf(periodStart)}`;
}

type WireReport = components['schemas']['Report'];

/**
 * Returns a report for lists (D-62); its content is stored in wire form, because a report never changes once it is
 * made.
 */
function presentReport({
  id,
  period,
  periodStart,
  periodEnd,
  createdAt,
  content: { summary, monitors },
}: Report): WireReport {
  return { id, period, period_start: periodStart, period_end: periodEnd, created_at: createdAt, summary, monitors };
}

/** Returns a report with its details, if it was made with them. */
function presentFullReport(report: FullReport): WireReport {
  const { details, content } = report;
  if (details === null) return presentReport(report);
  return {
    ...presentReport(report),
    monitors: content.monitors.map((monitor) => ({ ...monitor, days: details.days[monitor.id] ?? [] })),
    incidents: details.incidents,
    service_gaps: details.service_gaps,
  };
}
