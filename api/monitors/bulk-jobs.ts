import type { BulkOrder, BulkResult, BulkTask } from '../../core/monitors/bulk.ts';
import {
  claimBulkChange,
  failOpenSteps,
  findBulkActor,
  listOpenSteps,
  openOrder,
  recordStep,
  settleBulkChange,
  type BulkChange,
  type ClaimedChange,
  type OpenStep,
  type Selected,
} from '../../models/monitors/bulk-changes.ts';
import { runOn } from '../../models/sql.ts';
import type { BulkChanges, Parts } from '../handler.ts';
import type { BulkSteps, Recorder } from './bulk-steps.ts';

/**
 * Maximum number of jobs that a process runs at a time, in batches: the job that has waited longest gets the next
 * batch.
 */
const LANES = 2;

/** Maximum number of monitors in a batch, and the time after which it begins no more, in milliseconds. */
const BATCH = 200;
const BATCH_MS = 1000;

/** Interval of searching for jobs that a killed process left, in milliseconds. */
const POLL_MS = 5000;

/** Time after which an unfinished job is given up, in milliseconds: no caller waits any longer. */
const MAX_JOB_MS = 900_000;

type JobParts = Parts<'database' | 'now' | 'logger' | 'stopping'>;

/**
 * Runs stored bulk changes in this process (D-481). The rows are the queue: a change is claimed for one batch, and
 * after a process is killed another one takes over its batch once the claim expires. No monitor is changed twice,
 * because its result is recorded in the transaction of its change.
 */
export class BulkJobs implements BulkChanges {
  readonly #parts: JobParts;
  readonly #steps: BulkSteps;
  readonly #working = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | null = null;
  #isWoken = false;

  constructor(parts: JobParts, steps: BulkSteps) {
    this.#parts = parts;
    this.#steps = steps;
  }

  /** Looks for jobs now and every few seconds, until the process stops. */
  start(): void {
    this.#timer = setInterval(() => this.wake(), POLL_MS).unref();
    this.wake();
  }

  wake(): void {
    if (this.#parts.stopping.aborted) return;
    if (this.#working.size >= LANES) {
      this.#isWoken = true;
      return;
    }
    const work = this.#work().finally(() => {
      this.#working.delete(work);
      if (this.#isWoken) this.#wakeAgain();
    });
    this.#working.add(work);
  }

  /** Looks again, because a lane that ends may have found nothing just before a job was stored. */
  #wakeAgain(): void {
    this.#isWoken = false;
    this.wake();
  }

  /** Resolves when the current batches are finished; the process is stopping. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await Promise.all(this.#working);
  }

  changeAll(task: BulkTask, monitors: readonly Selected[]): Promise<BulkResult[]> {
    return this.#steps.changeAll(task, monitors);
  }

  rehearseAll(task: BulkTask, monitors: readonly Selected[]): Promise<BulkResult[]> {
    return this.#steps.rehearseAll(task, monitors);
  }

  async finish(change: BulkChange, task: BulkTask): Promise<BulkChange> {
    const { database, now } = this.#parts;
    const steps = await listOpenSteps(database, { change, limit: change.total });
    await this.#steps.recordAll(task, steps, { recorder: this.#recorderOf(change), mayBegin: () => true });
    return await settleBulkChange(database, change, now());
  }

  async #work(): Promise<void> {
    const { database, now, logger, stopping } = this.#parts;
    try {
      for (;;) {
        const change = stopping.aborted ? null : await claimBulkChange(database, now());
        if (change === null) return;
        // Another lane may take the next job meanwhile.
        this.wake();
        await this.#runBatch(change);
      }
    } catch (error) {
      // The claim expires by itself, and the change is taken up again.
      logger.warn({ err: error }, 'bulk.not_continued');
    }
  }

  async #runBatch(change: ClaimedChange): Promise<void> {
    const { database, now, logger, stopping } = this.#parts;
    const { tenantId, actor, address } = change;
    const startMs = now();
    const allowed = await findBulkActor(database, change, startMs);
    const order = this.#orderOf(change);
    if (allowed === null || !allowed.scopes.includes('write'))
      await failOpenSteps(database, { change, status: 403, error: FORBIDDEN[actor.kind] });
    else if (order === null) await failOpenSteps(database, { change, status: 500, error: 'internal error' });
    else if (startMs - change.createdAtMs > MAX_JOB_MS)
      await failOpenSteps(database, { change, status: 503, error: TOO_LATE });
    else {
      const task = { account: { tenantId, plan: allowed.plan }, actor, address, order };
      await this.#steps.recordAll(task, await listOpenSteps(database, { change, limit: BATCH }), {
        recorder: this.#recorderOf(change),
        mayBegin: () => !stopping.aborted && Math.abs(now() - startMs) < BATCH_MS,
      });
    }
    const settled = await settleBulkChange(database, change, now());
    if (settled.status !== 'done') return;
    const { id, action, total, failed, createdAtMs } = settled;
    const durationMs = now() - createdAtMs;
    logger.info({ bulk_id: id, tenant_id: tenantId, action, total, failed, duration_ms: durationMs }, 'bulk.completed');
  }

  /** Opens a change's order; null if it is sealed with a key that is gone. */
  #orderOf(change: ClaimedChange): BulkOrder | null {
    const { database, logger } = this.#parts;
    try {
      return openOrder(database, change);
    } catch (error) {
      logger.error({ err: error, bulk_id: change.id }, 'bulk.not_opened');
      return null;
    }
  }

  #recorderOf(change: BulkChange): Recorder<OpenStep> {
    const { database } = this.#parts;
    return {
      succeed: (run, { position }, status) => recordStep(run, { change, position, status, error: null }),
      fail: async ({ position }, failure) =>
        void (await recordStep(runOn(database.pool), { change, position, ...failure })),
    };
  }
}

const FORBIDDEN = {
  token: 'the API token that requested this has ended, or may no longer change monitors',
  user: 'the member who requested this was removed, or may no longer change monitors',
};

const TOO_LATE = 'the service did not get to this monitor within 15 minutes: request the change again';
