import type { Observation } from './observation.ts';
import type { FixedCause, Judgement, Vote } from './verdict.ts';

/** Causes that mean only that something took too long. */
const OF_TIME: ReadonlySet<string> = new Set([
  'timeout',
  'slow',
  'icmp_timeout',
  'tcp_no_banner',
  'udp_no_reply',
] satisfies FixedCause[]);

/** Smallest share of a check's duration from which the process's own stalls explain its slowness. */
const LEAST_SHARE = 0.25;

/**
 * Number of external events awaited by a check whose progress is unknown: a name, a connection, TLS, the first byte and
 * the last.
 */
const MAX_WAITS = 5;

const STALLED: Judgement = {
  verdict: 'none',
  cause: null,
  reason: 'The checking process itself was held up for much of this check, so its result does not count',
};

/**
 * Turns a slow check into no vote if its process was stalled for a quarter of its time or more (D-20). A resuming
 * process handles its timeouts before a response that has long arrived. All in milliseconds: duration of the check,
 * total stall of its process within it, and longest single stall. A stall delays a check only if something arrived
 * meanwhile, at most once per awaited event: neither a process that is always slightly late qualifies, nor one that
 * stalls while a target is silent.
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
 * Counts the events that a check awaited, the last perhaps in vain: each completed step of an exchange, and the one
 * after it.
 */
function countWaits(observation: Observation): number {
  switch (observation.type) {
    case 'http':
    case 'tcp': {
      const { dnsMs, connectMs, tlsMs, firstByteMs } = observation.timings;
      // A target that sent one byte may have sent more: bodies come in pieces, and redirects begin anew.
      return firstByteMs === null ? [dnsMs, connectMs, tlsMs].filter((ms) => ms !== null).length + 1 : MAX_WAITS;
    }
    case 'udp':
      return observation.dnsMs === null ? 1 : 2;
    default:
      return MAX_WAITS;
  }
}

/**
 * Largest error of a machine's clock, against the service's time, at which it can judge certificates, in milliseconds.
 */
const CLOCK_OFF_MS = 60_000;

/** Reasons that a wrong clock can cause in judging a certificate; TLS libraries use only the machine's clock. */
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
 * Turns a check into no vote if its certificate was invalid by the clock of a machine `aheadMs` off the service's time.
 */
export function discountClock(judgement: Judgement, aheadMs: number): Judgement {
  return Math.abs(aheadMs) > CLOCK_OFF_MS && judgement.reason !== null && OF_DATES.has(judgement.reason)
    ? WRONG_CLOCK
    : judgement;
}

/**
 * Number of monitors whose newest results are compared. It is small, so that an outage shows after two or three results
 * if there are many per second.
 */
const MONITORS_COMPARED = 5;

/**
 * Time for which a result counts as evidence on the agent's own network, in milliseconds. An agent with few monitors
 * judges each result alone and suspects every turn.
 */
const RECENT_MS = 10_000;

/**
 * Number of confirmed results in a row after which a source is bad at any threshold (`down_after_failures`). Until then
 * each of them may be the deciding one.
 */
const CONFIRMED_ENOUGH = 5;

/** Maximum number of confirmed monitors; beyond it all are forgotten, which costs one query each. */
const MAX_CONFIRMED = 10_000;

/**
 * Recent results of an agent, to tell its own outage from one of a target (D-48). Monitors are named by any unique
 * key. Results have turned mostly bad when at least half of the monitors compared have turned: bad, and not known to be
 * really so. Monitors known to be bad do not count, nor does a no vote; degraded is a response, and thus good. A
 * suspect result that becomes a no vote leaves its monitor turned, so that the suspicion lasts as long as the outage.
 */
export class RecentResults {
  readonly #confirmed = new Map<string, number>();
  #recent: { monitor: string; turned: boolean; atMs: number }[] = [];

  /** Adds a current result; returns true if it is suspect: results have turned mostly bad at once. */
  add({ monitor, verdict }: { monitor: string; verdict: Vote }, nowMs: number): boolean {
    if (verdict === 'none') return false;
    const isDown = verdict === 'down';
    if (!isDown) this.#confirmed.delete(monitor);
    const others = this.#recent.filter((result) => result.monitor !== monitor && nowMs - result.atMs < RECENT_MS);
    const isKnown = (this.#confirmed.get(monitor) ?? 0) >= CONFIRMED_ENOUGH;
    this.#recent =
      isDown && isKnown ? others : [...others, { monitor, turned: isDown, atMs: nowMs }].slice(-MONITORS_COMPARED);
    const turned = this.#recent.filter((result) => result.turned).length;
    return isDown && !isKnown && turned > 0 && turned * 2 >= this.#recent.length;
  }

  /**
   * Confirms a monitor's bad result, after which this agent could reach others. After enough confirmations in a row the
   * monitor is no sign of an own outage, until it is good again.
   */
  confirm(monitor: string): void {
    if (this.#confirmed.size >= MAX_CONFIRMED) this.#confirmed.clear();
    this.#confirmed.set(monitor, (this.#confirmed.get(monitor) ?? 0) + 1);
  }
}
