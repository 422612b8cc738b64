import type { Logger } from 'pino';

/** The service's answer to a check-in: it knows this agent. */
export type Welcome = {
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
