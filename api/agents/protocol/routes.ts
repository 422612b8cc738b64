import { Router, type RequestHandler } from 'express';
import { badRequest, methodNotAllowed } from '../../api-error.ts';
import type { Parts } from '../../handler.ts';
import { readJson } from '../../middleware/json-body.ts';
import { limitRequests } from '../../middleware/limits.ts';
import { contextOf } from '../../request-context.ts';
import { agentAuthentication, requireAgent } from './authentication.ts';
import { ingestHandler } from './ingest.ts';
import { pullHandler } from './pull.ts';

/** Below which path agents call. */
export const AGENT_PATH = '/agent/v1';

/** The largest body of an agent, in bytes: 1,000 results take less than half of it. */
const MAX_BODY_BYTES = 1_048_576;

/** More than bodies of so many bytes have that agents send: a value takes fourteen bytes at least, with its name. */
const MAX_VALUES = 75_000;

/**
 * Requests of an agent in a minute, over all processes: one every 15 s, results every second, and a backlog to be rid
 * of.
 */
const REQUESTS_PER_MINUTE = 300;

/** Where agents of other makes upload what they found in their network, if they do. */
const DISCOVERY_PATHS = ['/discoveries', '/discovery'];

/** What the routes of agents use, all together. */
type AgentParts = Parts<
  | 'database'
  | 'logger'
  | 'metrics'
  | 'now'
  | 'submitResults'
  | 'recordFailedCheck'
  | 'rateLimitStore'
  | 'rateLimits'
  | 'takeAnswerSlot'
>;

/**
 * The protocol of customers' agents: calls with an agent's token, and no other. `concurrency` limits what an account
 * has under way at a time.
 */
export function createAgentRouter(dependencies: AgentParts, concurrency: RequestHandler): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const handlers = { '/pull': pullHandler(dependencies), '/ingest': ingestHandler(dependencies) };
  const limit = limitRequests(dependencies.rateLimitStore, {
    limits: [REQUESTS_PER_MINUTE],
    countOf: ({ agent }) => (agent === undefined ? null : { key: `agent:${agent.id}`, limit: REQUESTS_PER_MINUTE }),
  });
  for (const path of [...Object.keys(handlers), ...DISCOVERY_PATHS]) router.all(path, recordRoute(path));
  router.use(agentAuthentication(dependencies), limit, requireAgent);
  for (const [path, handler] of Object.entries(handlers))
    router
      .route(path)
      .post(...readJson(MAX_BODY_BYTES, MAX_VALUES), requireBody, concurrency, handler)
      .all(onlyPost);
  for (const path of DISCOVERY_PATHS)
    router
      .route(path)
      .post(...readJson(MAX_BODY_BYTES, MAX_VALUES), dropDiscoveries)
      .all(onlyPost);
  return router;
}

/** Taken and dropped: an agent whose upload fails would retry for ever. */
const dropDiscoveries: RequestHandler = (_request, response) => {
  response.status(204).end();
};

function recordRoute(path: string): RequestHandler {
  return (_request, response, next) => {
    contextOf(response).route = `${AGENT_PATH}${path}`;
    next();
  };
}

const requireBody: RequestHandler = (request, _response, next) => {
  if (request.body === undefined) throw badRequest('the body is required: send a JSON object');
  next();
};

const onlyPost: RequestHandler = (request) => {
  throw methodNotAllowed(request.method, 'POST');
};
