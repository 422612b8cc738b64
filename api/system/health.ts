import type { RequestHandler } from 'express';
import { isTimeSettled } from '../../models/system/service-clock.ts';
import { createWriteProof } from '../../models/system/write-proof.ts';
import type { Parts } from '../dependencies.ts';

/** `GET /healthz`: the process is there. */
export const getHealth: RequestHandler = (_request, response) => {
  response.json({ status: 'ok' });
};

/**
 * `GET /readyz`: database and all queues take what they are given, otherwise 503 and which of them does not; 503 from
 * the moment on that the process is to stop, too. `clock` is there while the service goes by its own time because
 * PostgreSQL's clock was set: everything works, and an operator should look.
 */
export function getReadinessHandler({
  database,
  findAwayQueues,
  stopping,
}: Parts<'database' | 'findAwayQueues' | 'stopping'>): RequestHandler {
  const isStoring = createWriteProof(database);
  return async (_request, response) => {
    const [isDatabaseThere, away] = await Promise.all([isStoring(), findAwayQueues()]);
    const isQueueThere = away.length === 0;
    const isReady = isDatabaseThere && isQueueThere && !stopping.aborted;
    const status = stopping.aborted ? 'stopping' : isReady ? 'ready' : 'not ready';
    const details = { ...(!isQueueThere && { queues_away: away }), ...(!isTimeSettled() && { clock: 'set' }) };
    response.status(isReady ? 200 : 503).json({ status, database: isDatabaseThere, queue: isQueueThere, ...details });
  };
}

/** `GET /metrics`: Prometheus text. */
export function getMetricsHandler({ metrics }: Parts<'metrics'>): RequestHandler {
  return async (_request, response) => {
    response.type(metrics.contentType).send(await metrics.metrics());
  };
}
