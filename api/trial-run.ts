import { setTimeout as pause } from 'node:timers/promises';
import type { CheckTarget } from '../core/monitor.ts';
import type { TrialOutcome } from '../core/trial.ts';
import type { Database } from '../models/database.ts';
import { openTrialOutcome, sealTrialTarget } from '../models/trials.ts';
import type { JobQueues } from '../queues/job-queues.ts';

export type TrialRunOptions = {
  database: Pick<Database, 'secrets'>;
  queues: Pick<JobQueues, 'enqueueTrial' | 'takeTrialReturn'>;
  /** A name that no other trial has. */
  makeTrialId: () => string;
  now: () => number;
};

/** What is to be probed, and for whom. */
export type TriedTarget = { tenantId: string; target: CheckTarget };

/** Longer than any probe takes, and no longer than people wait, in milliseconds. */
const PATIENCE_MS = 30_000;

/** Looks at the job grow apart between these, in milliseconds: most targets answer at once. */
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 300;

/**
 * Makes the function that has a target probed once by the check process of a region, and waits for what it saw; null
 * where that did not answer in time, or could not.
 */
export function createTrialRun({
  database,
  queues,
  makeTrialId,
  now,
}: TrialRunOptions): (region: string, tried: TriedTarget) => Promise<TrialOutcome | null> {
  return async (region, { tenantId, target }) => {
    const trialId = makeTrialId();
    const startMs = now();
    const untilMs = startMs + PATIENCE_MS;
    await queues.enqueueTrial(region, {
      trialId,
      tenantId,
      sealedTarget: sealTrialTarget(database, trialId, target),
      untilMs,
    });
    for (
      let waitMs = FIRST_WAIT_MS;
      Math.abs(now() - startMs) < PATIENCE_MS;
      waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 1.5)
    ) {
      await pause(waitMs);
      const returned = await queues.takeTrialReturn(region, trialId);
      if (returned !== undefined) return returned && openTrialOutcome(database, trialId, returned.sealedOutcome);
    }
    return null;
  };
}
