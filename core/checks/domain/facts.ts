import { HOUR_MS, DAY_MS } from '../../time.ts';

/** Registry data of a registered domain; `expiresAt` is in Unix seconds, null if the registry does not publish it. */
export type Registration = { expiresAt: number | null; registrar: string | null };

/**
 * Result of one lookup of a domain. A failed one is the service's fault, never the domain's; `retryAtMs` is when the
 * registry may be queried again if it named a time, null otherwise.
 */
export type DomainLookup =
  | ({ outcome: 'registered'; expiryFailure?: LookupFailure } & Registration)
  | { outcome: 'not_found' }
  | FailedLookup;

/** A lookup without an answer. */
export type FailedLookup = { outcome: 'failed' } & LookupFailure;

/**
 * Why a lookup failed or, if the domain is known to be registered, its query of the expiry. `hadNoTurn`: other lookups
 * were queued before it.
 */
type LookupFailure = { reason: string; retryAtMs: number | null; hadNoTurn?: true };

/** All known facts of a domain, kept between lookups. Times ending in `Ms` are Unix milliseconds. */
export type DomainFacts = {
  /** In ASCII. */
  name: string;
  /** As of the last positive answer; null = none yet. */
  registration: Registration | null;
  /**
   * Start of the current series of answers that the domain is not registered; null = the last answer was another, or
   * there was none.
   */
  notFoundSinceMs: number | null;
  /** Time of the last lookup with an answer; null = none yet. */
  answeredAtMs: number | null;
  /** Number of the lookup's own failures in a row, and the reason of the last one. */
  failures: number;
  failure: string | null;
  /** Earliest time of the next lookup. */
  nextLookupAtMs: number;
};

/** Lifetime of a cached answer (D-27), in milliseconds. */
const ANSWER_LASTS_MS = 24 * HOUR_MS;

/**
 * Wait before the next lookup of a domain that is not found, or past its expiry (D-27), in milliseconds. While it is
 * still not found, each wait equals the time since the first such answer, up to a day.
 */
const SECOND_LOOKUP_MS = HOUR_MS;

/** Wait after a first failed lookup, doubled by each further one up to the longest, in milliseconds. */
const FIRST_RETRY_MS = 5 * 60_000;
const LONGEST_RETRY_MS = 6 * HOUR_MS;

/** Age from which answers no longer describe the present, in milliseconds. */
const FACTS_HOLD_MS = 7 * ANSWER_LASTS_MS;

/** Returns the facts of a domain that was never looked up, and may be at once. */
export function unknownDomain(name: string): DomainFacts {
  return {
    name,
    registration: null,
    notFoundSinceMs: null,
    answeredAtMs: null,
    failures: 0,
    failure: null,
    nextLookupAtMs: 0,
  };
}

/**
 * Updates the facts after a lookup. A failed one keeps earlier facts (D-42); `not_found` keeps the registration until a
 * second lookup agrees.
 */
export function learnDomain(known: DomainFacts, lookup: DomainLookup, nowMs: number): DomainFacts {
  if (lookup.outcome === 'failed') return learnFailure(known, lookup, nowMs);
  const answered = { ...known, answeredAtMs: nowMs, failures: 0, failure: null };
  if (lookup.outcome === 'not_found') {
    const notFoundSinceMs = known.notFoundSinceMs ?? nowMs;
    const waitMs = Math.min(Math.max(nowMs - notFoundSinceMs, SECOND_LOOKUP_MS), ANSWER_LASTS_MS);
    return { ...answered, notFoundSinceMs, nextLookupAtMs: nowMs + waitMs };
  }
  const { expiresAt, registrar, expiryFailure } = lookup;
  const knownExpiry = isCurrent(known, nowMs) ? (known.registration?.expiresAt ?? null) : null;
  if (expiryFailure !== undefined && knownExpiry !== null) {
    // The known expiry remains, with its age. A not-found answer did not confirm it.
    const isOfExpiry = known.notFoundSinceMs === null;
    const answeredAtMs = isOfExpiry ? known.answeredAtMs : Math.min(known.answeredAtMs ?? 0, knownExpiry * 1000 - 1);
    return { ...learnFailure(known, expiryFailure, nowMs), answeredAtMs, notFoundSinceMs: null };
  }
  return {
    ...answered,
    registration: { expiresAt, registrar },
    notFoundSinceMs: null,
    nextLookupAtMs: planNextLookupAtMs(expiresAt, nowMs),
  };
}

/**
 * Reports whether a second lookup, at least an hour after the first, has found no such domain (D-27). A single answer
 * may be a temporary fault of the registry.
 */
export function isGone({ notFoundSinceMs, answeredAtMs }: DomainFacts): boolean {
  return notFoundSinceMs !== null && answeredAtMs !== null && answeredAtMs - notFoundSinceMs >= SECOND_LOOKUP_MS;
}

/** Reports whether the last answer is recent enough to describe the present: seven days. */
export function isCurrent({ answeredAtMs }: DomainFacts, nowMs: number): boolean {
  return answeredAtMs !== null && nowMs - answeredAtMs <= FACTS_HOLD_MS;
}

/** Many registries renew at the moment of expiry, so an answer from before it does not show the outcome. */
function planNextLookupAtMs(expiresAt: number | null, nowMs: number): number {
  const dayLaterMs = nowMs + ANSWER_LASTS_MS;
  return expiresAt === null ? dayLaterMs : Math.min(dayLaterMs, Math.max(expiresAt * 1000, nowMs + SECOND_LOOKUP_MS));
}

/**
 * A request to come back later is no failure of the lookup itself and does not lengthen the wait after the next one.
 */
function learnFailure(known: DomainFacts, { reason, retryAtMs }: LookupFailure, nowMs: number): DomainFacts {
  if (retryAtMs !== null) return { ...known, failure: reason, nextLookupAtMs: retryAtMs };
  const waitMs = Math.min(FIRST_RETRY_MS * 2 ** known.failures, LONGEST_RETRY_MS);
  return { ...known, failures: known.failures + 1, failure: reason, nextLookupAtMs: nowMs + waitMs };
}

/**
 * Returns the days until an expiry (Unix seconds), counting a begun one as whole; 0 from the expiry on. There are 14
 * days left until exactly 13 are.
 */
export function countDaysLeft(expiresAt: number, nowMs: number): number {
  return Math.max(0, Math.ceil((expiresAt * 1000 - nowMs) / DAY_MS));
}

/**
 * Describes an expiry (Unix seconds) with days in UTC: `expires in 14 days, on 2026-03-14` or `expired on 2026-03-14`.
 */
export function describeExpiry(expiresAt: number, nowMs: number): string {
  const days = countDaysLeft(expiresAt, nowMs);
  const date = formatDate(expiresAt);
  return days === 0 ? `expired on ${date}` : `expires in ${formatDays(days)}, on ${date}`;
}

/** Formats a moment (Unix seconds) as its day in UTC, such as 2026-03-14. */
export function formatDate(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().slice(0, 10);
}

/**
 * Formats `1 day`, `14 days`, `1,400 days`. The formatter is created per call: the first one takes 25 ms, which
 * processes that never need it save at startup.
 */
export function formatDays(days: number): string {
  return new Intl.NumberFormat('en', { style: 'unit', unit: 'day', unitDisplay: 'long' }).format(days);
}
