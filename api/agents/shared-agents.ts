import { deleteAgent, findAgent, listAgents } from '../../models/agents/agents.ts';
import { ApiError, notFound } from '../api-error.ts';
import type { Parts } from '../dependencies.ts';
import type { Handler } from '../handler.ts';
import { announceSchedule } from '../monitors/schedule-changes.ts';
import { byCreation, cutPage, readPage } from '../pagination.ts';
import { authorOf, callerOf, idOf } from '../request-context.ts';
import { presentAgent } from './presenter.ts';

/** `GET /agents` */
export function listAgentsHandler({ database, config }: Parts<'database' | 'config'>): Handler<'listAgents'> {
  return async (request, response) => {
    const { limit, after } = readPage(request);
    const { kind, region } = request.query;
    const agents = await listAgents(database, {
      tenantId: callerOf(response).tenantId,
      filter: { ...(kind && { kind }), ...(region !== undefined && { region }) },
      ...(after && { after: { createdAt: after.at, id: after.id } }),
      ...(limit !== null && { limit: limit + 1 }),
    });
    const page = cutPage(agents, { limit, positionOf: byCreation }, { request, response, publicUrl: config.publicUrl });
    response.json({ agents: page.map(presentAgent) });
  };
}

/** `GET /agents/{id}` */
export function getAgentHandler({ database }: Parts<'database'>): Handler<'getAgent'> {
  return async (request, response) => {
    const id = idOf(request);
    const agent = await findAgent(database, { tenantId: callerOf(response).tenantId, id });
    if (agent === null) throw notFound('agent', id);
    response.json(presentAgent(agent));
  };
}

/** `DELETE /agents/{id}`: shared agents are not the caller's to delete (D-63). */
export function deleteAgentHandler(
  dependencies: Parts<'database' | 'onScheduleChange' | 'logger'>,
): Handler<'deleteAgent'> {
  const { database } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const agent = await findAgent(database, key);
    if (agent?.kind === 'first_party')
      throw new ApiError(403, `agent ${key.id} is shared by everyone and cannot be deleted`);
    const schedule = agent && (await deleteAgent(database, { ...key, author: authorOf(response) }));
    if (schedule === null) throw notFound('agent', key.id);
    announceSchedule(dependencies, schedule);
    response.status(204).end();
  };
}
