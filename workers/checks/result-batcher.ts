import type { ResultPayload } from '../../queues/payloads.ts';

type BatcherOptions = {
  /** Adds a batch that was complete at `readyAtMs` (Unix milliseconds) to the evaluator's queue. */
  submit: (results: ResultPayload[], readyAtMs: number) => Promise<void>;
  now: () => number;
  /**
   * Maximum wait of a batch without changes for further results, in milliseconds: on PostgreSQL each job costs as much
   * as twenty checks.
   */
  maxDelayMs: number;
  /**
   * How long after a result that may be a change its batch is sent, in milliseconds. It also waits for `urgentGapMs`
   * after the last such batch.
   */
  urgentDelayMs: number;
  /**
   * Minimum interval between such batches, in milliseconds: when everything fails at once, the evaluator gets more
   * results in fewer jobs.
   */
  urgentGapMs: number;
  /** Size at which a batch is sent at once. */
  maxResults: number;
  /** Waits before a retry after the queue refused a batch, in milliseconds. */
  pause: (ms: number) => Promise<void>;
};

/** Batches of the check process: good results in large batches, the others soon. */
export const RESULT_BATCH = { maxResults: 500, maxDelayMs: 3000, urgentDelayMs: 10, urgentGapMs: 50 } as const;

/** `close` sends the batch; `urgentTimer` is set if it is sent early. */
type Batch = {
  results: ResultPayload[];
  close: () => void;
  submitted: Promise<void>;
  timer: NodeJS.Timeout;
  urgentTimer: NodeJS.Timeout | undefined;
};

/** Attempts to add a batch to an unavailable queue, and their interval in milliseconds: two minutes in all. */
const SUBMIT_ATTEMPTS = 120;
const SUBMIT_PAUSE_MS = 1000;

/**
 * Collects results of many checks into few jobs. A check job completes when its last batch is in the queue, so that a
 * killed worker's results are measured again.
 */
export class ResultBatcher {
  readonly #options: BatcherOptions;
  #open: Batch | null = null;
  #nextUrgentAtMs = 0;

  constructor(options: BatcherOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the result's batch is in the queue; rejects if the queue refused it for too long. A result
   * `mayChangeState` if its monitor and source did not report the same before: it may start or end an alert.
   */
  add(result: ResultPayload, mayChangeState: boolean): Promise<void> {
    const batch = this.#open ?? this.#openBatch();
    this.#open = batch;
    batch.results.push(result);
    if (mayChangeState) this.#hasten(batch);
    if (batch.results.length >= this.#options.maxResults) {
      this.#open = null;
      batch.close();
    }
    return batch.submitted;
  }

  #openBatch(): Batch {
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const batch: Batch = {
      results: [],
      close,
      submitted: closed.then(() => this.#submit(batch)),
      timer: setTimeout(close, this.#options.maxDelayMs),
      urgentTimer: undefined,
    };
    return batch;
  }

  #hasten(batch: Batch): void {
    if (batch.urgentTimer !== undefined) return;
    const nowMs = performance.now();
    const leavesAtMs = Math.max(nowMs + this.#options.urgentDelayMs, this.#nextUrgentAtMs);
    batch.urgentTimer = setTimeout(batch.close, leavesAtMs - nowMs);
  }

  async #submit(batch: Batch): Promise<void> {
    if (batch.urgentTimer !== undefined) this.#nextUrgentAtMs = performance.now() + this.#options.urgentGapMs;
    clearTimeout(batch.timer);
    clearTimeout(batch.urgentTimer);
    if (this.#open === batch) this.#open = null;
    const readyAtMs = this.#options.now();
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#options.submit(batch.results, readyAtMs);
        return;
      } catch (error) {
        if (attempt === SUBMIT_ATTEMPTS) throw error;
        await this.#options.pause(SUBMIT_PAUSE_MS);
      }
    }
  }
}
