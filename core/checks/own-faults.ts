import type { Observation } from './observation.ts';
import type { FixedCause, Judgement, Vote } from './verdict.ts';

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
const MAX_WAITS = 5;

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
      return firstByteMs === null ? [dnsMs, connectMs, tlsMs].filter((ms) => ms !== null).length + 1 : MAX_WAITS;
    }
    case 'udp':
      return observation.dnsMs === null ? 1 : 2;
    default:
      return MAX_WAITS;
  }
}

/** A machine's clock that is further off the service's time than this says nothing of certificates, in milliseconds. */
const CLOCK_OFF_MS = 60_000;

/** What the judgement of a certificate by the wrong time says; TLS libraries know the machine's clock only. */
const OF_DATES: ReadonlySet<string> = new Set([
  'The certificate has expired',
  'The certificate is not yet valid',
  'A certificate of the chain has expired',
]);

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

/**
 * The newest results of so many monitors are compared. They are few, so that an outage shows after two or three results
 * where there are many a second.
 */
const MONITORS_COMPARED = 5;

/**
 * What a result says of our own network holds so long, in milliseconds. An agent with few monitors sees each result
 * alone and suspects every turn.
 */
const RECENT_MS = 10_000;

/**
 * With this many confirmed results in a row a source is bad whatever its threshold (`down_after_failures`). Until then
 * each of them may be the one that decides.
 */
const CONFIRMED_ENOUGH = 5;

/** Monitors with confirmed results at most; with more all are forgotten, which costs one question each. */
const MAX_CONFIRMED = 10_000;

/**
 * What an agent remembers of its own results, to tell an outage of its own from one of a target (D-48). Monitors go by
 * any key of their own. Results have turned mostly bad when at least half of the monitors compared have turned: bad,
 * and not known to be really so. Those that are known to be bad say nothing, nor does a no vote; degraded is an answer,
 * and thus good. A suspect result that turns out to be no vote leaves its monitor turned, so that the suspicion lasts
 * as long as the outage.
 */
export class RecentResults {
  readonly #confirmed = new Map<string | number, number>();
  #recent: { monitor: string | number; turned: boolean; atMs: number }[] = [];

  /** Takes in a result of now; true where it is suspect: results have turned mostly bad at once. */
  add({ monitor, verdict }: { monitor: string | number; verdict: Vote }, nowMs: number): boolean {
    if (verdict === 'none') return false;
    const isBad = verdict === 'down';
    if (!isBad) this.#confirmed.delete(monitor);
    const others = this.#recent.filter((result) => result.monitor !== monitor && nowMs - result.atMs < RECENT_MS);
    const isKnown = (this.#confirmed.get(monitor) ?? 0) >= CONFIRMED_ENOUGH;
    this.#recent =
      isBad && isKnown ? others : [...others, { monitor, turned: isBad, atMs: nowMs }].slice(-MONITORS_COMPARED);
    const turned = this.#recent.filter((result) => result.turned).length;
    return isBad && !isKnown && turned > 0 && turned * 2 >= this.#recent.length;
  }

  /**
   * A monitor's bad result is real, as this agent could reach others after it. Once that was so often enough in a row
   * it is no sign of an outage of ours, until it is good again.
   */
  confirm(monitor: string | number): void {
    if (this.#confirmed.size >= MAX_CONFIRMED) this.#confirmed.clear();
    this.#confirmed.set(monitor, (this.#confirmed.get(monitor) ?? 0) + 1);
  }
}
