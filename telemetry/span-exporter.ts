import { traceRequestOf, type FailedCheck, type Origin } from '../core/system/otlp.ts';
import { within } from '../core/time.ts';
import type { OtlpSender } from './sender.ts';

/** Outcome of sending failed checks to the collector. */
export type SpanOutcome = 'sent' | 'refused' | 'dropped';

type SpanExporterParts = {
  sender: Pick<OtlpSender, 'send'>;
  origin: Origin;
  count: (outcome: SpanOutcome, checks: number) => void;
  /** Called after each attempt; null if it was accepted. */
  onAttempt: (trouble: string | null) => void;
  random: () => number;
};

/** Maximum failed checks that wait; beyond that new ones are dropped, to keep the first ones of an outage. */
const MAX_WAITING = 2048;

/** Failed checks in one request. */
const MAX_IN_BATCH = 256;

/** How long the first check of a batch waits for others, in milliseconds. */
const GATHER_MS = 1000;

/** Waits before a retry, in milliseconds: doubled each time, or longer if the collector requests it. */
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

/** Time limit for sending the rest on shutdown, in milliseconds; an unavailable collector does not delay it longer. */
const FLUSH_MS = 3000;

/**
 * Sends the spans of failed checks in batches, one at a time. A collector that is away, slow or overloaded delays no
 * check: the queue is bounded.
 */
export class SpanExporter {
  readonly #parts: SpanExporterParts;
  readonly #waiting: FailedCheck[] = [];
  #waitMs = FIRST_WAIT_MS;
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> | null = null;
  #isStopping = false;

  constructor(parts: SpanExporterParts) {
    this.#parts = parts;
  }

  /** Queues a failed check; costs next to nothing, and never throws. */
  record(check: FailedCheck): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#parts.count('dropped', 1);
      return;
    }
    this.#waiting.push(check);
    this.#plan(GATHER_MS);
  }

  /** Sends the waiting checks within three seconds, and drops the rest. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await within(FLUSH_MS, this.#flush(), undefined);
    if (this.#waiting.length > 0) this.#parts.count('dropped', this.#waiting.splice(0).length);
  }

  async #flush(): Promise<void> {
    await this.#sending;
    let isTaken = true;
    while (isTaken && this.#waiting.length > 0) isTaken = (await this.#sendBatch()) === null;
  }

  #plan(afterMs: number): void {
    if (this.#timer !== null || this.#sending !== null || this.#isStopping) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#sending = this.#sendAndPlan();
    }, afterMs).unref();
  }

  async #sendAndPlan(): Promise<void> {
    const waitMs = await this.#sendBatch();
    this.#sending = null;
    if (waitMs !== null) this.#plan(waitMs);
    else if (this.#waiting.length > 0) this.#plan(this.#waiting.length >= MAX_IN_BATCH ? 0 : GATHER_MS);
  }

  /** Sends one batch. Returns null if the batch is finished, or else the wait before a retry, in milliseconds. */
  async #sendBatch(): Promise<number | null> {
    const { sender, origin, count, onAttempt, random } = this.#parts;
    const batch = this.#waiting.slice(0, MAX_IN_BATCH);
    const sent = await sender.send(traceRequestOf(batch, origin));
    onAttempt(
      'reason' in sent ? sent.reason : sent.outcome === 'partly' ? 'The collector took only a part of it' : null,
    );
    if (sent.outcome === 'retry') {
      const waitMs = Math.min(LONGEST_WAIT_MS, Math.max(sent.afterMs ?? 0, this.#waitMs * (0.5 + random() / 2)));
      this.#waitMs = Math.min(LONGEST_WAIT_MS, this.#waitMs * 2);
      return waitMs;
    }
    this.#waitMs = FIRST_WAIT_MS;
    this.#waiting.splice(0, batch.length);
    count(sent.outcome === 'refused' ? 'refused' : 'sent', batch.length);
    return null;
  }
}
