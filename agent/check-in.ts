import type { Logger } from 'pino';
import type { PullRequest } from '../core/agents/wire.ts';
import { createWakeUp, type Wake, type WakeUp } from './clock.ts';
import { backoffMs, type PullOutcome, type ServiceClient } from './service-client.ts';

type CheckInOptions = {
  pull: ServiceClient['pull'];
  request: PullRequest;
  pullSeconds: number;
  /** The tag of the current work; null if there is none. */
  etag: string | null;
  now: () => number;
  random: () => number;
  wake: Wake;
  /**
   * Handles the outcome of a check-in; the next one waits for that. Returns false if the work could not be applied:
   * then it is requested again.
   */
  onOutcome: (outcome: PullOutcome) => Promise<boolean>;
};

/**
 * Interval of check-ins after a refused token, in milliseconds: the refusal may come from a proxy, or from a database
 * that was restored.
 */
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
  /** True until the outcome is handled: with two at a time the older one could win. */
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

  /** Checks in at once after failures, because the service responds again, unless it requested a wait. */
  retryNow(): void {
    if (this.#failures > 0 && !this.#isWaitRequested) this.#next.at(this.#options.now());
  }

  /**
   * Checks in after a second, because the service has refused the token in another request, or results of removed work.
   * If a check-in is running, the next one follows a second after it.
   */
  hasten(): void {
    if (this.#isUnderWay) this.#isHastened = true;
    else this.#next.at(this.#options.now() + HASTENED_MS);
  }

  /** Ends the check-ins; a running one has no further effect. */
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

/** The service's answer to an accepted check-in. */
type Welcome = {
  agentId: string | undefined;
  monitors: number;
  capabilities: readonly string[];
  serverTimeMs: number | null;
};

/**
 * Clock difference that counts as wrong, in milliseconds; ten seconds each way to the service and back would be slow.
 */
const CLOCKS_APART_MS = 20_000;

/** Tracks and logs whether the service accepts the agent, which has not checked in yet. */
export class ConnectionStatus {
  readonly #log: Logger;
  readonly #now: () => number;
  #wasKnown = false;
  #isRefused = false;
  #isClockWrong = false;
  #aheadMs = 0;

  constructor(log: Logger, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  /** Lead of this machine's clock over the service's at the last check-in, in milliseconds; 0 if unknown (D-775). */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  welcomed({ agentId, monitors, capabilities, serverTimeMs }: Welcome): void {
    if (!this.#wasKnown) this.#log.info({ agent_id: agentId, monitors, capabilities }, 'service.connected');
    else if (this.#isRefused) this.#log.info({}, 'token.accepted');
    this.#wasKnown = true;
    this.#isRefused = false;
    if (serverTimeMs === null) this.#aheadMs = 0;
    else this.#compareClocks(serverTimeMs);
  }

  /** Records a refusal; returns false if the service has never accepted this agent. */
  refused(): boolean {
    if (this.#wasKnown) this.#log.error({}, 'token.refused');
    this.#isRefused = true;
    return this.#wasKnown;
  }

  /** Compares the clocks: results of a clock that is ahead are declined, those of one that is behind are stale. */
  #compareClocks(serverTimeMs: number): void {
    this.#aheadMs = this.#now() - serverTimeMs;
    const wasWrong = this.#isClockWrong;
    this.#isClockWrong = Math.abs(this.#aheadMs) > CLOCKS_APART_MS;
    if (this.#isClockWrong && !wasWrong)
      this.#log.warn({ ahead_seconds: Math.round(this.#aheadMs / 1000) }, 'clock.wrong');
  }
}

/** Requests of the agent to the service. */
type Request = 'pull' | 'ingest';

type ReachabilityOptions = {
  now: () => number;
  onAway: (reason: string) => void;
  /** Called with the duration of the outage, in milliseconds. */
  onBack: (awayMs: number) => void;
};

/**
 * Tracks whether the service handles requests, and reports each change once. It is away from the first failed request
 * until each kind that failed succeeds.
 */
export class Reachability {
  readonly #options: ReachabilityOptions;
  readonly #failing = new Set<Request>();
  #sinceMs = 0;

  constructor(options: ReachabilityOptions) {
    this.#options = options;
  }

  /** Records a success; returns true if this request had failed the last time. */
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
