import type { RequestHandler } from 'express';
import { SERVICE_REGION } from '../../queues/names.ts';
import { ApiError } from '../api-error.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { presentTrial } from '../presenters/trial.ts';
import { callerOf } from '../request-context.ts';
import { readTrial } from '../trial-draft.ts';

/** `POST /trials` */
export function tryMonitorHandler(dependencies: HandlerDependencies): RequestHandler {
  const { runTrial, turns, logger } = dependencies;
  return async (request, response) => {
    const caller = callerOf(response);
    await turns.take('trial', caller.tenantId);
    const { region, target } = await readTrial(dependencies, caller, request.body);
    const outcome = await runTrial(region, { tenantId: caller.tenantId, target }).catch((error: unknown) => {
      logger.warn({ err: error, region }, 'trial.not_queued');
      throw new ApiError(503, 'the queue is not reachable at the moment: try again', { 'Retry-After': '5' });
    });
    const place = region === SERVICE_REGION ? null : region;
    if (outcome === null)
      throw new ApiError(
        503,
        `${place === null ? 'the service' : `the shared agent of ${place}`} did not answer in time: try again`,
        { 'Retry-After': '5' },
      );
    response.json(presentTrial(outcome, place));
  };
}
