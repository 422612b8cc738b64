import type { Observation } from './observation.ts';
import type { FixedCause, Judgement } from './verdict.ts';

/** Causes that say no more than that something took too long. */
const OF_TIME: ReadonlySet<string> = new Set([
  'timeout',
  'slow',
  'icmp_timeout',
  'tcp_no_banner',
  'udp_no_reply',
] satisfies FixedCause[]);

/**
 * Of the time that a check took, the share that we may have held it up ourselves without its being us who made it slow.
 */
const LEAST_SHARE = 0.25;

/**
 * How often a check waits for something from outside where it is not known how far it came. It waits for a name, a
 * connection, TLS, the first byte and the last.
 */
const MOST_WAITS = 5;

const STALLED: Judgement = {
  verdict: 'none',
  cause: null,
  reason: 'The checking process itself was held up for much of this check, so its result does not count',
};

/**
 * Judges a check as no vote where it was slow and we held it up for a quarter of its time or more (D-20). Once a
 * process moves again it sees that the time is over before it reads an answer that has long arrived. All in
 * milliseconds: for how long the check took, for how much of that its process stood still, and for how long at most at
 * a time. Standing still holds a check up only where something has come meanwhile, at most once for each thing that it
 * waited for: neither does a process that is always a little late, nor one that stands still while a target says
 * nothing.
 */
export function discountStall(
  judgement: Judgement,
  observation: Observation,
  { tookMs, stalledMs, longestStallMs }: { tookMs: number; stalledMs: number; longestStallMs: number },
): Judgement {
  const isOfTime = judgement.cause !== null && OF_TIME.has(judgement.cause);
  return isOfTime && Math.min(stalledMs, countWaits(observation) * longestStallMs) >= LEAST_SHARE * tookMs
    ? STALLED
    : judgement;
}

/**
 * For how many things a check waited, the last of them perhaps in vain. Each step of an exchange that came about, and
 * the one after it.
 */
function countWaits(observation: Observation): number {
  switch (observation.type) {
    case 'http':
    case 'tcp': {
      const { dnsMs, connectMs, tlsMs, firstByteMs } = observation.timings;
      // Who answered once may have answered more than once: bodies come in pieces, and redirects begin anew.
      return firstByteMs === null ? [dnsMs, connectMs, tlsMs].filter((ms) => ms !== null).length + 1 : MOST_WAITS;
    }
    case 'udp':
      return observation.dnsMs === null ? 1 : 2;
    default:
      return MOST_WAITS;
  }
}

/** A machine's clock that is further off the service's time than this says nothing of certificates, in milliseconds. */
const CLOCK_OFF_MS = 60_000;

/** What the judgement of a certificate by the wrong time says; TLS libraries know the machine's clock only. */
const OF_DATES: ReadonlySet<string> = new Set(['The certificate has expired', 'The certificate is not yet valid']);

const WRONG_CLOCK: Judgement = {
  verdict: 'none',
  cause: null,
  reason: 'The clock of the checking machine is wrong, so its result for the certificate does not count',
};

/**
 * The judgement on a check as it counts. No vote where a certificate was not good at the time of a machine whose clock
 * is `aheadMs` off the service's time.
 */
export function discountClock(judgement: Judgement, aheadMs: number): Judgement {
  return Math.abs(aheadMs) > CLOCK_OFF_MS && judgement.reason !== null && OF_DATES.has(judgement.reason)
    ? WRONG_CLOCK
    : judgement;
}
