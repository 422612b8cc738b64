import type { Response } from 'express';
import type { Author } from '../../core/accounts/audit-entry.ts';
import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import type { MonitorContext } from '../../core/monitors/input/complete.ts';
import type { MonitorBody } from '../../core/monitors/input/fields.ts';
import { readMonitorCreate, readMonitorPatch } from '../../core/monitors/input/read.ts';
import { isAgentChecked } from '../../core/monitors/monitor.ts';
import { findAgent } from '../../models/agents/agents.ts';
import { listUnableSources } from '../../models/agents/work.ts';
import { createBatched } from '../../models/batched.ts';
import type { Database } from '../../models/database.ts';
import { readCurrentMaintenance } from '../../models/maintenance/maintenance-times.ts';
import {
  createMonitor,
  deleteMonitor,
  lockMonitor,
  pauseMonitor,
  resumeMonitor,
  type ChangeKey,
  type StoredMonitor,
  updateMonitor,
} from '../../models/monitors/monitor-changes.ts';
import {
  findMonitor,
  findMonitors,
  listMonitors,
  type FoundMonitor,
  type MonitorKey,
} from '../../models/monitors/monitors.ts';
import { inTransaction } from '../../models/sql.ts';
import { accept, badRequest, conflict, notFound } from '../api-error.ts';
import type { Caller } from '../caller.ts';
import type { Parts } from '../dependencies.ts';
import type { Answer, Handler } from '../handler.ts';
import { byCreation, cutPage, readPage } from '../pagination.ts';
import { authorOf, callerOf, idOf } from '../request-context.ts';
import { loadMonitorContext, draftOf, findPageToPatch } from './monitor-context.ts';
import { presentMonitor, presentMonitorDetail, presentMonitorState, settingsVersionOf } from './presenter.ts';
import { announceMonitor, announceSchedule, type AnnouncingParts } from './schedule-changes.ts';

/** `GET /monitors` */
export function listMonitorsHandler({
  database,
  config,
  now,
}: Parts<'database' | 'config' | 'now'>): Handler<'listMonitors'> {
  return async (request, response) => {
    const { limit, after } = readPage(request);
    const { type, status, enabled, q, agent_id: agentId, tag: tags } = request.query;
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
        ...(tags && { tags }),
      },
      ...(after && { after: { createdAt: after.at, id: after.id } }),
      ...(limit !== null && { limit: limit + 1 }),
    });
    const page = cutPage(
      monitors,
      { limit, positionOf: byCreation },
      { request, response, publicUrl: config.publicUrl },
    );
    const maintenance = await readCurrentMaintenance(database, { tenantId, nowMs: now() });
    response.json({ monitors: page.map((monitor) => presentMonitor(monitor, maintenance.get(monitor.id))) });
  };
}

/** `POST /monitors` */
export function createMonitorHandler(
  dependencies: AnnouncingParts & Parts<'readVendorPage' | 'makeId' | 'config'>,
): Handler<'createMonitor'> {
  const { database, makeId, now, config } = dependencies;
  return async (request, response) => {
    const caller = callerOf(response);
    const id = makeId('mon');
    const context = await loadMonitorContext(dependencies, { caller, monitorId: id, body: request.body, isNew: true });
    const { settings, agentSources, secrets } = accept(readMonitorCreate(request.body, context));
    const { monitors } = PLAN_LIMITS[caller.plan];
    const stored = await createMonitor(
      database,
      {
        author: authorOf(response),
        id,
        tenantId: caller.tenantId,
        settings,
        secrets,
        agentIds: agentSources,
        nowMs: now(),
        holdsRechecks: true,
      },
      config.planCountLimits ? monitors : null,
    );
    if (stored === null)
      throw badRequest(
        `the ${caller.plan} plan allows at most ${monitors} monitors, and this account has reached the limit: delete ` +
          'one first',
      );
    await announceMonitor(dependencies, stored);
    response.status(201).json(presentMonitorState(stored.monitor));
  };
}

/** `GET /monitors/{id}` */
export function getMonitorHandler(dependencies: Parts<'database' | 'now'>): Handler<'getMonitor'> {
  const find = createBatched((keys: MonitorKey[]) => findMonitors(dependencies.database, keys));
  return async (request, response) => {
    const id = idOf(request);
    const found = await find({ tenantId: callerOf(response).tenantId, id });
    if (found === null) throw notFound('monitor', id);
    await answerWithDetail(dependencies, found, response);
  };
}

/** `PATCH /monitors/{id}` */
export function updateMonitorHandler(
  dependencies: AnnouncingParts & Parts<'readVendorPage' | 'config'>,
): Handler<'updateMonitor'> {
  return async (request, response) => {
    const id = idOf(request);
    const [caller, author] = [callerOf(response), authorOf(response)];
    const { settings_version: _read, if_settings_version: ifVersion, ...body } = request.body;
    const patch = { caller, author, monitorId: id, body, ...(ifVersion !== undefined && { ifVersion }) };
    const stored = await patchMonitor(dependencies, patch);
    if (stored === null) throw notFound('monitor', id);
    await announceMonitor(dependencies, stored);
    response.json(presentMonitorState(stored.monitor));
  };
}

/** The most times that a patch starts over because the vendor changed while the previous page was read. */
const MOST_ATTEMPTS = 3;

/** `ifVersion`: the settings that the change was made from; absent = any. */
type MonitorPatch = { caller: Caller; author: Author; monitorId: string; body: MonitorBody; ifVersion?: string };

/**
 * Judges a PATCH against the monitor as it is when it is locked, and stores it (D-07); null where there is no such
 * monitor. A vendor's page is read before that, for it may take seconds: where another write has named a different one
 * meanwhile, the PATCH starts over with that, and the last time counts its page as one that could not be read (D-154,
 * D-155).
 */
async function patchMonitor(
  dependencies: Parts<'database' | 'now' | 'readVendorPage' | 'rateLimits' | 'config'>,
  patch: MonitorPatch,
): Promise<StoredMonitor | null> {
  for (let attempt = 1; ; attempt += 1) {
    const context = await loadMonitorContext(dependencies, { ...patch, isNew: false });
    const stored = await storePatch(dependencies, patch, { context, isLast: attempt === MOST_ATTEMPTS });
    if (stored !== 'vendor_changed') return stored;
  }
}

/** One transaction: lock the monitor, decide what it becomes, store that. */
async function storePatch(
  { database, now }: Parts<'database' | 'now'>,
  { caller: { tenantId }, author, monitorId, body, ifVersion }: MonitorPatch,
  { context, isLast }: { context: MonitorContext; isLast: boolean },
): Promise<StoredMonitor | 'vendor_changed' | null> {
  const nowMs = now();
  return await inTransaction(database, async (run) => {
    const locked = await lockMonitor(database, run, { tenantId, id: monitorId });
    if (locked === null) return null;
    if (ifVersion !== undefined && ifVersion !== settingsVersionOf(locked.monitor, locked.agentIds))
      throw conflict(`monitor ${monitorId} has changed since it was read: read it again, then send the change again`);
    const page = findPageToPatch(body, locked.monitor);
    if (page?.pageUrl !== context.vendorReading?.page.pageUrl && !isLast) return 'vendor_changed';
    const { settings, agentSources, secrets } = accept(readMonitorPatch(body, { current: draftOf(locked), context }));
    const change = { settings, secrets, agentIds: agentSources };
    return await updateMonitor({ database, run, author, nowMs, holdsRechecks: true }, locked, change);
  });
}

/** `DELETE /monitors/{id}` */
export function deleteMonitorHandler(
  dependencies: Parts<'database' | 'now' | 'onScheduleChange' | 'logger'>,
): Handler<'deleteMonitor'> {
  const { database, now } = dependencies;
  return async (request, response) => {
    const id = idOf(request);
    const schedule = await deleteMonitor(database, {
      author: authorOf(response),
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
export function pauseMonitorHandler(dependencies: AnnouncingParts): Handler<'pauseMonitor'> {
  return switchMonitor(dependencies, pauseMonitor);
}

/** `POST /monitors/{id}/resume` */
export function resumeMonitorHandler(dependencies: AnnouncingParts): Handler<'resumeMonitor'> {
  return switchMonitor(dependencies, resumeMonitor);
}

type Switch = (database: Database, key: ChangeKey) => Promise<StoredMonitor | null>;

function switchMonitor(dependencies: AnnouncingParts, change: Switch): Handler<'pauseMonitor' | 'resumeMonitor'> {
  const { database, now } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const stored = await change(database, { author: authorOf(response), ...key, nowMs: now(), holdsRechecks: true });
    if (stored === null) throw notFound('monitor', key.id);
    await announceMonitor(dependencies, stored);
    const found = await findMonitor(database, key);
    // Deleted by another request meanwhile: the caller gets the same 404.
    if (found === null) throw notFound('monitor', key.id);
    await answerWithDetail(dependencies, found, response);
  };
}

async function answerWithDetail(
  { database, now }: Parts<'database' | 'now'>,
  { monitor, agentIds, hasOwnSources }: FoundMonitor,
  response: Response<Answer<'getMonitor'>>,
): Promise<void> {
  const unable = hasOwnSources && isAgentChecked(monitor.type) ? await listUnableSources(database, monitor.no) : [];
  const maintenance = (await readCurrentMaintenance(database, { monitorIds: [monitor.id], nowMs: now() })).get(
    monitor.id,
  );
  response.json(presentMonitorDetail(monitor, { agentIds, unable, maintenance }, { canWrite: canWrite(response) }));
}

function canWrite(response: Response): boolean {
  return callerOf(response).scopes.includes('write');
}
