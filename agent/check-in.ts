import type { Logger } from 'pino';
import type { PullRequest } from '../core/agents/wire.ts';
import { createWakeUp, type Wake, type WakeUp } from './clock.ts';
import { backoffMs, type PullOutcome, type ServiceClient } from './service-client.ts';

type CheckInOptions = {
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
  /** Until its outcome is dealt with: of two at once the older one could win. */
  #isUnderWay = false;
  #isHastened = false;

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
   * second, and tells. While one is under way, it comes a second after that.
   */
  hasten(): void {
    if (this.#isUnderWay) this.#isHastened = true;
    else this.#next.at(this.#options.now() + HASTENED_MS);
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
    this.#isHastened = false;
    const outcome = await pull(request, this.#etag);
    if (this.#isStopped) return;
    const isTaken = await onOutcome(outcome).finally(() => (this.#isUnderWay = false));
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
      if (this.#isHastened) return Math.min(pullSeconds * 1000, HASTENED_MS);
      // The clock may have been set meanwhile.
      return Math.min(pullSeconds * 1000, Math.max(0, startedAtMs + pullSeconds * 1000 - now()));
    }
    this.#failures += 1;
    return backoffMs({ failures: this.#failures, requestedWaitMs: outcome.requestedWaitMs, random });
  }
}

/** The service's answer to a check-in: it knows this agent. */
type Welcome = {
  agentId: string | undefined;
  monitors: number;
  capabilities: readonly string[];
  serverTimeMs: number | null;
};

/**
 * A way of ten seconds to the service and back is slow, in milliseconds; clocks that differ by more are not both right.
 */
const CLOCKS_APART_MS = 20_000;

/** Whether the service knows an agent, which has not checked in yet; reported as it changes. */
export class ConnectionStatus {
  readonly #log: Logger;
  readonly #now: () => number;
  #wasKnown = false;
  #isRefused = false;
  #isClockWrong = false;

  constructor(log: Logger, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  welcomed({ agentId, monitors, capabilities, serverTimeMs }: Welcome): void {
    if (!this.#wasKnown) this.#log.info({ agent_id: agentId, monitors, capabilities }, 'service.connected');
    else if (this.#isRefused) this.#log.info({}, 'token.accepted');
    this.#wasKnown = true;
    this.#isRefused = false;
    if (serverTimeMs !== null) this.#compareClocks(serverTimeMs);
  }

  /** False where the service has never known this agent. */
  refused(): boolean {
    if (this.#wasKnown) this.#log.error({}, 'token.refused');
    this.#isRefused = true;
    return this.#wasKnown;
  }

  /** With a clock that is ahead results are declined, with one that is behind they are stale. */
  #compareClocks(serverTimeMs: number): void {
    const aheadMs = this.#now() - serverTimeMs;
    const wasWrong = this.#isClockWrong;
    this.#isClockWrong = Math.abs(aheadMs) > CLOCKS_APART_MS;
    if (this.#isClockWrong && !wasWrong) this.#log.warn({ ahead_seconds: Math.round(aheadMs / 1000) }, 'clock.wrong');
  }
}

/** What the agent asks of the service. */
type Request = 'pull' | 'ingest';

type ReachabilityOptions = {
  now: () => number;
  onAway: (reason: string) => void;
  /** Called with how long it was away, in milliseconds. */
  onBack: (awayMs: number) => void;
};

/**
 * Whether the service does what it is asked, each change reported once. It is away from the first request that fails
 * until those that failed succeed.
 */
export class Reachability {
  readonly #options: ReachabilityOptions;
  readonly #failing = new Set<Request>();
  #sinceMs = 0;

  constructor(options: ReachabilityOptions) {
    this.#options = options;
  }

  /** True where this request had failed the last time. */
  succeeded(request: Request): boolean {
    const hadFailed = this.#failing.delete(request);
    if (hadFailed && this.#failing.size === 0) this.#options.onBack(this.#options.now() - this.#sinceMs);
    return hadFailed;
  }

  failed(request: Request, reason: string): void {
    if (this.#failing.size === 0) {
      this.#sinceMs = this.#options.now();
      this.#options.onAway(reason);
    }
    this.#failing.add(request);
  }
}
