import { createHash } from 'node:crypto';
import { DelayedError, WaitingError, type Job, type JobsOptions, type Queue } from 'bullmq';
import type { ScheduleChange, ScheduleSlot } from '../core/checks/slots.ts';
import { DAY_MS } from '../core/time.ts';
import type { QueueBackend } from './connection.ts';
import {
  QUEUES,
  SERVICE_REGION,
  checkQueueName,
  type DeliverJob,
  type DrillJob,
  type EvaluateJob,
  type LookupJob,
  type MaintainJob,
  type PreviewJob,
  type PreviewReturn,
  type RegionJob,
  type SealedResult,
} from './payloads.ts';
import { addSlot, createRecheckAdder, reconcileQueue, removeSlot, type DueRecheck } from './schedules.ts';

/** Chores that the clock enqueues; each has its own worker file. */
export const CHORES = [
  'reconcile',
  'sweep',
  'partitions',
  'retention',
  'advisories',
  'registries',
  'rollups',
  'reports',
  'maintenance',
  'drills',
  'canary',
] as const;
export type Chore = (typeof CHORES)[number];

/** Results are not stored anywhere else yet: while PostgreSQL is unavailable, their jobs wait for up to ten minutes. */
const EVALUATE_OPTIONS = { attempts: 300, backoff: { type: 'fixed', delay: 2000 }, removeOnComplete: true };

/** States of ended jobs, and how far ahead of now an end may be, in milliseconds: further than any clock is set. */
const OVER = ['completed', 'failed'] as const;
const FOREVER_MS = 100 * 365 * DAY_MS;

const UNFINISHED = ['waiting', 'active', 'delayed'] as const;

/** An attempt to make, counted from 1, and its earliest time (Unix milliseconds); its row is committed. */
export type DueAttempt = { deliveryId: string; channelId: string; attempt: number; dueAtMs: number };

/**
 * How long schedules are compared thoroughly after a lost connection, in milliseconds. A tick that was lost with the
 * latest writes shows only once it is overdue; for longer intervals the next thorough round finds it.
 */
const DOUBT_MS = 120_000;

/**
 * Maximum channels of a job. The channels of an event share the queue's cost of a job, and none waits behind thousands.
 */
const CHANNELS_PER_JOB = 20;

/** Maximum deliveries that a job names: the thousands of a storm are in the database already. */
const NAMED_DELIVERIES = 20;

/** Agents by number, and the regions that name their queues. */
type Regions = ReadonlyMap<number, string>;

/**
 * Adds all jobs. Rows are committed before their job is added, so that a lost job can be recreated from its row. A
 * region's queue is opened on first use.
 */
export class JobQueues {
  readonly #backend: QueueBackend;
  readonly #evaluate: Queue<EvaluateJob>;
  readonly #deliver: Queue<DeliverJob>;
  readonly #maintain: Queue<MaintainJob>;
  readonly #lookup: Queue<LookupJob>;
  readonly #checks = new Map<string, Queue<RegionJob>>();
  readonly #addRecheck = createRecheckAdder();
  #reconciledLosses: number | null = null;
  #doubtedUntil = 0;

  constructor(backend: QueueBackend) {
    this.#backend = backend;
    this.#evaluate = backend.createQueue<EvaluateJob>(QUEUES.evaluate);
    this.#deliver = backend.createQueue<DeliverJob>(QUEUES.deliver);
    this.#maintain = backend.createQueue<MaintainJob>(QUEUES.maintain);
    this.#lookup = backend.createQueue<LookupJob>(QUEUES.lookup);
  }

  /** Notifies the queues of an agent's schedule change; `regions` maps agents to the regions that name their queues. */
  async applyScheduleChange(change: ScheduleChange, regions: Regions): Promise<void> {
    for (const entry of change.emptied) {
      const queue = this.#queueOf(entry.agentNo, regions);
      if (queue !== null) await this.#backend.exclusively(() => removeSlot(queue, entry));
    }
    for (const entry of change.occupied) {
      const queue = this.#queueOf(entry.agentNo, regions);
      if (queue !== null) await this.#backend.exclusively(() => addSlot(queue, entry));
    }
    const rechecks = change.rechecks.map((agentNo) => ({ agentNo, atMs: Date.now() }));
    await this.enqueueRechecks([...rechecks, ...(change.dependents ?? [])], regions);
  }

  /**
   * Enqueues rechecks for when they are due, with one job for those of an agent that are due together. An agent without
   * a queue here is skipped.
   */
  async enqueueRechecks(rechecks: readonly DueRecheck[], regions: Regions): Promise<void> {
    for (const recheck of rechecks) {
      const queue = this.#queueOf(recheck.agentNo, regions);
      if (queue !== null) await this.#addRecheck(queue, recheck);
    }
  }

  /**
   * Reconciles every region's schedulers with the occupied slots, and returns how many were repaired. It is thorough on
   * request, the first time, and for a while after a lost connection.
   */
  async reconcileSchedules(
    listOccupied: (agentNo: number) => Promise<readonly ScheduleSlot[]>,
    regions: Regions,
    when: { nowMs: number; thorough: boolean; signal?: AbortSignal },
  ): Promise<number> {
    let mended = 0;
    // A promoted replica, or a server that crashed, may have the right number of schedulers but an earlier state.
    const losses = this.#backend.countLosses();
    const isFirst = this.#reconciledLosses === null;
    if (!isFirst && losses !== this.#reconciledLosses) this.#doubtedUntil = performance.now() + DOUBT_MS;
    const thorough = when.thorough || isFirst || performance.now() < this.#doubtedUntil;
    for (const [agentNo, region] of regions) {
      const { added, removed } = await reconcileQueue(this.checkQueue(region), () => listOccupied(agentNo), {
        ...when,
        thorough,
        exclusively: (change) => this.#backend.exclusively(change),
      });
      mended += added + removed;
    }
    this.#reconciledLosses = losses;
    return mended;
  }

  /**
   * Removes jobs that block the queues after the clock was set back. These are jobs that wait for times on the old
   * clock, which are recreated from their rows or run at once, and ended jobs, whose names the ticks of the same times
   * need. Rechecks enqueued since stay, because this runs repeatedly. `reconcileSchedules` handles the schedulers.
   */
  async clearAfterClockSetBack(regions: Regions): Promise<void> {
    await this.#backend.freeLocks(Date.now());
    for (const region of regions.values()) {
      const queue = this.checkQueue(region);
      for (const state of OVER) await queue.clean(-FOREVER_MS, 0, state);
      await eachDelayed(queue, async (job) => {
        if (job.timestamp > Date.now()) await job.remove();
      });
    }
    await eachDelayed(this.#deliver, (job) => job.remove());
    for (const queue of [this.#evaluate, this.#maintain, this.#lookup])
      await eachDelayed(queue, (job) => job.promote());
  }

  /** Enqueues measured results for the evaluator; `readyAtMs` as in the job. */
  async enqueueResults(results: SealedResult[], readyAtMs?: number): Promise<void> {
    await this.#evaluate.add('results', { results, ...(readyAtMs !== undefined && { readyAtMs }) }, EVALUATE_OPTIONS);
  }

  /** Returns the time (Unix milliseconds) since when the oldest results wait for evaluation; null if none do. */
  async oldestResultsAtMs(): Promise<number | null> {
    const oldest = await Promise.all(UNFINISHED.map((state) => this.#evaluate.getJobs([state], 0, 0, true)));
    const addedAtMs = oldest.flat().map((job) => job.timestamp);
    return addedAtMs.length === 0 ? null : Math.min(...addedAtMs);
  }

  /**
   * Adds one job for all attempts, or several if they go to many channels, due with its last attempt. Adding the same
   * attempts twice adds nothing.
   */
  async enqueueAttempts(attempts: readonly DueAttempt[]): Promise<void> {
    const ofChannels = [...Map.groupBy(attempts, ({ channelId }) => channelId).values()];
    for (let first = 0; first < ofChannels.length; first += CHANNELS_PER_JOB) {
      const { data, options } = deliverJob(ofChannels.slice(first, first + CHANNELS_PER_JOB).flat());
      await this.#deliver.add('deliver', data, options);
    }
  }

  /** Adds a chore unless one of its kind is still waiting or running. */
  async enqueueChore(chore: Chore): Promise<void> {
    await this.#maintain.add(chore, {}, { jobId: chore, removeOnComplete: true, removeOnFail: true });
  }

  /**
   * Enqueues the lookup of a vendor target, once for all tenants that request it while it waits or runs. The result is
   * stored with the page, and counts for the tenant.
   */
  async enqueueLookup(target: string, tenantId: string): Promise<void> {
    const jobId = createHash('sha256').update(target).digest('hex');
    await this.#lookup.add('look-up', { target, tenantId }, { jobId, removeOnComplete: true, removeOnFail: true });
  }

  /**
   * Enqueues the drill answers of locations, each in the queue of its region, from `atMs` on (Unix milliseconds). The
   * service answers for an agent without a queue here.
   */
  async enqueueDrill(answers: readonly DrillJob[], regions: Regions, atMs = 0): Promise<void> {
    for (const answer of answers) {
      const { drillId, agentNo, verdict } = answer;
      await this.checkQueue(regions.get(agentNo) ?? SERVICE_REGION).add('drill', answer, {
        jobId: `drill-${drillId}-${agentNo}-${verdict}`,
        delay: Math.max(0, atMs - Date.now()),
        removeOnComplete: true,
        removeOnFail: true,
      });
    }
  }

  /** Has the check process of a region probe a draft once. */
  async enqueuePreview(region: string, job: PreviewJob): Promise<void> {
    await this.checkQueue(region).add('trial', job, {
      jobId: previewJobId(job.trialId),
      removeOnComplete: KEEP_PREVIEWS,
      removeOnFail: KEEP_PREVIEWS,
    });
  }

  /**
   * Returns the outcome of a finished preview, and removes its job from the queue. Undefined while it runs; null if it
   * failed or there is no such job, as after the first call.
   */
  async takePreviewReturn(region: string, previewId: string): Promise<PreviewReturn | null | undefined> {
    const job = await this.checkQueue(region).getJob(previewJobId(previewId));
    if (job === undefined) return null;
    if (job.finishedOn === undefined) return undefined;
    await job.remove();
    return isPreviewReturn(job.returnvalue) ? job.returnvalue : null;
  }

  /** Returns a region's check queue. */
  checkQueue(region: string): Queue<RegionJob> {
    const open = this.#checks.get(region) ?? this.#backend.createQueue<RegionJob>(checkQueueName(region));
    this.#checks.set(region, open);
    return open;
  }

  /** Returns every queue that is open in this process, for the board and the metrics. */
  all(): Queue[] {
    return [...this.#checks.values(), this.#evaluate, this.#deliver, this.#maintain, this.#lookup];
  }

  /** Returns the names of this process's queues that cannot be written to; empty if all can. */
  findAway(): Promise<string[]> {
    return this.#backend.findAway();
  }

  async close(): Promise<void> {
    await Promise.all(this.all().map((queue) => queue.close()));
  }

  #queueOf(agentNo: number, regions: Regions): Queue<RegionJob> | null {
    const region = regions.get(agentNo);
    return region === undefined ? null : this.checkQueue(region);
  }
}

/** Runs a function on every delayed job except those of job schedulers; skips jobs that are no longer delayed. */
async function eachDelayed(queue: Queue, act: (job: Job) => Promise<void>): Promise<void> {
  const delayed = await queue.getJobs(['delayed']);
  for (const job of delayed) if (job.repeatJobKey === undefined) await act(job).catch(() => undefined);
}

/** Retention of a preview outcome that was not fetched, in seconds. */
const KEEP_PREVIEWS = { age: 60 };

function previewJobId(previewId: string): string {
  return `trial-${previewId}`;
}

/** Guards against a worker of an older release, which does not support previews. */
function isPreviewReturn(value: unknown): value is PreviewReturn {
  return (
    typeof value === 'object' && value !== null && 'sealedOutcome' in value && typeof value.sealedOutcome === 'string'
  );
}

function deliverJob(attempts: readonly DueAttempt[]): { data: DeliverJob; options: JobsOptions } {
  const channelIds = [...new Set(attempts.map(({ channelId }) => channelId))];
  const deliveryIds = attempts.slice(0, NAMED_DELIVERIES).map(({ deliveryId }) => deliveryId);
  const dueAtMs = Math.max(...attempts.map((due) => due.dueAtMs));
  return {
    data: { channelIds, dueAtMs, deliveryIds, ...(attempts.every(({ attempt }) => attempt > 1) && { isRetry: true }) },
    options: {
      jobId: deliverJobId(attempts),
      delay: Math.max(0, dueAtMs - Date.now()),
      removeOnComplete: true,
      removeOnFail: true,
    },
  };
}

/** The id covers all attempts; the first one's id alone would let a waiting job of that delivery block this one. */
function deliverJobId(attempts: readonly DueAttempt[]): string {
  // The id includes the time: an alert that waits for the end of maintenance is due at another time if that end is
  // moved.
  const [first = '', ...others] = attempts.map((due) => `${due.deliveryId}-${due.attempt}-${due.dueAtMs}`);
  return others.length === 0 ? first : `${first}-${createHash('sha256').update(others.join()).digest('hex')}`;
}

/** Postpones a running job by `delayMs`, without counting a failure. Always throws, which ends the processor. */
export async function postponeJob(job: Job, token: string | undefined, delayMs: number): Promise<never> {
  await job.moveToDelayed(Date.now() + delayMs, token);
  throw new DelayedError();
}

/** Returns a running job to the queue for the next worker, without counting a failure. Always throws, likewise. */
export async function giveJobBack(job: Job, token: string | undefined): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}
