import type { CheckTarget } from '../../monitors/monitor.ts';
import { judgeFailure } from '../judging.ts';
import type { FixedCause, Judgement } from '../verdict.ts';

type Started = {
  type: 'icmp';
  /** Unix milliseconds at which the probe began. */
  startedAt: number;
};

/** Echo requests that went out, and how many of them were answered in time. */
export type IcmpMeasured = Started & {
  outcome: 'measured';
  /**
   * The mean round trip of the answered requests in milliseconds, lookup not included; null when none was answered.
   */
  latencyMs: number | null;
  /** 1 or more. */
  sent: number;
  /** From 0 to `sent`: a request that is answered twice counts once. */
  received: number;
};

/** No request could be sent there; `reason` is a sentence for people. */
export type IcmpFailed = Started & { outcome: 'failed'; latencyMs: null; cause: FixedCause; reason: string };

/** Nothing on the probing machine could send echo requests; `reason` is a sentence for people. */
export type IcmpUnavailable = Started & { outcome: 'unavailable'; latencyMs: null; reason: string };

/** The facts of one icmp probe. */
export type IcmpObservation = IcmpMeasured | IcmpFailed | IcmpUnavailable;

/** What the verdict on an icmp observation depends on. */
type IcmpExpectation = Pick<CheckTarget, 'timeoutMs' | 'checkSpec'>;

/**
 * The verdict on one icmp observation (D-25). No reply at all is down; loss, then the mean round trip, degrade where
 * they are strictly above a threshold that is set.
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
    // What was lost is requests that timed out: of D-20's causes the one that says so.
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
  return { verdict: 'up', cause: null, reason: null };
}

/** Three decimals at most, so that a figure just above a whole threshold does not read like it. */
function readable(value: number): string {
  return String(Number(value.toFixed(3)));
}
