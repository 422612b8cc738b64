import test from 'ava';
import * as fc from 'fast-check';
import {
  isCurrent,
  isGone,
  learnDomain,
  unknownDomain,
  type DomainLookup,
} from '../../../../core/checks/domain/facts.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const UNKNOWN_DOMAIN = unknownDomain('example.com');
const registered = (expiresAt: number | null): DomainLookup => ({
  outcome: 'registered',
  expiresAt,
  registrar: 'Example',
});
const NOT_FOUND: DomainLookup = { outcome: 'not_found' };
const FAILED: DomainLookup = { outcome: 'failed', reason: 'Timed out', retryAtMs: null };

test('the next lookup is after a day, or at the expiry if that is sooner, but not within an hour', (t) => {
  const nextLookup = (expiresInMs: number | null) =>
    learnDomain(UNKNOWN_DOMAIN, registered(expiresInMs === null ? null : (NOW_MS + expiresInMs) / 1000), NOW_MS)
      .nextLookupAtMs - NOW_MS;
  t.is(nextLookup(null), DAY_MS);
  t.is(nextLookup(300 * DAY_MS), DAY_MS);
  t.is(nextLookup(5 * HOUR_MS), 5 * HOUR_MS);
  t.is(nextLookup(60_000), HOUR_MS);
  t.is(nextLookup(-DAY_MS), HOUR_MS);
});

test('a domain not found twice an hour apart is gone, despite failures but not a registration in between', (t) => {
  const once = learnDomain(UNKNOWN_DOMAIN, NOT_FOUND, NOW_MS);
  t.false(isGone(once));
  const failed = learnDomain(once, FAILED, NOW_MS + 2 * HOUR_MS);
  t.false(isGone(failed), 'a failure is no second lookup');
  t.true(isGone(learnDomain(failed, NOT_FOUND, NOW_MS + HOUR_MS)));
  t.false(isGone(learnDomain(once, NOT_FOUND, NOW_MS + HOUR_MS - 1)));
  t.false(isGone(learnDomain(learnDomain(once, registered(null), NOW_MS + 1), NOT_FOUND, NOW_MS + HOUR_MS)));
});

test('a domain not found is looked up again after an hour, then less often, down to once a day', (t) => {
  let facts = UNKNOWN_DOMAIN;
  let nowMs = NOW_MS;
  const waits: number[] = [];
  for (let lookups = 0; lookups < 9; lookups += 1) {
    facts = learnDomain(facts, NOT_FOUND, nowMs);
    waits.push((facts.nextLookupAtMs - nowMs) / HOUR_MS);
    nowMs = facts.nextLookupAtMs;
  }
  t.deepEqual(waits, [1, 1, 2, 4, 8, 16, 24, 24, 24]);
  const back = learnDomain(learnDomain(facts, registered(null), nowMs), NOT_FOUND, nowMs + DAY_MS);
  t.is(back.nextLookupAtMs, nowMs + DAY_MS + HOUR_MS, 'a domain found in between starts over');
});

test('failures back off from 5 minutes to at most 6 hours, and a response resets them', (t) => {
  let facts = UNKNOWN_DOMAIN;
  const waits: number[] = [];
  for (let failures = 0; failures < 9; failures += 1) {
    facts = learnDomain(facts, FAILED, NOW_MS);
    waits.push((facts.nextLookupAtMs - NOW_MS) / 60_000);
  }
  t.deepEqual(waits, [5, 10, 20, 40, 80, 160, 320, 360, 360]);
  t.like(learnDomain(facts, registered(null), NOW_MS), { failures: 0, failure: null });
});

test("a registry's own retry time is used, and the backoff does not grow", (t) => {
  const facts = learnDomain(
    UNKNOWN_DOMAIN,
    { outcome: 'failed', reason: 'Asks for a pause', retryAtMs: NOW_MS + 1234 },
    NOW_MS,
  );
  t.like(facts, { failures: 0, failure: 'Asks for a pause', nextLookupAtMs: NOW_MS + 1234, answeredAtMs: null });
});

test('responses are current for seven days', (t) => {
  const facts = learnDomain(UNKNOWN_DOMAIN, registered(null), NOW_MS);
  t.true(isCurrent(facts, NOW_MS + 7 * DAY_MS));
  t.false(isCurrent(facts, NOW_MS + 7 * DAY_MS + 1));
  t.false(isCurrent(UNKNOWN_DOMAIN, NOW_MS));
});

test('a failed lookup never changes known facts, and the next lookup is always within a day', (t) => {
  const anyLookup = fc.oneof(
    fc.record({
      outcome: fc.constant('registered' as const),
      expiresAt: fc.option(fc.integer({ min: 1, max: 4_000_000_000 })),
      registrar: fc.constant(null),
    }),
    fc.constant(NOT_FOUND),
    fc.constant(FAILED),
  );
  fc.assert(
    fc.property(
      fc.array(fc.tuple(anyLookup, fc.integer({ min: 1, max: 3 * DAY_MS })), { minLength: 1, maxLength: 30 }),
      (steps) => {
        let facts = UNKNOWN_DOMAIN;
        let nowMs = NOW_MS;
        for (const [lookUp, laterMs] of steps) {
          nowMs += laterMs;
          const next = learnDomain(facts, lookUp, nowMs);
          if (lookUp.outcome === 'failed') {
            t.deepEqual(
              [next.registration, next.notFoundSinceMs, next.answeredAtMs],
              [facts.registration, facts.notFoundSinceMs, facts.answeredAtMs],
            );
          }
          if (next.nextLookupAtMs <= nowMs || next.nextLookupAtMs > nowMs + DAY_MS) return false;
          facts = next;
        }
        return true;
      },
    ),
  );
  t.pass();
});

test('if only the expiry lookup fails, the known expiry is kept with its age', (t) => {
  const expiresAt = (NOW_MS + 5 * DAY_MS) / 1000;
  const known = learnDomain(UNKNOWN_DOMAIN, registered(expiresAt), NOW_MS);
  const limited: DomainLookup = {
    outcome: 'registered',
    expiresAt: null,
    registrar: 'Example',
    expiryFailure: { reason: 'The registry asks for a pause', retryAtMs: NOW_MS + DAY_MS + HOUR_MS },
  };
  const later = learnDomain(known, limited, NOW_MS + DAY_MS);
  t.like(later, { registration: { expiresAt }, answeredAtMs: NOW_MS, nextLookupAtMs: NOW_MS + DAY_MS + HOUR_MS });
  t.true(isCurrent(later, NOW_MS + 7 * DAY_MS));
  t.false(isCurrent(later, NOW_MS + 7 * DAY_MS + 1));

  t.like(learnDomain(known, limited, NOW_MS + 8 * DAY_MS), { registration: { expiresAt: null }, failures: 0 });

  const once = learnDomain(UNKNOWN_DOMAIN, NOT_FOUND, NOW_MS);
  const found = learnDomain(once, limited, NOW_MS + HOUR_MS);
  t.like(found, { registration: { expiresAt: null, registrar: 'Example' }, notFoundSinceMs: null });
  t.is(found.nextLookupAtMs, NOW_MS + HOUR_MS + DAY_MS, 'a registry without expiry dates is queried once a day');

  const hiccup = learnDomain(known, NOT_FOUND, NOW_MS + 5 * DAY_MS + HOUR_MS);
  const back = learnDomain(hiccup, limited, NOW_MS + 5 * DAY_MS + 2 * HOUR_MS);
  t.true((back.answeredAtMs ?? Infinity) < expiresAt * 1000, 'no response has confirmed the expiry');
});
