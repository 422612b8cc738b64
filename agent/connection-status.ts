import type { Logger } from 'pino';

/** The service's answer to a check-in: it knows this agent. */
export type Welcome = {
  agentId: string | undefined;
  monitors: number;
  capabilities: readonly string[];
  serverTimeMs: number | null;
};

/** Whether the service knows this agent, reported as it changes. */
export type ConnectionStatus = {
  welcomed: (welcome: Welcome) => void;
  /** False where the service has never known this agent. */
  refused: () => boolean;
};

/**
 * A way of ten seconds to the service and back is slow, in milliseconds; clocks that differ by more are not both right.
 */
const CLOCKS_APART_MS = 20_000;

/** Makes the connection status of an agent that has not checked in yet. */
export function createConnectionStatus(log: Logger, now: () => number): ConnectionStatus {
  let wasKnown = false;
  let isRefused = false;
  let isClockWrong = false;

  /** With a clock that is ahead results are declined, with one that is behind they are stale. */
  const compareClocks = (serverTimeMs: number): void => {
    const aheadMs = now() - serverTimeMs;
    const wasWrong = isClockWrong;
    isClockWrong = Math.abs(aheadMs) > CLOCKS_APART_MS;
    if (isClockWrong && !wasWrong) log.warn({ ahead_seconds: Math.round(aheadMs / 1000) }, 'clock.wrong');
  };

  return {
    welcomed({ agentId, monitors, capabilities, serverTimeMs }) {
      if (!wasKnown) log.info({ agent_id: agentId, monitors, capabilities }, 'service.connected');
      else if (isRefused) log.info({}, 'token.accepted');
      wasKnown = true;
      isRefused = false;
      if (serverTimeMs !== null) compareClocks(serverTimeMs);
    },
    refused() {
      if (wasKnown) log.error({}, 'token.refused');
      isRefused = true;
      return wasKnown;
    },
  };
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
 * Whether the service does what it is asked: away from the first request that fails until those that failed succeed.
 */
type Reachability = {
  /** True where this request had failed the last time. */
  succeeded: (request: Request) => boolean;
  failed: (request: Request, reason: string) => void;
};

/** Makes the watch over one service; its changes are reported once. */
export function createReachability({ now, onAway, onBack }: ReachabilityOptions): Reachability {
  const failing = new Set<Request>();
  let sinceMs = 0;
  return {
    succeeded(request) {
      const hadFailed = failing.delete(request);
      if (hadFailed && failing.size === 0) onBack(now() - sinceMs);
      return hadFailed;
    },
    failed(request, reason) {
      if (failing.size === 0) {
        sinceMs = now();
        onAway(reason);
      }
      failing.add(request);
    },
  };
}
