import type { DomainObservation } from '../core/checks/domain/observation.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { findRegistrableDomain } from '../net/registrable-domain.ts';
import type { KnowDomain } from './domain/known-domains.ts';

/**
 * Makes the domain probe: what is known of the target's registrable domain, looked up where that is due (D-27). It
 * rejects only where the knowledge is away or our own machine lacks something.
 */
export function createDomainProbe(knowDomain: KnowDomain): (target: CheckTarget) => Promise<DomainObservation> {
  return async ({ target, timeoutMs }) => {
    const startedAt = Date.now();
    const name = findRegistrableDomain(target);
    if (name === null) return { type: 'domain', startedAt, latencyMs: null, facts: null };
    const { facts, lookupMs } = await knowDomain(name, timeoutMs);
    return { type: 'domain', startedAt, latencyMs: lookupMs, facts };
  };
}
