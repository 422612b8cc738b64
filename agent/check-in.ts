import type { PullRequest } from '../core/agents/wire.ts';
import { backoffMs } from './backoff.ts';
import type { PullOutcome, ServiceClient } from './service-client.ts';
import { createWakeUp, type Wake } from './wake-up.ts';

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

/** The agent's regular check-ins, the first at once. */
export type CheckIn = {
  start: () => void;
  /**
   * The service is known to answer again: a check-in that waits for that does not wait any longer, unless the service
   * asked for that.
   */
  retryNow: () => void;
  /**
   * The service has refused the token elsewhere, or results of work that is no more: the next check-in comes in a
   * second, and tells.
   */
  hasten: () => void;
  /** Ends the check-ins; one that is under way changes nothing any more. */
  stop: () => void;
};

/** An agent whose token is refused goes on asking: it may have been a proxy, or a database that was put back. */
const UNAUTHORIZED_MS = 60_000;

const HASTENED_MS = 1000;

/** Makes the check-ins of an agent. */
export function createCheckIn(options: CheckInOptions): CheckIn {
  const { pull, request, pullSeconds, now, random, onOutcome } = options;
  let { etag } = options;
  let failures = 0;
  let isWaitRequested = false;
  let isStopped = false;
  let isUnderWay = false;
  const next = createWakeUp(options, () => void runRound());

  const pauseMs = (outcome: PullOutcome, startedAtMs: number): number => {
    if (outcome.outcome === 'unauthorized') return UNAUTHORIZED_MS;
    isWaitRequested = outcome.outcome === 'failed' && outcome.requestedWaitMs !== null;
    if (outcome.outcome !== 'failed') {
      failures = 0;
      return Math.max(0, startedAtMs + pullSeconds * 1000 - now());
    }
    failures += 1;
    return backoffMs({ failures, requestedWaitMs: outcome.requestedWaitMs, random });
  };

  const runRound = async (): Promise<void> => {
    if (isUnderWay || isStopped) return;
    isUnderWay = true;
    const startedAtMs = now();
    const outcome = await pull(request, etag);
    isUnderWay = false;
    if (isStopped) return;
    const isTaken = await onOutcome(outcome);
    if (outcome.outcome === 'work') etag = isTaken ? outcome.etag : null;
    if (outcome.outcome === 'unauthorized') etag = null;
    if (!isStopped) next.at(now() + pauseMs(outcome, startedAtMs));
  };

  return {
    start: () => next.at(now()),
    retryNow() {
      if (failures > 0 && !isWaitRequested) next.at(now());
    },
    hasten: () => next.at(now() + HASTENED_MS),
    stop() {
      isStopped = true;
      next.cancel();
    },
  };
}
