import type { Response } from 'express';
import { readMonitorCreate } from '../../core/monitors/input/read.ts';
import { isAgentChecked, type Monitor } from '../../core/monitors/monitor.ts';
import { createBatched, type Batched } from '../../core/shared-calls.ts';
import { toUnixSeconds } from '../../core/time.ts';
import { findAgent } from '../../models/agents/agents.ts';
import { listUnableSources } from '../../models/agents/protocol.ts';
import { readMutes } from '../../models/alerts/mutes.ts';
import { createMonitor } from '../../models/monitors/monitor-changes.ts';
import { findMonitor, findMonitors, listMonitors, type FoundMonitor } from '../../models/monitors/monitors.ts';
import type { RowKey } from '../../models/sql.ts';
import { accept, badRequest, notFound } from '../api-error.ts';
import type { Answer, Handler, Parts } from '../handler.ts';
import { byCreation, cutPage, readPage } from '../pagination.ts';
import { authorOf, callerOf, idOf } from '../request-context.ts';
import {
  acceptStored,
  announceMonitor,
  patchMonitor,
  removeMonitor,
  switchMonitor,
  type AnnouncingParts,
  type MonitorChangeRequest,
} from './changes.ts';
import { loadMonitorContext } from './monitor-context.ts';
import {
  haveHeartbeats,
  presentMonitor,
  presentMonitorDetail,
  presentMonitorState,
  readCurrentFacts,
  type CurrentFacts,
} from './presenter.ts';

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
    const facts = await readCurrentFacts(database, { tenantId, nowMs: now(), hasHeartbeats: haveHeartbeats(page) });
    response.json({ monitors: page.map((monitor) => presentMonitor(monitor, facts(monitor.id))) });
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
    await refuseMute(dependencies, request.body.muted_until, null);
    const context = await loadMonitorContext(dependencies, {
      account: caller,
      monitorId: id,
      body: request.body,
      isNew: true,
    });
    const { settings, agentSources, parents, secrets } = accept(readMonitorCreate(request.body, context));
    const stored = await acceptStored(
      createMonitor(
        database,
        {
          author: authorOf(response),
          id,
          tenantId: caller.tenantId,
          settings,
          secrets,
          agentIds: agentSources,
          parents,
          nowMs: now(),
          defersRechecks: true,
        },
        config.planCountLimits ? caller.plan : null,
      ),
    );
    await announceMonitor(dependencies, stored);
    response.status(201).json(presentMonitorState(stored.monitor));
  };
}

/** `GET /monitors/{id}` */
export function getMonitorHandler(dependencies: Parts<'database' | 'now'>): Handler<'getMonitor'> {
  const find = createBatched((keys: RowKey[]) => findMonitors(dependencies.database, keys));
  const readFacts = createFactsReader(dependencies);
  return async (request, response) => {
    const id = idOf(request);
    const found = await find({ tenantId: callerOf(response).tenantId, id });
    if (found === null) throw notFound('monitor', id);
    await answerWithDetail({ ...dependencies, readFacts }, found, response);
  };
}

/** `PATCH /monitors/{id}` */
export function updateMonitorHandler(
  dependencies: AnnouncingParts & Parts<'readVendorPage' | 'config'>,
): Handler<'updateMonitor'> {
  return async (request, response) => {
    const {
      settings_version: _read,
      maintenance: _maintenance,
      muted_until: mutedUntil,
      if_settings_version: ifVersion,
      ...body
    } = request.body;
    const change = changeOf(request, response);
    await refuseMute(dependencies, mutedUntil, { tenantId: change.account.tenantId, id: change.monitorId });
    const stored = await patchMonitor(dependencies, change, { body, ifVersion });
    response.json(presentMonitorState(stored.monitor));
  };
}

/**
 * Refuses a future end of a mute, except that of the monitor: a script must not believe that it muted (D-827). `key` is
 * null for a new monitor.
 */
async function refuseMute(
  { database, now }: Parts<'database' | 'now'>,
  mutedUntil: number | undefined,
  key: RowKey | null,
): Promise<void> {
  const nowMs = now();
  if (mutedUntil === undefined || mutedUntil * 1000 <= nowMs) return;
  if (key !== null) {
    const untilMs = (await readMutes(database, { monitorIds: [key.id], nowMs })).get(key.id);
    if (untilMs !== undefined && toUnixSeconds(untilMs) === mutedUntil) return;
    if ((await findMonitor(database, key)) === null) throw notFound('monitor', key.id);
  }
  throw badRequest(`muted_until must be left out, got ${mutedUntil}: mute a monitor with POST /v1/monitors/{id}/mute`);
}

/** `DELETE /monitors/{id}` */
export function deleteMonitorHandler(
  dependencies: Parts<'database' | 'now' | 'onScheduleChange' | 'logger'>,
): Handler<'deleteMonitor'> {
  return async (request, response) => {
    await removeMonitor(dependencies, changeOf(request, response));
    response.status(204).end();
  };
}

/** `POST /monitors/{id}/pause` */
export function pauseMonitorHandler(dependencies: AnnouncingParts): Handler<'pauseMonitor'> {
  return switchHandler(dependencies, false);
}

/** `POST /monitors/{id}/resume` */
export function resumeMonitorHandler(dependencies: AnnouncingParts): Handler<'resumeMonitor'> {
  return switchHandler(dependencies, true);
}

function switchHandler(dependencies: AnnouncingParts, enabled: boolean): Handler<'pauseMonitor' | 'resumeMonitor'> {
  const readFacts = createFactsReader(dependencies);
  return async (request, response) => {
    const change = changeOf(request, response);
    await switchMonitor(dependencies, change, enabled);
    const key = { tenantId: change.account.tenantId, id: change.monitorId };
    const found = await findMonitor(dependencies.database, key);
    // If another request deletes the monitor meanwhile, the caller gets the same 404.
    if (found === null) throw notFound('monitor', key.id);
    await answerWithDetail({ ...dependencies, readFacts }, found, response);
  };
}

function changeOf(request: { params: { id: string } }, response: Response): MonitorChangeRequest {
  return { account: callerOf(response), author: authorOf(response), monitorId: idOf(request) };
}

type FactsReader = Batched<Monitor, CurrentFacts>;

/** Makes the function that reads the current facts of a monitor, with one query for many requests. */
function createFactsReader({ database, now }: Parts<'database' | 'now'>): FactsReader {
  return createBatched(async (monitors: Monitor[]) => {
    const monitorIds = [...new Set(monitors.map(({ id }) => id))];
    const hasHeartbeats = haveHeartbeats(monitors);
    const factsOf = await readCurrentFacts(database, { monitorIds, nowMs: now(), hasHeartbeats });
    return monitors.map(({ id }) => factsOf(id));
  });
}

async function answerWithDetail(
  { database, readFacts }: Parts<'database'> & { readFacts: FactsReader },
  { monitor, agentIds, hasOwnSources, parents }: FoundMonitor,
  response: Response<Answer<'getMonitor'>>,
): Promise<void> {
  const unable = hasOwnSources && isAgentChecked(monitor.type) ? await listUnableSources(database, monitor.no) : [];
  const facts = await readFacts(monitor);
  response.json(
    presentMonitorDetail(monitor, { agentIds, unable, parents, ...facts }, { canWrite: canWrite(response) }),
  );
}

function canWrite(response: Response): boolean {
  return callerOf(response).scopes.includes('write');
}
