import type { RequestHandler } from 'express';
import { Histogram } from 'prom-client';
import type { Parts } from '../handler.ts';
import { contextOf } from '../request-context.ts';

/** Bucket limits of the duration histogram, in seconds. */
const BUCKETS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Writes one log line and one observation per answered request. Routes are named as in the description: paths can
 * contain ids and ping tokens, and unknown ones would create unlimited metrics.
 */
export function requestLog({ logger, metrics }: Parts<'logger' | 'metrics'>): RequestHandler {
  const durations = new Histogram({
    name: 'spotcheck_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers: [metrics],
  });
  return (request, response, next) => {
    const startedAt = performance.now();
    response.once('close', () => {
      const { requestId, address, caller, agent, route = 'unknown', isStream = false } = contextOf(response);
      const durationMs = performance.now() - startedAt;
      const isAborted = !response.writableFinished;
      // The lifetime of a stream is not a response time.
      if (!isStream)
        durations.observe({ method: request.method, route, status: String(response.statusCode) }, durationMs / 1000);
      logger.info(
        {
          request_id: requestId,
          method: request.method,
          route,
          address: address ?? undefined,
          status: response.statusCode,
          outcome: isStream ? 'streamed' : isAborted ? 'aborted' : 'answered',
          duration_ms: Math.round(durationMs * 10) / 10,
          tenant_id: caller?.tenantId ?? agent?.tenantId,
          agent_id: agent?.id,
          token_id: caller?.kind === 'token' ? caller.tokenId : undefined,
          user_id: caller?.kind === 'session' ? caller.user.id : undefined,
        },
        'request.completed',
      );
    });
    next();
  };
}

/**
 * Assigns each request an id, shown in `X-Request-Id` and in errors (D-03). A caller's own id is not used, because ids
 * must be unique.
 */
export function assignRequestId({ makeId }: Parts<'makeId'>): RequestHandler {
  return (_request, response, next) => {
    const id = makeId('req');
    contextOf(response).requestId = id;
    response.setHeader('X-Request-Id', id);
    next();
  };
}
