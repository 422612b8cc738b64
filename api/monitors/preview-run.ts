import { setTimeout as pause } from 'node:timers/promises';
import type { PreviewOutcome } from '../../core/checks/preview.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import { openPreviewOutcome, sealPreviewTarget } from '../../models/checks/sealed-jobs.ts';
import type { Database } from '../../models/database.ts';
import type { JobQueues } from '../../queues/job-queues.ts';

export type PreviewRunOptions = {
  database: Pick<Database, 'secrets'>;
  queues: Pick<JobQueues, 'enqueuePreview' | 'takePreviewReturn'>;
  /** Makes an id that no other preview has. */
  makePreviewId: () => string;
  now: () => number;
};

/** What is to be probed, and for whom. */
export type PreviewInput = { tenantId: string; target: CheckTarget };

/** Longer than any probe takes, and no longer than people wait, in milliseconds. */
const PATIENCE_MS = 30_000;

/** Polls of the job grow apart from the first wait to the longest, in milliseconds: most targets answer at once. */
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 300;

/**
 * Makes the function that has the check process of a region probe a target once, and waits for the outcome. Null where
 * the process did not answer in time, or could not.
 */
export function createPreviewRun({
  database,
  queues,
  makePreviewId,
  now,
}: PreviewRunOptions): (region: string, preview: PreviewInput) => Promise<PreviewOutcome | null> {
  return async (region, { tenantId, target }) => {
    const previewId = makePreviewId();
    const startMs = now();
    const untilMs = startMs + PATIENCE_MS;
    await queues.enqueuePreview(region, {
      trialId: previewId,
      tenantId,
      sealedTarget: sealPreviewTarget(database, previewId, target),
      untilMs,
    });
    for (
      let waitMs = FIRST_WAIT_MS;
      Math.abs(now() - startMs) < PATIENCE_MS;
      waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 1.5)
    ) {
      await pause(waitMs);
      const returned = await queues.takePreviewReturn(region, previewId);
      if (returned !== undefined) return returned && openPreviewOutcome(database, previewId, returned.sealedOutcome);
    }
    return null;
  };
}
