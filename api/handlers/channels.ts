import { randomBytes } from 'node:crypto';
import type { RequestHandler } from 'express';
import { createChannel, deleteChannel, findChannel, listChannels, updateChannel } from '../../models/channels.ts';
import { listOwnMonitorIds } from '../../models/monitors.ts';
import { accept, badRequest, notFound } from '../api-error.ts';
import { readChannelCreate, readChannelPatch } from '../channel-input.ts';
import { connectChannel } from '../channel-connection.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { byCreation, cutPage, readPage } from '../pagination.ts';
import { presentChannel } from '../presenters/channel.ts';
import { callerOf, idOf, isId } from '../request-context.ts';
import type { operations } from '../schema.generated.ts';

type ListQuery = NonNullable<operations['listChannels']['parameters']['query']>;

/** `GET /channels` */
export function listChannelsHandler({ database, config }: ApiDependencies): RequestHandler {
  return async (request, response) => {
    const { limit, after } = readPage(request);
    const { type } = request.query as ListQuery;
    const channels = await listChannels(database, {
      tenantId: callerOf(response).tenantId,
      ...(type && { type }),
      ...(after && { after: { createdAt: after.at, id: after.id } }),
      ...(limit !== null && { limit: limit + 1 }),
    });
    const page = cutPage(channels, { limit, positionOf: byCreation }, { request, response, publicUrl: config.publicUrl });
    response.json({ channels: page.map(presentChannel) });
  };
}

/** `POST /channels`: a webhook proves itself before anything is stored (D-52). */
export function createChannelHandler(dependencies: ApiDependencies): RequestHandler {
  const { database, makeId, now } = dependencies;
  return async (request, response) => {
    const { tenantId } = callerOf(response);
    const { url, ...draft } = accept(readChannelCreate(request.body));
    await requireOwnMonitors(dependencies, tenantId, draft.monitorIds);

    const nowMs = now();
    const id = makeId('nch');
    const { stored, shown } = await connectChannel(dependencies, { type: draft.type, url, nowMs }, randomBytes);
    await createChannel(database, { id, tenantId, ...draft, ...stored, nowMs });
    response.status(201).json({ id, ...shown });
  };
}

/** `GET /channels/{id}` */
export function getChannelHandler({ database }: ApiDependencies): RequestHandler {
  return async (request, response) => {
    const id = idOf(request);
    const channel = await findChannel(database, { tenantId: callerOf(response).tenantId, id });
    if (channel === null) throw notFound('channel', id);
    response.json(presentChannel(channel));
  };
}

/** `PATCH /channels/{id}` */
export function updateChannelHandler(dependencies: ApiDependencies): RequestHandler {
  const { database } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const current = await findChannel(database, key);
    if (current === null) throw notFound('channel', key.id);
    // The type cannot change any more, so that the patch can be judged before the row is locked.
    const patch = accept(readChannelPatch(request.body, current.type));
    await requireOwnMonitors(dependencies, key.tenantId, patch.monitorIds ?? []);
    if ((await updateChannel(database, key, patch)) === null) throw notFound('channel', key.id);
    response.json({ ok: true });
  };
}

/** `DELETE /channels/{id}` */
export function deleteChannelHandler({ database }: ApiDependencies): RequestHandler {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    if (!(await deleteChannel(database, key))) throw notFound('channel', key.id);
    response.json({ ok: true });
  };
}

async function requireOwnMonitors({ database }: ApiDependencies, tenantId: string, monitorIds: readonly string[]): Promise<void> {
  if (monitorIds.length === 0) return;
  const own = new Set(await listOwnMonitorIds(database, tenantId, monitorIds.filter(isId)));
  const unknown = monitorIds.filter((id) => !own.has(id));
  if (unknown.length > 0) throw badRequest(`monitor_ids must be ids of your monitors, got unknown ${unknown.slice(0, 5).join(', ')}`);
}
