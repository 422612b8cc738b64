import { Router, type RequestHandler } from 'express';
import { badRequest, methodNotAllowed } from '../../api-error.ts';
import type { Parts } from '../../handler.ts';
import { readJson } from '../../middleware/json-body.ts';
import { limitRequests } from '../../middleware/limits.ts';
import { contextOf } from '../../request-context.ts';
import { agentAuthentication, requireAgent } from './authentication.ts';
import { ingestHandler } from './ingest.ts';
import { pullHandler } from './pull.ts';

/** Base path of the agent protocol. */
export const AGENT_PATH = '/agent/v1';

/** Maximum size of a body, in bytes: 1,000 results take less than half of it. */
const MAX_BODY_BYTES = 1_048_576;

/** Maximum number of JSON values in a body; with its name a value takes at least fourteen bytes. */
const MAX_VALUES = 75_000;

/** Requests of an agent in a minute, across processes: one every 15 s, results every second, and a backlog to drain. */
const REQUESTS_PER_MINUTE = 300;

/** Paths where third-party agents may upload discoveries in their network. */
const DISCOVERY_PATHS = ['/discoveries', '/discovery'];

/** Dependencies of all agent routes. */
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
 * The protocol of customers' agents, which accepts only agent tokens. `concurrency` limits the concurrent requests of
 * an account.
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

/** Accepts and drops uploads: an agent whose upload fails would retry forever. */
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
