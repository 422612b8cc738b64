import type { DomainLookup } from '../../core/domain/facts.ts';
import { readSnapshot } from './rdap-bootstrap.ts';
import { askRdap, type RdapOutcome, type RdapTools } from './rdap.ts';
import type { DomainStore } from './store.ts';
import type { AskWhois } from './whois.ts';

export type LookupTools = RdapTools & { store: Pick<DomainStore, 'findRdapService'>; askWhois: AskWhois };

/**
 * Asks the registry of a domain in its ASCII form. Whatever registries do is a value; it rejects only when our own
 * machine lacks something.
 */
export type LookUpDomain = (name: string, deadlineAtMs: number) => Promise<DomainLookup>;

/** How much of the time RDAP may take, so that time is left for WHOIS where RDAP hangs. */
const RDAP_SHARE = 0.5;

/**
 * Makes the lookup of D-27: RDAP where the registry has it, WHOIS where RDAP has no answer or its answer no expiry.
 */
export function createDomainLookup(tools: LookupTools): LookUpDomain {
  const snapshot = readSnapshot();
  return async (name, deadlineAtMs) => {
    const tld = name.slice(name.lastIndexOf('.') + 1);
    const refreshed = await tools.store.findRdapService(tld);
    const base = refreshed === undefined ? snapshot[tld] : refreshed;
    if (base === undefined || base === null) return await tools.askWhois({ name, deadlineAtMs });

    const nowMs = tools.now();
    const rdap = await askRdap(
      { name, base, deadlineAtMs: nowMs + Math.round((deadlineAtMs - nowMs) * RDAP_SHARE) },
      tools,
    );
    if (isEnough(rdap)) return rdap;
    return combine(rdap, await tools.askWhois({ name, deadlineAtMs }));
  };
}

/** A registry that wants a pause is not asked by another way either. */
function isEnough(rdap: RdapOutcome): boolean {
  if (rdap.outcome === 'failed') return rdap.refused === true;
  return rdap.outcome === 'not_found' || rdap.expiresAt !== null;
}

/**
 * WHOIS answers for an RDAP that failed, and adds the expiry to one that has none; what RDAP said stands wherever WHOIS
 * knows less.
 */
function combine(rdap: DomainLookup, whois: DomainLookup): DomainLookup {
  if (rdap.outcome !== 'registered') return whois.outcome === 'failed' ? rdap : whois;
  return whois.outcome === 'registered'
    ? { ...rdap, expiresAt: whois.expiresAt, registrar: rdap.registrar ?? whois.registrar }
    : rdap;
}
