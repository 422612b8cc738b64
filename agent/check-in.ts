import type { PullRequest } from '../core/agents/wire.ts';
import { backoffMs } from './backoff.ts';
import type { PullOutcome, ServiceClient } from './service-client.ts';
import { createWakeUp, type Wake, type WakeUp } from './wake-up.ts';

export type CheckInOptions = {
  pull: ServiceClient['pull'];
  request: PullRequest;
  pullSeconds: number;
  /** The tag of the work that is known already; null where there is none. */
  etag: string | null;
  now: () => number;
  random: () => number;
  wake: Wake;
  /**
   * What came of a check-in; the next one waits until it is dealt with. False where work could not be taken over: then
   * it is asked for again.
   */
  onOutcome: (outcome: PullOutcome) => Promise<boolean>;
};

/** An agent whose token is refused goes on asking: it may have been a proxy, or a database that was put back. */
const UNAUTHORIZED_MS = 60_000;

const HASTENED_MS = 1000;

/** The agent's regular check-ins, the first at once. */
export class CheckIn {
  readonly #options: CheckInOptions;
  readonly #next: WakeUp;
  #etag: string | null;
  #failures = 0;
  #isWaitRequested = false;
  #isStopped = false;
  #isUnderWay = false;

  constructor(options: CheckInOptions) {
    this.#options = options;
    this.#etag = options.etag;
    this.#next = createWakeUp(options, () => void this.#runRound());
  }

  start(): void {
    this.#next.at(this.#options.now());
  }

  /**
   * The service is known to answer again: a check-in that waits for that does not wait any longer, unless the service
   * asked for that.
   */
  retryNow(): void {
    if (this.#failures > 0 && !this.#isWaitRequested) this.#next.at(this.#options.now());
  }

  /**
   * The service has refused the token elsewhere, or results of work that is no more: the next check-in comes in a
   * second, and tells.
   */
  hasten(): void {
    this.#next.at(this.#options.now() + HASTENED_MS);
  }

  /** Ends the check-ins; one that is under way changes nothing any more. */
  stop(): void {
    this.#isStopped = true;
    this.#next.cancel();
  }

  async #runRound(): Promise<void> {
    if (this.#isUnderWay || this.#isStopped) return;
    const { pull, request, now, onOutcome } = this.#options;
    this.#isUnderWay = true;
    const startedAtMs = now();
    const outcome = await pull(request, this.#etag);
    this.#isUnderWay = false;
    if (this.#isStopped) return;
    const isTaken = await onOutcome(outcome);
    if (outcome.outcome === 'work') this.#etag = isTaken ? outcome.etag : null;
    if (outcome.outcome === 'unauthorized') this.#etag = null;
    if (!this.#isStopped) this.#next.at(now() + this.#pauseMs(outcome, startedAtMs));
  }

  #pauseMs(outcome: PullOutcome, startedAtMs: number): number {
    const { pullSeconds, now, random } = this.#options;
    if (outcome.outcome === 'unauthorized') return UNAUTHORIZED_MS;
    this.#isWaitRequested = outcome.outcome === 'failed' && outcome.requestedWaitMs !== null;
    if (outcome.outcome !== 'failed') {
      this.#failures = 0;
      return Math.max(0, startedAtMs + pullSeconds * 1000 - now());
    }
    this.#failures += 1;
    return backoffMs({ failures: this.#failures, requestedWaitMs: outcome.requestedWaitMs, random });
  }
}
