import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { generateToken } from '../../models/accounts/api-tokens.ts';
import { createAgentWithin, findAgent, rotateAgentToken } from '../../models/agents/agents.ts';
import { fingerprintOf } from '../../models/secrets/fingerprint.ts';
import { ApiError, badRequest, notFound, requirePlainName } from '../api-error.ts';
import type { ApiConfig, Parts } from '../dependencies.ts';
import type { Handler } from '../handler.ts';
import { authorOf, callerOf, idOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

const NEEDS_NO_QUOTES = /^[\w:/.@%+-]+$/;

/** What a customer types to start an agent, for a POSIX shell. */
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
    const { name, region = null } = request.body;
    await rateLimits.take('agent', tenantId);
    const token = generateToken('spa');
    const { ownAgents } = PLAN_LIMITS[plan];
    const agent = await createAgentWithin(
      database,
      {
        author: authorOf(response),
        id: makeId('agt'),
        tenantId,
        name: requirePlainName('name', name),
        region: region === null ? null : requirePlainName('region', region),
        tokenFingerprint: fingerprintOf(token),
        nowMs: now(),
      },
      config.planCountLimits ? ownAgents : null,
    );
    if (agent === null)
      throw badRequest(
        `the ${plan} plan allows at most ${ownAgents === 1 ? '1 agent' : `${ownAgents} agents`} of your own, and ` +
          'this account has as many: delete one first',
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
      throw new ApiError(403, `agent ${id} is shared by everyone, and its token is not yours to change`);
    const token = generateToken('spa');
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
