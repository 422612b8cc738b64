import { DEFAULT_WARN_DAYS } from '../../monitors/defaults.ts';
import type { CheckTarget } from '../../monitors/monitor.ts';
import { toUnixSeconds } from '../../time.ts';
import { UP, type Judgement } from '../verdict.ts';
import { countDaysLeft, formatDate, describeExpiry, type DomainFacts, isCurrent, isGone } from './facts.ts';

/**
 * Judges a domain (D-27). Expired or not registered is down, within `warnDays` of the expiry is degraded, a failed
 * lookup is no vote unless current facts are known.
 */
export function judgeDomain({
  target,
  observation,
}: {
  target: Pick<CheckTarget, 'checkSpec'>;
  observation: DomainObservation;
}): Judgement {
  const { facts, startedAt } = observation;
  if (facts === null) return unknown('The target has no registrable domain');
  if (!isCurrent(facts, startedAt)) return unknown(explainIgnorance(facts));
  if (isGone(facts)) return { verdict: 'down', cause: 'domain_expired', reason: `${facts.name} is not registered` };
  if (facts.registration === null)
    return unknown(`The registry does not know ${facts.name}; a second lookup in an hour must confirm it`);
  return judgeExpiry(facts, { warnDays: target.checkSpec.domain?.warnDays ?? DEFAULT_WARN_DAYS, nowMs: startedAt });
}

function judgeExpiry(
  { name, registration, answeredAtMs, notFoundSinceMs }: DomainFacts,
  { warnDays, nowMs }: { warnDays: number; nowMs: number },
): Judgement {
  const expiresAt = registration?.expiresAt ?? null;
  if (expiresAt === null) return UP;
  const daysLeft = countDaysLeft(expiresAt, nowMs);
  if (daysLeft > warnDays) return UP;
  if (daysLeft > 0)
    return { verdict: 'degraded', cause: 'domain_expiring', reason: `${name} ${describeExpiry(expiresAt, nowMs)}` };
  // The domain may have been renewed at the last moment: only an answer from after the expiry can disprove that. A
  // not-found answer does not show the expiry.
  const isConfirmed = answeredAtMs !== null && answeredAtMs >= expiresAt * 1000 && notFoundSinceMs === null;
  if (isConfirmed)
    return { verdict: 'down', cause: 'domain_expired', reason: `${name} ${describeExpiry(expiresAt, nowMs)}` };
  const since =
    notFoundSinceMs === null
      ? 'its registry could not be queried since'
      : 'its registry does not know it; a second lookup in an hour must confirm that';
  const reason = `${name} was due to expire on ${formatDate(expiresAt)}, and ${since}`;
  return { verdict: 'degraded', cause: 'domain_expiring', reason };
}

function unknown(reason: string): Judgement {
  return { verdict: 'none', cause: 'domain_unknown', reason };
}

function explainIgnorance({ name, answeredAtMs, failure }: DomainFacts): string {
  const known =
    answeredAtMs === null
      ? `There is no data about ${name} yet`
      : `The last response about ${name} is from ${formatDate(toUnixSeconds(answeredAtMs))}`;
  return failure === null ? known : `${known}: ${failure}`;
}

/** Facts of one lookup of a domain. */
export type DomainObservation = {
  type: 'domain';
  /** Start of the probe, in Unix milliseconds. */
  startedAt: number;
  /** Response time of the registry, in milliseconds; null if the answer was cached. */
  latencyMs: number | null;
  /** Null if the target has no registrable domain. */
  facts: DomainFacts | null;
};
