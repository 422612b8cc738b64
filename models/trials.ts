import type { CheckTarget } from '../core/monitor.ts';
import type { TrialOutcome } from '../core/trial.ts';
import type { Database } from './database.ts';

type Secrets = Pick<Database, 'secrets'>;

/**
 * What a trial is to probe, sealed whole for its way through the queue (D-17): the draft's secrets are in it. Bound to
 * the trial, so that it opens as nothing else.
 */
export function sealTrialTarget({ secrets }: Secrets, trialId: string, target: CheckTarget): string {
  return secrets.seal(JSON.stringify(target), `trial:${trialId}:target`);
}

/** The target of `sealTrialTarget`; throws where it is another trial's, or its key is not in the ring. */
export function openTrialTarget({ secrets }: Secrets, trialId: string, sealed: string): CheckTarget {
  return JSON.parse(secrets.open(sealed, `trial:${trialId}:target`));
}

/** What a trial came to, sealed for the way back: what strangers' servers answer is nobody's but the asker's. */
export function sealTrialOutcome({ secrets }: Secrets, trialId: string, outcome: TrialOutcome): string {
  return secrets.seal(JSON.stringify(outcome), `trial:${trialId}:outcome`);
}

/** The outcome of `sealTrialOutcome`; throws likewise. */
export function openTrialOutcome({ secrets }: Secrets, trialId: string, sealed: string): TrialOutcome {
  return JSON.parse(secrets.open(sealed, `trial:${trialId}:outcome`));
}
