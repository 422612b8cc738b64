import type { FixedCause, Judgement } from './verdict.ts';

/** Causes that say no more than that something took too long. */
const OF_TIME: ReadonlySet<string> = new Set(['timeout', 'slow', 'icmp_timeout', 'tcp_no_banner', 'udp_no_reply'] satisfies FixedCause[]);

/** Of the time that a check has, the share that we may stand still ourselves without its being ours that ran out. */
const LEAST_SHARE = 0.25;

const STALLED: Judgement = { verdict: 'none', cause: null, reason: 'The process that checks was held up itself for much of the time that this check had, so what it saw does not count' };

/**
 * The judgement on a check as it counts: no vote where the target was too slow and the process that measured it stood still for a quarter of the
 * check's time or more, both in milliseconds (D-20). Once it moves again it sees that the time is over before it reads an answer that has long arrived.
 */
export function discountStall(judgement: Judgement, { stalledMs, timeoutMs }: { stalledMs: number; timeoutMs: number }): Judgement {
  const isOfTime = judgement.cause !== null && OF_TIME.has(judgement.cause);
  return isOfTime && stalledMs >= LEAST_SHARE * timeoutMs ? STALLED : judgement;
}
