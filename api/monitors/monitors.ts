import type { Response } from 'express';
import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import type { ScheduleChange } from '../../core/checks/slots.ts';
import { readMonitorCreate, readMonitorPatch } from '../../core/monitors/input/read.ts';
import { isAgentChecked, type Monitor } from '../../core/monitors/monitor.ts';
import { findAgent } from '../../models/agents/agents.ts';
import { listUnableSources } from '../../models/agents/work.ts';
import { createBatched } from '../../models/batched.ts';
import {
  createMonitor,
  deleteMonitor,
  pauseMonitor,
  resumeMonitor,
  type ChangeKey,
  updateMonitor,
} from '../../models/monitors/monitor-changes.ts';
import {
  findMonitor,
  findMonitors,
  listMonitors,
  type FoundMonitor,
  type MonitorKey,
} from '../../models/monitors/monitors.ts';
import { accept, badRequest, notFound } from '../api-error.ts';
import type { ApiDependencies, HandlerDependencies } from '../dependencies.ts';
import type { Answer, Handler } from '../handler.ts';
import { byCreation, cutPage, readPage } from '../pagination.ts';
import { recorded } from '../recording.ts';
import { callerOf, idOf } from '../request-context.ts';
import { loadMonitorContext, draftOf, findPageToPatch, type MonitorBody } from './monitor-context.ts';
import { presentMonitor, presentMonitorDetail, presentMonitorState } from './presenter.ts';
import { announceMonitor, announceSchedule } from './schedule-changes.ts';

type MonitorPatch = { response: Response; monitorId: string; body: MonitorBody };

/** The most times that a patch starts anew because the vendor changed while the page of the last one was read. */
const MOST_ATTEMPTS = 3;

/** What `updateMonitor` leaves the monitor alone for: its vendor is no longer the one whose page was read. */
class VendorChanged extends Error {}

/**
 * Judges a PATCH against the monitor as it is when it is locked, and stores it (D-07); null where there is no such
 * monitor. A vendor's page is read before that, for it may take seconds: where another write has named a different one
 * meanwhile, the PATCH starts over with that, and the last time counts its page as one that could not be read (D-154,
 * D-155).
 */
async function patchMonitor(
  dependencies: HandlerDependencies,
  patch: MonitorPatch,
): Promise<{ monitor: Monitor; schedule: ScheduleChange } | null> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryPatch(dependencies, patch, attempt === MOST_ATTEMPTS);
    } catch (error) {
      if (!(error instanceof VendorChanged)) throw error;
    }
  }
}

async function tryPatch(
  dependencies: HandlerDependencies,
  { response, monitorId, body }: MonitorPatch,
  isLast: boolean,
) {
  const { database, now } = dependencies;
  const caller = callerOf(response);
  const context = await loadMonitorContext(dependencies, { caller, monitorId, body, isNew: false });
  const key = { tenantId: caller.tenantId, id: monitorId, nowMs: now(), holdsRechecks: true };
  return await updateMonitor(recorded(database, response), key, (current) => {
    const page = findPageToPatch(body, current.monitor);
    if (page?.pageUrl !== context.vendorReading?.page.pageUrl && !isLast) throw new VendorChanged();
    const { settings, agentSources, secrets } = accept(readMonitorPatch(body, { current: draftOf(current), context }));
    return { settings, secrets, agentIds: agentSources };
  });
}

/** `GET /monitors` */
export function listMonitorsHandler({ database, config }: ApiDependencies): Handler<'listMonitors'> {
  return async (request, response) => {
    const { limit, after } = readPage(request);
    const { type, status, enabled, q, agent_id: agentId } = request.query;
    const { tenantId } = callerOf(response);
    const agent = agentId === undefined ? undefined : await findAgent(database, { tenantId, id: agentId });
    if (agent === null) {
      response.json({ monitors: [] });
      return;
    }
    const monitors = await listMonitors(database, {
      tenantId,
      filter: {
        ...(type && { type }),
        ...(status && { status }),
        ...(enabled !== undefined && { enabled: enabled === '1' || enabled === 'true' }),
        ...(q !== undefined && { q }),
        ...(agent && { agentNo: agent.no }),
      },
      ...(after && { after: { createdAt: after.at, id: after.id } }),
      ...(limit !== null && { limit: limit + 1 }),
    });
    const page = cutPage(
      monitors,
      { limit, positionOf: byCreation },
      { request, response, publicUrl: config.publicUrl },
    );
    response.json({ monitors: page.map(presentMonitor) });
  };
}

/** `POST /monitors` */
export function createMonitorHandler(dependencies: HandlerDependencies): Handler<'createMonitor'> {
  const { database, makeId, now, config } = dependencies;
  return async (request, response) => {
    const caller = callerOf(response);
    const id = makeId('mon');
    const context = await loadMonitorContext(dependencies, { caller, monitorId: id, body: request.body, isNew: true });
    const { settings, agentSources, secrets } = accept(readMonitorCreate(request.body, context));
    const { monitors } = PLAN_LIMITS[caller.plan];
    const stored = await createMonitor(
      recorded(database, response),
      { id, tenantId: caller.tenantId, settings, secrets, agentIds: agentSources, nowMs: now(), holdsRechecks: true },
      config.planCountLimits ? monitors : null,
    );
    if (stored === null)
      throw badRequest(`the ${caller.plan} plan allows at most ${monitors} monitors, and this account has them all`);
    await announceMonitor(dependencies, stored);
    response.status(201).json(presentMonitorState(stored.monitor));
  };
}

/** `GET /monitors/{id}` */
export function getMonitorHandler({ database }: ApiDependencies): Handler<'getMonitor'> {
  const find = createBatched((keys: MonitorKey[]) => findMonitors(database, keys));
  return async (request, response) => {
    const id = idOf(request);
    const found = await find({ tenantId: callerOf(response).tenantId, id });
    if (found === null) throw notFound('monitor', id);
    await answerWithDetail(database, found, response);
  };
}

/** `PATCH /monitors/{id}` */
export function updateMonitorHandler(dependencies: HandlerDependencies): Handler<'updateMonitor'> {
  return async (request, response) => {
    const id = idOf(request);
    const stored = await patchMonitor(dependencies, { response, monitorId: id, body: request.body });
    if (stored === null) throw notFound('monitor', id);
    await announceMonitor(dependencies, stored);
    response.json(presentMonitorState(stored.monitor));
  };
}

/** `DELETE /monitors/{id}` */
export function deleteMonitorHandler(dependencies: ApiDependencies): Handler<'deleteMonitor'> {
  const { database, now } = dependencies;
  return async (request, response) => {
    const id = idOf(request);
    const schedule = await deleteMonitor(recorded(database, response), {
      tenantId: callerOf(response).tenantId,
      id,
      nowMs: now(),
    });
    if (schedule === null) throw notFound('monitor', id);
    announceSchedule(dependencies, schedule);
    response.status(204).end();
  };
}

/** `POST /monitors/{id}/pause` */
export function pauseMonitorHandler(dependencies: HandlerDependencies): Handler<'pauseMonitor'> {
  return switchMonitor(dependencies, pauseMonitor);
}

/** `POST /monitors/{id}/resume` */
export function resumeMonitorHandler(dependencies: HandlerDependencies): Handler<'resumeMonitor'> {
  return switchMonitor(dependencies, resumeMonitor);
}

type Switch = (
  database: ApiDependencies['database'],
  key: ChangeKey,
) => Promise<{ monitor: Monitor; schedule: ScheduleChange } | null>;

function switchMonitor(dependencies: HandlerDependencies, change: Switch): Handler<'pauseMonitor' | 'resumeMonitor'> {
  const { database, now } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const stored = await change(recorded(database, response), { ...key, nowMs: now(), holdsRechecks: true });
    if (stored === null) throw notFound('monitor', key.id);
    await announceMonitor(dependencies, stored);
    const found = await findMonitor(database, key);
    // Deleted by another request in the meantime: then this is what the caller will find too.
    if (found === null) throw notFound('monitor', key.id);
    await answerWithDetail(database, found, response);
  };
}

async function answerWithDetail(
  database: ApiDependencies['database'],
  { monitor, agentIds, hasOwnSources }: FoundMonitor,
  response: Response<Answer<'getMonitor'>>,
): Promise<void> {
  const unable = hasOwnSources && isAgentChecked(monitor.type) ? await listUnableSources(database, monitor.no) : [];
  response.json(presentMonitorDetail(monitor, { agentIds, unable }, { canWrite: canWrite(response) }));
}

function canWrite(response: Response): boolean {
  return callerOf(response).scopes.includes('write');
}
