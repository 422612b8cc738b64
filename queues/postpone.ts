import { DelayedError, WaitingError, type Job } from 'bullmq';

/**
 * Puts a running job back for `delayMs`, without counting a failure. Always throws: it is the last word of a processor.
 */
export async function postponeJob(job: Job, token: string | undefined, delayMs: number): Promise<never> {
  await job.moveToDelayed(Date.now() + delayMs, token);
  throw new DelayedError();
}

/** Puts a running job back for the next worker, without counting a failure. Always throws, likewise. */
export async function giveJobBack(job: Job, token: string | undefined): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}
