import type { RequestHandler } from 'express';
import { findReport, listReports } from '../../models/reports.ts';
import { notFound } from '../api-error.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { byCreation, cutPage, readPage } from '../pagination.ts';
import { presentReport } from '../presenters/report.ts';
import { callerOf, idOf } from '../request-context.ts';

/** `GET /reports` */
export function listReportsHandler({ database, config }: ApiDependencies): RequestHandler {
  return async (request, response) => {
    const { limit, after } = readPage(request);
    const reports = await listReports(database, {
      tenantId: callerOf(response).tenantId,
      ...(after && { before: { createdAt: after.at, id: after.id } }),
      ...(limit !== null && { limit: limit + 1 }),
    });
    const page = cutPage(reports, { limit, positionOf: byCreation }, { request, response, publicUrl: config.publicUrl });
    response.json({ reports: page.map(presentReport) });
  };
}

/** `GET /reports/{id}` */
export function getReportHandler({ database }: ApiDependencies): RequestHandler {
  return async (request, response) => {
    const id = idOf(request);
    const report = await findReport(database, { tenantId: callerOf(response).tenantId, id });
    if (report === null) throw notFound('report', id);
    response.json(presentReport(report));
  };
}
