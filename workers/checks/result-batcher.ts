import type { ResultPayload } from '../../queues/payloads.ts';

export type BatcherOptions = {
  /** Puts a batch into the evaluator's queue. */
  submit: (results: ResultPayload[]) => Promise<void>;
  /**
   * A batch that changes nothing waits for company this long at the most, in milliseconds: on PostgreSQL each job costs
   * as much as twenty checks.
   */
  maxDelayMs: number;
  /** A batch with a result that may be a change waits no longer than this after it, in milliseconds. */
  urgentDelayMs: number;
  /**
   * Such batches follow one another no closer than this, in milliseconds: when everything fails at once, the evaluator
   * gets more in fewer jobs.
   */
  urgentGapMs: number;
  /** A batch of this size goes at once. */
  maxResults: number;
  /** Waits before trying again after the queue refused a batch, in milliseconds; rejects when waiting is over. */
  pause: (ms: number) => Promise<void>;
};

/** Collects results of many checks into few jobs. */
export type ResultBatcher = {
  /**
   * Resolves when the result's batch is in the queue; rejects when the queue refused it for too long. A result
   * `mayChangeState` unless it is up, as its monitor was: it may lead to an alert or end one.
   */
  add(result: ResultPayload, mayChangeState: boolean): Promise<void>;
};

type Batch = { results: ResultPayload[]; sent: Promise<void>; hasten: () => void; send: () => void };

/** How often, and how far apart in milliseconds, a batch is offered to a queue that is away: two minutes in all. */
const SUBMIT_ATTEMPTS = 120;
const SUBMIT_PAUSE_MS = 1000;

/**
 * Makes a batcher. A check job completes when its last batch is in the queue, so that a killed worker's results are
 * measured again.
 */
export function createResultBatcher(options: BatcherOptions): ResultBatcher {
  let open: Batch | null = null;
  let nextUrgentAtMs = 0;

  const openBatch = (): Batch => {
    const results: ResultPayload[] = [];
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const timers = [setTimeout(close, options.maxDelayMs)];
    const hasten = () => {
      if (timers.length > 1) return;
      const nowMs = performance.now();
      const leavesAtMs = Math.max(nowMs + options.urgentDelayMs, nextUrgentAtMs);
      nextUrgentAtMs = leavesAtMs + options.urgentGapMs;
      timers.push(setTimeout(close, leavesAtMs - nowMs));
    };
    const sent = closed.then(() => {
      for (const timer of timers) clearTimeout(timer);
      if (open?.results === results) open = null;
      return submitPatiently(results, options);
    });
    return { results, sent, hasten, send: close };
  };

  return {
    add(result, mayChangeState) {
      open ??= openBatch();
      const batch = open;
      batch.results.push(result);
      if (mayChangeState) batch.hasten();
      if (batch.results.length >= options.maxResults) {
        open = null;
        batch.send();
      }
      return batch.sent;
    },
  };
}

async function submitPatiently(results: ResultPayload[], { submit, pause }: BatcherOptions): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await submit(results);
      return;
    } catch (error) {
      if (attempt === SUBMIT_ATTEMPTS) throw error;
      await pause(SUBMIT_PAUSE_MS);
    }
  }
}
