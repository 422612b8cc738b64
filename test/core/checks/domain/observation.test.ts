import test from 'ava';
import type { DomainFacts } from '../../../../core/checks/domain/facts.ts';
import { judgeDomain } from '../../../../core/checks/domain/observation.ts';
import type { Judgement } from '../../../../core/checks/verdict.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const DAY_MS = 86_400_000;
const UP: Judgement = { verdict: 'up', cause: null, reason: null };

function factsOf(expiresInDays: number | null, overrides: Partial<DomainFacts> = {}): DomainFacts {
  return {
    name: 'shop.example',
    registration: {
      expiresAt: expiresInDays === null ? null : (NOW_MS + expiresInDays * DAY_MS) / 1000,
      registrar: null,
    },
    notFoundSinceMs: null,
    answeredAtMs: NOW_MS - 1000,
    failures: 0,
    failure: null,
    nextLookupAtMs: NOW_MS + DAY_MS,
    ...overrides,
  };
}

const CASES: readonly [what: string, facts: DomainFacts | null, expected: Judgement][] = [
  ['a domain with 31 days left is up', factsOf(31), UP],
  ['a domain with just over 30 days left is up', factsOf(30 + 1 / 86_400), UP],
  [
    'a domain with 30 days left is degraded',
    factsOf(30),
    { verdict: 'degraded', cause: 'domain_expiring', reason: 'shop.example expires in 30 days, on 2026-12-21' },
  ],
  [
    'half a day left is reported as 1 day',
    factsOf(0.5),
    { verdict: 'degraded', cause: 'domain_expiring', reason: 'shop.example expires in 1 day, on 2026-11-22' },
  ],
  [
    'an expiry confirmed by a response after it is down',
    factsOf(-2),
    { verdict: 'down', cause: 'domain_expired', reason: 'shop.example expired on 2026-11-19' },
  ],
  [
    'an expiry known only from a response before it is degraded, as the domain may be renewed',
    factsOf(-0.5, { answeredAtMs: NOW_MS - DAY_MS }),
    {
      verdict: 'degraded',
      cause: 'domain_expiring',
      reason: 'shop.example was due to expire on 2026-11-21, and its registry could not be queried since',
    },
  ],
  [
    'a single not found after the expiry is degraded until a second lookup',
    factsOf(-0.5, { notFoundSinceMs: NOW_MS - 1000 }),
    {
      verdict: 'degraded',
      cause: 'domain_expiring',
      reason:
        'shop.example was due to expire on 2026-11-21, and its registry does not know it; ' +
        'a second lookup in an hour must confirm that',
    },
  ],
  ['a registered domain without an expiry date is up', factsOf(null), UP],
  [
    'a single not found leaves the domain up',
    factsOf(300, { notFoundSinceMs: NOW_MS - 2 * DAY_MS, answeredAtMs: NOW_MS - 2 * DAY_MS }),
    UP,
  ],
  [
    'a domain not found twice is down',
    factsOf(300, { notFoundSinceMs: NOW_MS - DAY_MS }),
    { verdict: 'down', cause: 'domain_expired', reason: 'shop.example is not registered' },
  ],
  [
    'a single not found of a domain never found before is no vote',
    factsOf(null, { registration: null, notFoundSinceMs: NOW_MS - 1000 }),
    {
      verdict: 'none',
      cause: 'domain_unknown',
      reason: 'The registry does not know shop.example; a second lookup in an hour must confirm it',
    },
  ],
  [
    'a domain without data is no vote',
    factsOf(null, { registration: null, answeredAtMs: null }),
    { verdict: 'none', cause: 'domain_unknown', reason: 'There is no data about shop.example yet' },
  ],
  [
    'the reason for missing data includes the lookup failure',
    factsOf(null, { registration: null, answeredAtMs: null, failure: 'Connection refused' }),
    { verdict: 'none', cause: 'domain_unknown', reason: 'There is no data about shop.example yet: Connection refused' },
  ],
  [
    'data from eight days ago no longer counts',
    factsOf(300, { answeredAtMs: NOW_MS - 8 * DAY_MS, failure: 'Connection refused' }),
    {
      verdict: 'none',
      cause: 'domain_unknown',
      reason: 'The last response about shop.example is from 2026-11-13: Connection refused',
    },
  ],
  [
    'a target without a registrable domain is no vote',
    null,
    { verdict: 'none', cause: 'domain_unknown', reason: 'The target has no registrable domain' },
  ],
];
for (const [what, facts, expected] of CASES) {
  test(what, (t) => {
    t.deepEqual(
      judgeDomain({
        target: { checkSpec: { domain: { warnDays: 30 } } },
        observation: { type: 'domain', startedAt: NOW_MS, latencyMs: null, facts },
      }),
      expected,
    );
  });
}

test("the warning period is the monitor's own, or 30 days by default", (t) => {
  const judge = (domain?: { warnDays: number }) =>
    judgeDomain({
      target: { checkSpec: domain === undefined ? {} : { domain } },
      observation: { type: 'domain', startedAt: NOW_MS, latencyMs: null, facts: factsOf(20) },
    }).verdict;
  t.deepEqual(
    [judge(), judge({ warnDays: 20 }), judge({ warnDays: 19 }), judge({ warnDays: 3650 })],
    ['degraded', 'degraded', 'up', 'degraded'],
  );
});
