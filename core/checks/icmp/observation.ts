import type { CheckTarget } from '../../monitors/monitor.ts';
import { judgeFailure } from '../judging.ts';
import { UP, type FixedCause, type Judgement } from '../verdict.ts';

type Started = {
  type: 'icmp';
  /** Start of the probe, in Unix milliseconds. */
  startedAt: number;
};

/** Echo requests were sent; the counts include the replies that arrived in time. */
export type IcmpMeasured = Started & {
  outcome: 'measured';
  /** Mean round trip of the answered requests in milliseconds, without the lookup; null if none was answered. */
  latencyMs: number | null;
  /** 1 or more. */
  sent: number;
  /** From 0 to `sent`: a request that is answered twice counts once. */
  received: number;
};

/** No request could be sent; `reason` is a sentence for people. */
type IcmpFailed = Started & { outcome: 'failed'; latencyMs: null; cause: FixedCause; reason: string };

/** The probing machine cannot send echo requests; `reason` is a sentence for people. */
type IcmpUnavailable = Started & { outcome: 'unavailable'; latencyMs: null; reason: string };

/** Facts of one icmp probe. */
export type IcmpObservation = IcmpMeasured | IcmpFailed | IcmpUnavailable;

/** Inputs of the verdict on an icmp observation. */
type IcmpExpectation = Pick<CheckTarget, 'timeoutMs' | 'checkSpec'>;

/**
 * Judges one icmp observation (D-25). No reply at all is down; loss, then the mean round trip, degrade if strictly
 * above a configured threshold.
 */
export function judgeIcmp({
  target,
  observation,
}: {
  target: IcmpExpectation;
  observation: IcmpObservation;
}): Judgement {
  switch (observation.outcome) {
    case 'unavailable':
      return { verdict: 'none', cause: 'icmp_unavailable', reason: observation.reason };
    case 'failed':
      return judgeFailure(observation);
    case 'measured':
      return judgeReplies(target, observation);
    default:
      return observation satisfies never;
  }
}

function judgeReplies(
  { timeoutMs, checkSpec }: IcmpExpectation,
  { sent, received, latencyMs }: IcmpMeasured,
): Judgement {
  const { lossDegradedPct = Infinity, rttDegradedMs = Infinity } = checkSpec.ping ?? {};
  if (received === 0 || latencyMs === null) {
    return {
      verdict: 'down',
      cause: 'icmp_timeout',
      reason: `No reply to ${sent} echo request${sent === 1 ? '' : 's'} within ${timeoutMs} ms`,
    };
  }
  const lossPct = ((sent - received) / sent) * 100;
  if (lossPct > lossDegradedPct) {
    // Lost requests timed out: this is the fitting one of D-20's causes.
    return {
      verdict: 'degraded',
      cause: 'icmp_timeout',
      reason:
        `${sent - received} of ${sent} echo requests got no reply: ${readable(lossPct)}% lost, more than ` +
        `${lossDegradedPct}%`,
    };
  }
  if (latencyMs > rttDegradedMs) {
    return {
      verdict: 'degraded',
      cause: 'slow',
      reason: `The mean round trip took ${readable(latencyMs)} ms, more than ${rttDegradedMs} ms`,
    };
  }
  return UP;
}

/** Formats with at most three decimals, so that a figure just above a whole threshold does not equal it. */
function readable(value: number): string {
  return String(Number(value.toFixed(3)));
}
