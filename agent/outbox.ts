import { MAX_INGEST_RESULTS, type AgentResult, type IngestAnswer } from '../core/agents/wire.ts';
import { SharedCalls } from '../core/shared-calls.ts';
import { within } from '../core/time.ts';
import { createWakeUp, type Wake } from './clock.ts';
import type { Entry, Journal } from './journal.ts';
import { backoffMs, type IngestOutcome } from './service-client.ts';

type OutboxOptions = {
  journal: Journal;
  /** Results of an earlier run, oldest first. */
  waiting: readonly Entry[];
  maxResults: number;
  maxAgeMs: number;
  /** Sends the JSON of `{results}`. */
  send: (body: string) => Promise<IngestOutcome>;
  /** Unix milliseconds, for the times of results. */
  now: () => number;
  /** Milliseconds of a monotonic clock, for waits. */
  monotonic: () => number;
  random: () => number;
  wake: Wake;
  onEvent: (event: OutboxEvent) => void;
};

/** Events of results, for logs and counts; `recheck` passes on the service's hints (D-47). */
export type OutboxEvent =
  | { kind: 'accepted'; answer: IngestAnswer }
  | { kind: 'refused'; line: string; reason: string }
  | { kind: 'unauthorized' }
  | { kind: 'failed'; reason: string }
  | { kind: 'dropped'; results: number }
  | { kind: 'replayed'; results: number }
  | { kind: 'recheck'; monitorId: string; atMs: number };

/**
 * Delays of sending, in milliseconds. A change is sent after the first, and no sooner after the previous batch than the
 * second, within the agent's rate limit. Any other result waits for others as long as the third.
 */
const URGENT_DELAY_MS = 30;
const URGENT_GAP_MS = 300;
const DELAY_MS = 3000;

/** Delay after which unsent results are written to disk, in milliseconds. */
const JOURNAL_DELAY_MS = 500;

/** Refusals of a result by a proxy, with another result accepted between each, until it is dropped. */
const MAX_REFUSALS = 3;

/** The service accepts batches of at most 1 MiB. */
const MAX_BODY_BYTES = 1024 * 1024 - 1024;

/** Sends all results: in order, in batches, kept until the service has them, within limits of number and age. */
export class Outbox {
  readonly #options: OutboxOptions;
  #entries: Entry[];
  /** Halved while the service refuses batches, to isolate the one result that it refuses. */
  #batchSize = MAX_INGEST_RESULTS;
  #failures = 0;
  /** When the oldest waiting result is to be sent; infinite if none waits. */
  #leavesAtMs = Number.POSITIVE_INFINITY;
  /** Earliest time of the next request, after a failure. */
  #notBeforeMs = 0;
  #isWaitRequested = false;
  /** When the last batch was sent, and how many results waited then. */
  #sentAtMs = 0;
  #waitedAtSend = 0;
  readonly #sending = new SharedCalls(() => this.#sendAll());
  #isHeld = false;
  #isClosing = false;
  /** How often a proxy refused results that were sent alone; whether another was accepted since, or is next (D-675). */
  readonly #refusedByProxy = new Map<Entry, number>();
  #hasPassedProxy = false;
  #isOtherNext = false;
  /**
   * Set from a failure, or a start with results of an earlier run, until all results waiting then are sent. The numbers
   * are known once the service accepts results.
   */
  #replay: { total: number; left: number } | 'waiting' | null;
  readonly #sendSoon;
  readonly #writeSoon;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#entries = [...options.waiting];
    this.#replay = this.#entries.length === 0 ? null : 'waiting';
    const moments = { now: options.monotonic, wake: options.wake };
    this.#sendSoon = createWakeUp(moments, () => void this.#sending.run());
    this.#writeSoon = createWakeUp(moments, () => void options.journal.append(this.#entries));
    this.#trim();
    this.#leaveNow();
  }

  get waiting(): number {
    return this.#entries.length;
  }

  /** Adds a result. One that may be a change is sent at once. */
  add(result: AgentResult, { isUrgent }: { isUrgent: boolean }): void {
    const nowMs = this.#options.monotonic();
    this.#entries.push({
      line: JSON.stringify(result),
      monitorId: result.monitorId,
      atMs: result.ts * 1000,
      isBad: !result.ok || result.degraded === true,
      segment: null,
      isDone: false,
    });
    this.#trim();
    this.#writeSoon.at(nowMs + JOURNAL_DELAY_MS);
    this.#leavesAtMs = Math.min(this.#leavesAtMs, this.#leavingTimeOf(isUrgent, nowMs));
    this.#sendSoon.at(this.#leavesAtMs);
  }

  /** While held, sends nothing, because the service does not accept this agent. */
  hold(isHeld: boolean): void {
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    if (!isHeld) this.#leaveNow();
  }

  /** Sends waiting results at once, because the service responds again, unless it requested a wait. */
  retryNow(): void {
    if (this.#isWaitRequested || this.#failures === 0) return;
    this.#notBeforeMs = 0;
    this.#leaveNow();
  }

  /**
   * Sends waiting results while the service accepts them, for at most `boundMs` milliseconds, and writes the rest to
   * disk.
   */
  async close(boundMs: number): Promise<void> {
    const flush = async () => {
      await this.#sending.settled();
      this.#isClosing = true;
      this.#notBeforeMs = 0;
      this.#leavesAtMs = 0;
      await this.#sending.run();
    };
    await within(boundMs, flush(), null);
    this.#sendSoon.cancel();
    this.#writeSoon.cancel();
    await this.#options.journal.append(this.#entries);
    await this.#options.journal.close();
  }

  #leaveNow(): void {
    if (this.#entries.length === 0) return;
    this.#leavesAtMs = 0;
    this.#sendSoon.at(this.#options.monotonic());
  }

  #leavingTimeOf(isUrgent: boolean, nowMs: number): number {
    if (!isUrgent) return this.#entries.length >= MAX_INGEST_RESULTS ? nowMs : nowMs + DELAY_MS;
    return Math.max(nowMs + URGENT_DELAY_MS, this.#sentAtMs + URGENT_GAP_MS);
  }

  async #sendAll(): Promise<void> {
    while (!this.#isHeld) {
      this.#trim();
      if (this.#entries.length === 0) return;
      const atMs = Math.max(this.#leavesAtMs, this.#notBeforeMs);
      if (atMs > this.#options.monotonic()) return this.#sendSoon.at(atMs);
      const batch = this.#nextBatch();
      this.#leavesAtMs = batch.length < this.#entries.length ? 0 : Number.POSITIVE_INFINITY;
      this.#sentAtMs = this.#options.monotonic();
      // Batches of a few results could exceed the agent's rate limit.
      if (this.#batchSize < MAX_INGEST_RESULTS && !this.#isClosing) this.#notBeforeMs = this.#sentAtMs + URGENT_GAP_MS;
      this.#waitedAtSend = this.#entries.length;
      const outcome = await this.#options.send(`{"results":[${batch.map(({ line }) => line).join(',')}]}`);
      this.#take(batch, outcome);
    }
  }

  #nextBatch(): Entry[] {
    const batch: Entry[] = [];
    let bytes = 0;
    for (const entry of this.#entriesInTurn().slice(0, this.#batchSize)) {
      bytes += Buffer.byteLength(entry.line) + 1;
      if (bytes > MAX_BODY_BYTES && batch.length > 0) break;
      batch.push(entry);
    }
    return batch;
  }

  /**
   * Returns the results to send next: to test whether a proxy refuses everything, those of monitors without a refusal.
   */
  #entriesInTurn(): readonly Entry[] {
    if (!this.#isOtherNext) return this.#entries;
    const refused = new Set([...this.#refusedByProxy.keys()].map(({ monitorId }) => monitorId));
    const others = this.#entries.filter((entry) => !this.#refusedByProxy.has(entry));
    const elsewhere = others.filter(({ monitorId }) => !refused.has(monitorId));
    return [elsewhere, others].find((entries) => entries.length > 0) ?? this.#entries;
  }

  #take(batch: readonly Entry[], outcome: IngestOutcome): void {
    const { onEvent } = this.#options;
    switch (outcome.outcome) {
      case 'accepted':
        this.#accept(batch, outcome.answer);
        return;
      case 'refused':
        this.#leavesAtMs = 0;
        if (batch.length > 1) {
          this.#batchSize = Math.ceil(batch.length / 2);
          return;
        }
        this.#refuse(batch, outcome);
        return;
      case 'unauthorized':
        this.#fail({ reason: 'HTTP 401: the service refuses the token', requestedWaitMs: null });
        onEvent({ kind: 'unauthorized' });
        return;
      case 'failed':
        this.#fail(outcome);
        return;
      default:
        outcome satisfies never;
    }
  }

  /**
   * Drops a result that the service refuses alone. A proxy does not judge results, so one that it refuses is kept.
   * Another result then shows whether it refuses everything: one that is refused repeatedly while others are accepted
   * is dropped.
   */
  #refuse([entry]: readonly Entry[], { reason, isFromService }: { reason: string; isFromService: boolean }): void {
    // A bound may have dropped it while it was on its way.
    if (entry === undefined || !this.#entries.includes(entry)) return;
    const before = this.#refusedByProxy.get(entry) ?? 0;
    const refusals = this.#hasPassedProxy ? before + 1 : Math.max(before, 1);
    const isLast = isFromService || (this.#hasPassedProxy && refusals >= MAX_REFUSALS);
    this.#hasPassedProxy = false;
    if (isLast) {
      this.#remove([entry]);
      this.#options.onEvent({ kind: 'refused', line: entry.line, reason });
      return;
    }
    this.#refusedByProxy.set(entry, refusals);
    if (this.#isOtherNext || this.#refusedByProxy.size === this.#entries.length)
      this.#fail({ reason, requestedWaitMs: null });
    else this.#isOtherNext = true;
  }

  #accept(batch: readonly Entry[], answer: IngestAnswer): void {
    const { onEvent } = this.#options;
    this.#failures = 0;
    this.#isWaitRequested = false;
    this.#batchSize = Math.min(MAX_INGEST_RESULTS, this.#batchSize * 2);
    if (this.#replay === 'waiting') this.#replay = { total: this.#waitedAtSend, left: this.#waitedAtSend };
    this.#remove(batch);
    this.#hasPassedProxy = this.#refusedByProxy.size > 0;
    this.#isOtherNext = false;
    onEvent({ kind: 'accepted', answer });
    if (this.#replay !== null && (this.#replay.left -= batch.length) <= 0) {
      onEvent({ kind: 'replayed', results: this.#replay.total });
      this.#replay = null;
    }
    for (const hint of answer.recheck ?? []) this.#passOn(hint, batch);
  }

  #fail({ reason, requestedWaitMs }: { reason: string; requestedWaitMs: number | null }): void {
    const { monotonic, random, onEvent } = this.#options;
    this.#failures += 1;
    this.#isOtherNext = false;
    this.#isWaitRequested = requestedWaitMs !== null;
    this.#replay = 'waiting';
    this.#leavesAtMs = 0;
    this.#notBeforeMs = monotonic() + backoffMs({ failures: this.#failures, requestedWaitMs, random });
    onEvent({ kind: 'failed', reason });
  }

  /**
   * Passes on a hint. It counts from the start of the failing probe, which is the last bad one of its monitor in the
   * batch.
   */
  #passOn({ monitorId, afterMs }: IngestAnswer['recheck'][number], batch: readonly Entry[]): void {
    const failing = batch.findLast((entry) => entry.monitorId === monitorId && entry.isBad);
    if (failing !== undefined) this.#options.onEvent({ kind: 'recheck', monitorId, atMs: failing.atMs + afterMs });
  }

  #remove(batch: readonly Entry[]): void {
    const sent = new Set(batch);
    // They are usually the first ones, unless a limit removed some meanwhile.
    this.#entries = this.#entries.filter((entry) => !sent.has(entry));
    for (const entry of batch) this.#refusedByProxy.delete(entry);
    void this.#options.journal.settle(batch);
  }

  #trim(): void {
    const { maxResults, maxAgeMs, now, onEvent } = this.#options;
    const oldestMs = now() - maxAgeMs;
    let tooMany = Math.max(0, this.#entries.length - maxResults);
    while (tooMany < this.#entries.length && (this.#entries[tooMany]?.atMs ?? 0) < oldestMs) tooMany += 1;
    if (tooMany === 0) return;
    const dropped = this.#entries.splice(0, tooMany);
    for (const entry of dropped) this.#refusedByProxy.delete(entry);
    void this.#options.journal.settle(dropped);
    onEvent({ kind: 'dropped', results: dropped.length });
  }
}
