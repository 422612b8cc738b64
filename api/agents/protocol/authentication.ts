import type { RequestHandler, Response } from 'express';
import { findTokenAgent, type TokenAgent } from '../../../models/agents/protocol.ts';
import { ApiError } from '../../api-error.ts';
import type { Parts } from '../../handler.ts';
import { bearerTokenOf } from '../../middleware/authentication.ts';
import { contextOf } from '../../request-context.ts';

const AGENT_TOKEN = /^spa_[A-Za-z0-9_-]{1,200}$/;
const API_TOKEN = /^Bearer +spk_/i;

/**
 * Identifies the calling agent. Without a usable token the request stays anonymous, for `requireAgent` to refuse after
 * it has been counted.
 */
export function agentAuthentication({ database }: Parts<'database'>): RequestHandler {
  return async (request, response, next) => {
    const token = bearerTokenOf(request) ?? '';
    const agent = AGENT_TOKEN.test(token) ? await findTokenAgent(database, token) : null;
    if (agent !== null) contextOf(response).agent = agent;
    next();
  };
}

/**
 * Refuses callers that are not agents, with 401 and advice. The response is the same for unknown and revoked tokens.
 */
export const requireAgent: RequestHandler = (request, response, next) => {
  const { authorization } = request.headers;
  if (contextOf(response).agent === undefined) throw refusalOf(authorization);
  next();
};

/** Returns the calling agent. Throws on routes without authentication. */
export function agentOf(response: Response): TokenAgent {
  const { agent } = contextOf(response);
  if (agent === undefined) throw new Error('This route does not authenticate its agent');
  return agent;
}

/** Returns the 401 for a token that is unknown or no longer valid. */
export function invalidAgentToken(): ApiError {
  return new ApiError(
    401,
    'the token in the Authorization header is not a valid agent token: it is unknown or revoked, or its agent was ' +
      'deleted',
    {
      'WWW-Authenticate': 'Bearer realm="spotcheck agents", error="invalid_token"',
    },
  );
}

function refusalOf(authorization: string | undefined): ApiError {
  if (authorization === undefined)
    return new ApiError(401, 'the Authorization header must be "Bearer spa_...", got none', {
      'WWW-Authenticate': 'Bearer realm="spotcheck agents"',
    });
  if (!API_TOKEN.test(authorization)) return invalidAgentToken();
  return new ApiError(
    401,
    'the token in the Authorization header is an API token (spk_...): use the agent token (spa_...) that was shown ' +
      'when the agent was created',
    {
      'WWW-Authenticate': 'Bearer realm="spotcheck agents", error="invalid_token"',
    },
  );
}
