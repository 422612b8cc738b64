import type { PreviewOutcome } from '../../core/preview.ts';
import type { components } from '../schema.generated.ts';
import { presentTimings } from './check.ts';
import { presentAnswerEvidence } from './incident-detail.ts';

/** The outcome of a preview, as it is shown; a null region: the service itself checked. */
export function presentPreview(
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
