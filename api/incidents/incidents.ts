import type { Response } from 'express';
import { listIncidents } from '../../models/incidents/history.ts';
import { findMeasuredMonitor } from '../../models/monitors/monitors.ts';
import { notFound } from '../api-error.ts';
import type { Parts } from '../dependencies.ts';
import type { Handler, Query } from '../handler.ts';
import { cutPage, readPage, type WrittenRequest } from '../pagination.ts';
import { callerOf, idOf, isId } from '../request-context.ts';
import { presentIncident } from './presenter.ts';

/** How many incidents come when the caller sets no limit: history has no end (D-05). */
const DEFAULT_LIMIT = 500;

/** What both lists may be narrowed by. */
type ListQuery = Query<'listMonitorIncidents'>;

/** `GET /incidents` */
export function listIncidentsHandler(dependencies: Parts<'database' | 'config' | 'now'>): Handler<'listIncidents'> {
  return async (request, response) => {
    const { monitor_id: monitorId } = request.query;
    await answerIncidents(dependencies, { request, response }, monitorId);
  };
}

/** `GET /monitors/{id}/incidents` */
export function listMonitorIncidentsHandler(
  dependencies: Parts<'database' | 'config' | 'now'>,
): Handler<'listMonitorIncidents'> {
  return async (request, response) => {
    const id = idOf(request);
    const found = await findMeasuredMonitor(dependencies.database, { tenantId: callerOf(response).tenantId, id });
    if (found === null) throw notFound('monitor', id);
    await answerIncidents(dependencies, { request, response }, id);
  };
}

async function answerIncidents(
  { database, config, now }: Parts<'database' | 'config' | 'now'>,
  { request, response }: { request: WrittenRequest & { query: ListQuery }; response: Response },
  monitorId: string | undefined,
): Promise<void> {
  const page = readPage(request);
  const limit = page.limit ?? DEFAULT_LIMIT;
  const { status, acknowledged, since, until, open_since: openSince } = request.query;
  const isUnknownMonitor = monitorId !== undefined && !isId(monitorId);
  const incidents = isUnknownMonitor
    ? []
    : await listIncidents(database, {
        tenantId: callerOf(response).tenantId,
        filter: {
          ...(monitorId !== undefined && { monitorId }),
          ...(status && { status }),
          ...(acknowledged !== undefined && { acknowledged: acknowledged === 'true' }),
          ...(since !== undefined && { sinceSeconds: since }),
          ...(until !== undefined && { untilSeconds: until }),
          ...(openSince !== undefined && { openSinceSeconds: openSince }),
        },
        ...(page.after && { before: { startedAtMs: page.after.at, id: page.after.id } }),
        limit: limit + 1,
      });
  const shown = cutPage(
    incidents,
    { limit, positionOf: ({ startedAtMs, id }) => ({ at: startedAtMs, id }) },
    { request, response, publicUrl: config.publicUrl },
  );
  const nowMs = now();
  response.json({ incidents: shown.map((incident) => presentIncident(incident, nowMs)) });
}
