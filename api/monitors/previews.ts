import type { PreviewOutcome } from '../../core/checks/preview.ts';
import { SERVICE_REGION } from '../../queues/payloads.ts';
import { ApiError } from '../api-error.ts';
import { presentTimings } from '../checks/presenter.ts';
import type { Parts } from '../dependencies.ts';
import type { Handler } from '../handler.ts';
import { presentAnswerEvidence } from '../incidents/presenter.ts';
import { callerOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { readPreview } from './preview-draft.ts';

/** `POST /trials` */
export function previewMonitorHandler(
  dependencies: Parts<'database' | 'readVendorPage' | 'now' | 'makeId' | 'runPreview' | 'rateLimits' | 'logger'>,
): Handler<'tryMonitor'> {
  const { runPreview, rateLimits, logger } = dependencies;
  return async (request, response) => {
    const caller = callerOf(response);
    await rateLimits.take('preview', caller.tenantId);
    const { region, target } = await readPreview(dependencies, caller, request.body);
    const outcome = await runPreview(region, { tenantId: caller.tenantId, target }).catch((error: unknown) => {
      logger.warn({ err: error, region }, 'preview.not_queued');
      throw new ApiError(503, 'the queue is not reachable at the moment: try again', { 'Retry-After': '5' });
    });
    const sharedRegion = region === SERVICE_REGION ? null : region;
    if (outcome === null)
      throw new ApiError(
        503,
        `${sharedRegion === null ? 'the service' : `the shared agent of ${sharedRegion}`} did not answer in ` +
          'time: try again',
        { 'Retry-After': '5' },
      );
    response.json(presentPreview(outcome, sharedRegion));
  };
}

/** The outcome of a preview, as it is shown; a null region: the service itself checked. */
function presentPreview(
  { answer, phases, certificate, ...outcome }: PreviewOutcome,
  region: string | null,
): components['schemas']['Trial'] {
  return {
    region,
    verdict: outcome.verdict,
    cause: outcome.cause,
    reason: outcome.reason,
    latency_ms: outcome.latencyMs,
    http_status: outcome.httpStatus,
    phases: phases && presentTimings(phases),
    answer: answer && presentAnswerEvidence(answer),
    certificate: certificate && {
      subject: certificate.subject,
      issuer: certificate.issuer,
      valid_from: certificate.validFrom,
      valid_to: certificate.validTo,
    },
    conditions: outcome.conditions,
    facts: outcome.facts,
  };
}
