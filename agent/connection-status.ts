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
