import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { sortTags } from '../../core/monitors/monitor.ts';
import { generateToken } from '../../models/accounts/api-tokens.ts';
import {
  createAgentWithin,
  deleteAgent,
  findAgent,
  listAgents,
  rotateAgentToken,
  updateAgent,
  type Agent,
} from '../../models/agents/agents.ts';
import { fingerprintOf } from '../../models/secrets/secret-box.ts';
import { ApiError, badRequest, notFound, requirePlainName } from '../api-error.ts';
import type { ApiConfig, Handler, Parts } from '../handler.ts';
import { announceSchedule } from '../monitors/changes.ts';
import { byCreation, cutPage, readPage } from '../pagination.ts';
import { authorOf, callerOf, idOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

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

/** `DELETE /agents/{id}`: callers cannot delete shared agents (D-63). */
export function deleteAgentHandler(
  dependencies: Parts<'database' | 'onScheduleChange' | 'logger' | 'now'>,
): Handler<'deleteAgent'> {
  const { database, now } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const agent = await findAgent(database, key);
    if (agent?.kind === 'first_party')
      throw new ApiError(403, `agent ${key.id} is shared by all accounts and cannot be deleted`);
    const schedule = agent && (await deleteAgent(database, { ...key, nowMs: now(), author: authorOf(response) }));
    if (schedule === null) throw notFound('agent', key.id);
    announceSchedule(dependencies, schedule);
    response.status(204).end();
  };
}

/** `PATCH /agents/{id}`: callers cannot change shared agents (D-63). */
export function updateAgentHandler({ database }: Parts<'database'>): Handler<'updateAgent'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const { name, region, tags } = request.body;
    const change = {
      ...(name !== undefined && { name: requirePlainName('name', name) }),
      ...(region !== undefined && { region: region === null ? null : requirePlainName('region', region) }),
      ...(tags !== undefined && { tags: sortTags(tags) }),
    };
    const agent = await updateAgent(database, { ...key, author: authorOf(response) }, change);
    if (agent === null && (await findAgent(database, key)) !== null)
      throw new ApiError(403, `agent ${key.id} is shared by all accounts and cannot be changed`);
    if (agent === null) throw notFound('agent', key.id);
    response.json(presentAgent(agent));
  };
}

const NEEDS_NO_QUOTES = /^[\w:/.@%+-]+$/;

/** Returns the POSIX shell command that starts a customer's agent. */
function writeInstallCommand({ publicUrl, token }: { publicUrl: string; token: string }): string {
  const url = NEEDS_NO_QUOTES.test(publicUrl) ? publicUrl : `'${publicUrl.replaceAll("'", `'\\''`)}'`;
  return `SPOTCHECK_URL=${url} SPOTCHECK_AGENT_TOKEN=${token} npm run agent`;
}

/** `POST /agents` */
export function createAgentHandler({
  database,
  makeId,
  now,
  config,
  rateLimits,
}: Parts<'database' | 'makeId' | 'now' | 'config' | 'rateLimits'>): Handler<'createAgent'> {
  return async (request, response) => {
    const { tenantId, plan } = callerOf(response);
    const { name, region = null, tags = [] } = request.body;
    await rateLimits.take('agent', tenantId);
    const token = generateToken('spa', config.cell);
    const { ownAgents } = PLAN_LIMITS[plan];
    const agent = await createAgentWithin(
      database,
      {
        author: authorOf(response),
        id: makeId('agt'),
        tenantId,
        name: requirePlainName('name', name),
        region: region === null ? null : requirePlainName('region', region),
        tags: sortTags(tags),
        tokenFingerprint: fingerprintOf(token),
        nowMs: now(),
      },
      config.planCountLimits ? ownAgents : null,
    );
    if (agent === null)
      throw badRequest(
        `the ${plan} plan allows at most ${ownAgents === 1 ? '1 private agent' : `${ownAgents} private agents`}, and ` +
          'this account has reached the limit: delete one first',
      );
    response.setHeader('Cache-Control', 'no-store');
    response.status(201).json({ id: agent.id, name: agent.name, region: agent.region, ...tokenAnswer(config, token) });
  };
}

/** `POST /agents/{id}/rotate` */
export function rotateAgentTokenHandler({
  database,
  config,
}: Parts<'database' | 'config'>): Handler<'rotateAgentToken'> {
  return async (request, response) => {
    const id = idOf(request);
    const agent = await findAgent(database, { tenantId: callerOf(response).tenantId, id });
    if (agent?.kind === 'first_party')
      throw new ApiError(403, `agent ${id} is shared by all accounts, and its token cannot be rotated here`);
    const token = generateToken('spa', config.cell);
    if (
      agent === null ||
      !(await rotateAgentToken(database, { id, tokenFingerprint: fingerprintOf(token), author: authorOf(response) }))
    )
      throw notFound('agent', id);
    response.setHeader('Cache-Control', 'no-store');
    response.json(tokenAnswer(config, token));
  };
}

function tokenAnswer({ publicUrl }: ApiConfig, token: string): components['schemas']['AgentToken'] {
  return { token, install_command: writeInstallCommand({ publicUrl, token }) };
}

/**
 * Returns an agent for responses. The service's internal source, which probes domains and the like, is never listed.
 */
export function presentAgent(agent: Agent): components['schemas']['Agent'] {
  return {
    id: agent.id,
    tenant_id: agent.tenantId,
    kind: agent.kind === 'tenant' ? 'tenant' : 'first_party',
    name: agent.name,
    region: agent.region,
    tags: [...agent.tags],
    capabilities: agent.capabilities,
    version: agent.version,
    arch: agent.arch,
    last_seen_at: agent.lastSeenAt,
    created_at: agent.createdAt,
  };
}
