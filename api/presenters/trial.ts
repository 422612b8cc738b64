import type { TrialOutcome } from '../../core/trial.ts';
import type { components } from '../schema.generated.ts';
import { presentPhases } from './check.ts';
import { presentSeenAnswer } from './incident-detail.ts';

/** What a trial came to, as it is shown; a null region: the service itself looked. */
export function presentTrial(
  { answer, phases, certificate, ...outcome }: TrialOutcome,
  region: string | null,
): components['schemas']['Trial'] {
  return {
    region,
    verdict: outcome.verdict,
    cause: outcome.cause,
    reason: outcome.reason,
    latency_ms: outcome.latencyMs,
    http_status: outcome.httpStatus,
    phases: phases && presentPhases(phases),
    answer: answer && presentSeenAnswer(answer),
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
