import { HOUR_MS, DAY_MS } from '../../time.ts';

/**
 * What a registry says of a domain while it is registered; `expiresAt` is in Unix seconds, null where the registry
 * publishes none.
 */
export type Registration = { expiresAt: number | null; registrar: string | null };

/**
 * What one lookup of a domain came to. A failed one is our matter, never the domain's; `retryAtMs` is when the
 * registry may be queried again where it said so itself, null where it did not.
 */
export type DomainLookup =
  | ({ outcome: 'registered'; expiryFailure?: LookupFailure } & Registration)
  | { outcome: 'not_found' }
  | FailedLookup;

/** A lookup that brought no answer. */
export type FailedLookup = { outcome: 'failed' } & LookupFailure;

/**
 * Why a lookup failed, or, where the domain is known to be registered, the part of it that tells the expiry.
 * `hadNoTurn`: because other lookups were before it.
 */
export type LookupFailure = { reason: string; retryAtMs: number | null; hadNoTurn?: true };

/** Everything that is known of a domain, kept between lookups. Times ending in `Ms` are Unix milliseconds. */
export type DomainFacts = {
  /** In its ASCII form. */
  name: string;
  /** As it was last seen registered; null = never. */
  registration: Registration | null;
  /**
   * Since when every answer has been that the domain is not registered; null = the last answer was another, or there
   * was none.
   */
  notFoundSinceMs: number | null;
  /** The last lookup that brought an answer; null = none did. */
  answeredAtMs: number | null;
  /** Lookups in a row that failed of themselves, and what the last one failed of. */
  failures: number;
  failure: string | null;
  /** The registry is not queried before. */
  nextLookupAtMs: number;
};

/** Answers are cached this long (D-27), in milliseconds. */
const ANSWER_LASTS_MS = 24 * HOUR_MS;

/**
 * What matters now is looked up again after this: a domain that is not found, or one past its expiry (D-27), in
 * milliseconds. Of one that is not found again the wait doubles the time since the first such answer, up to a day.
 */
const SECOND_LOOKUP_MS = HOUR_MS;

/** The wait after a first failed lookup, doubled by each further one up to the longest, in milliseconds. */
const FIRST_RETRY_MS = 5 * 60_000;
const LONGEST_RETRY_MS = 6 * HOUR_MS;

/** Answers older than this say nothing of today, in milliseconds. */
const FACTS_HOLD_MS = 7 * ANSWER_LASTS_MS;

/** A domain of which nothing is known yet, and which may be looked up at once. */
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
 * What is known after a lookup. A failed one keeps what was known before (D-42); `not_found` keeps the registration
 * until a second lookup agrees.
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
    // What is known of the expiry stays, and is as old as it was. What did not find the domain said nothing of it.
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
 * True once a second lookup, at least an hour after the first, has found no such domain (D-27). One answer alone may be
 * the registry's hiccup.
 */
export function isGone({ notFoundSinceMs, answeredAtMs }: DomainFacts): boolean {
  return notFoundSinceMs !== null && answeredAtMs !== null && answeredAtMs - notFoundSinceMs >= SECOND_LOOKUP_MS;
}

/** True while the last answer is recent enough to speak for today: seven days. */
export function isCurrent({ answeredAtMs }: DomainFacts, nowMs: number): boolean {
  return answeredAtMs !== null && nowMs - answeredAtMs <= FACTS_HOLD_MS;
}

/** Many registries renew at the moment of expiry, so that an answer from before it does not say what came of it. */
function planNextLookupAtMs(expiresAt: number | null, nowMs: number): number {
  const dayLaterMs = nowMs + ANSWER_LASTS_MS;
  return expiresAt === null ? dayLaterMs : Math.min(dayLaterMs, Math.max(expiresAt * 1000, nowMs + SECOND_LOOKUP_MS));
}

/**
 * Being told to come back later is no failure of the lookup's own and does not lengthen the wait after the next one.
 */
function learnFailure(known: DomainFacts, { reason, retryAtMs }: LookupFailure, nowMs: number): DomainFacts {
  if (retryAtMs !== null) return { ...known, failure: reason, nextLookupAtMs: retryAtMs };
  const waitMs = Math.min(FIRST_RETRY_MS * 2 ** known.failures, LONGEST_RETRY_MS);
  return { ...known, failures: known.failures + 1, failure: reason, nextLookupAtMs: nowMs + waitMs };
}

/**
 * Days until an expiry (Unix seconds), a begun one counting whole; 0 from the expiry on. There are 14 days left until
 * the moment at which exactly 13 are.
 */
export function countDaysLeft(expiresAt: number, nowMs: number): number {
  return Math.max(0, Math.ceil((expiresAt * 1000 - nowMs) / DAY_MS));
}

/**
 * `expires in 14 days, on 2026-03-14` or `expired on 2026-03-14`: what becomes of something with an expiry (Unix
 * seconds); days in UTC.
 */
export function describeExpiry(expiresAt: number, nowMs: number): string {
  const days = countDaysLeft(expiresAt, nowMs);
  const date = formatDate(expiresAt);
  return days === 0 ? `expired on ${date}` : `expires in ${formatDays(days)}, on ${date}`;
}

/** A moment (Unix seconds) as its day in UTC, such as 2026-03-14. */
export function formatDate(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().slice(0, 10);
}

/**
 * `1 day`, `14 days`, `1,400 days`. Made for each text: the first formatter takes 25 ms, which a process that never
 * tells one is spared at its start.
 */
export function formatDays(days: number): string {
  return new Intl.NumberFormat('en', { style: 'unit', unit: 'day', unitDisplay: 'long' }).format(days);
}
