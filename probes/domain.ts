import { setTimeout as sleep } from 'node:timers/promises';
import {
  isCurrent,
  learnDomain,
  unknownDomain,
  type DomainFacts,
  type DomainLookup,
} from '../core/checks/domain/facts.ts';
import type { DomainObservation } from '../core/checks/domain/observation.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { SharedCalls } from '../core/shared-calls.ts';
import { within } from '../core/time.ts';
import { createHttpClient } from '../net/http-client.ts';
import { findRegistrableDomain } from '../net/registrable-domain.ts';
import { createTcpClient } from '../net/tcp-exchange.ts';
import { readSnapshot, askRdap, type RdapOutcome, type RdapTools } from './domain/rdap.ts';
import { createRegistryQueue, type DomainStore } from './domain/registry-queue.ts';
import type { WhoisServer } from './domain/whois-answer.ts';
import { createWhois, type AskWhois } from './domain/whois.ts';

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

type LookupTools = RdapTools & { store: Pick<DomainStore, 'findRdapService'>; askWhois: AskWhois };

/**
 * Asks the registry of a domain in its ASCII form. Whatever registries do is a value; it rejects only when our own
 * machine lacks something.
 */
type LookUpDomain = (name: string, deadlineAtMs: number) => Promise<DomainLookup>;

/** How much of the time RDAP may take, so that time is left for WHOIS where RDAP hangs. */
const RDAP_SHARE = 0.5;

/**
 * Makes the lookup of D-27: RDAP where the registry has it, WHOIS where RDAP has no answer or its answer no expiry.
 */
function createDomainLookup(tools: LookupTools): LookUpDomain {
  const snapshot = readSnapshot();
  return async (name, deadlineAtMs) => {
    const tld = name.slice(name.lastIndexOf('.') + 1);
    const refreshed = await tools.store.findRdapService(tld);
    const base = refreshed === undefined ? (Object.hasOwn(snapshot, tld) ? snapshot[tld] : null) : refreshed;
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
  if (whois.outcome === 'registered') return { ...whois, registrar: rdap.registrar ?? whois.registrar };
  if (whois.outcome === 'not_found') return rdap;
  const { reason, retryAtMs } = whois;
  return { ...rdap, expiryFailure: { reason, retryAtMs } };
}

/**
 * What lookups of domains need; `whoisServer` refers to the registries' servers and is itself not guarded, being the
 * operator's choice (D-30).
 */
type DomainEnvironment = {
  allowPrivateNetwork: boolean;
  whoisServer: WhoisServer;
  domains: DomainStore;
  now: () => number;
};

/** What is known of a domain, and how long its lookup took just now, in milliseconds; null = there was none. */
type KnownDomain = { facts: DomainFacts; lookupMs: number | null };

/**
 * What is known of a domain in its ASCII form, looked up first where that is due (D-27). A lookup that outlasts the
 * caller's patience (in milliseconds) goes on, and the next caller has its outcome. Rejects only where the store is
 * away or our own machine lacks something.
 */
export type KnowDomain = (name: string, patienceMs: number) => Promise<KnownDomain>;

/** The knowledge of domains that all monitors share; `close` waits for the lookups under way. */
type KnownDomains = { know: KnowDomain; close: () => Promise<void> };

/** How long a lookup may take, whatever the checks' time-outs, in milliseconds: less than a stopping process waits. */
export const LOOKUP_MS = 8000;

/**
 * A lookup that was cut short by the end of its process can be claimed again this long after its deadline, in
 * milliseconds.
 */
const CLAIM_MARGIN_MS = 5000;

/** How often the outcome of another process's lookup is polled, in milliseconds. */
const POLL_MS = 200;

/** Opens the knowledge of domains. */
export function openKnownDomains({
  allowPrivateNetwork,
  whoisServer,
  domains: store,
  now,
}: DomainEnvironment): KnownDomains {
  const runInRegistryQueue = createRegistryQueue({ store, now });
  const askWhois = createWhois({
    root: whoisServer,
    tcpToRoot: createTcpClient({ allowPrivateNetwork: true }),
    tcp: createTcpClient({ allowPrivateNetwork }),
    runInRegistryQueue,
    now,
  });
  const lookUp = createDomainLookup({
    http: createHttpClient({ allowPrivateNetwork, purpose: 'registries' }),
    store,
    runInRegistryQueue,
    askWhois,
    now,
  });
  return shareLookups({ store, lookUp, now });
}

type Tools = { store: DomainStore; lookUp: LookUpDomain; now: () => number };

function shareLookups({ store, lookUp, now }: Tools): KnownDomains {
  const lookups = new SharedCalls(
    async (name: string): Promise<KnownDomain> => {
      const startMs = now();
      const outcome = await lookUp(name, startMs + LOOKUP_MS);
      const facts = learnDomain((await store.read(name)) ?? unknownDomain(name), outcome, now());
      await store.write(facts);
      return { facts, lookupMs: now() - startMs };
    },
    (name) => name,
  );

  return {
    async know(name, patienceMs) {
      const startMs = now();
      const known = (await store.read(name)) ?? unknownDomain(name);
      if (known.nextLookupAtMs > startMs) return { facts: known, lookupMs: null };
      const isOurs = await store.claim(name, { nowMs: startMs, untilMs: startMs + LOOKUP_MS + CLAIM_MARGIN_MS });
      // A lookup that fails after that: the claim's end brings the next one.
      if (isOurs) return (await within(patienceMs, lookups.run(name), null)) ?? { facts: known, lookupMs: null };
      return {
        facts: isCurrent(known, startMs) ? known : await awaitOther(known, { store, patienceMs }),
        lookupMs: null,
      };
    },
    close: () => lookups.settled(),
  };
}

/** Another process looks up what is not known yet: its outcome is worth waiting for. */
async function awaitOther(
  known: DomainFacts,
  { store, patienceMs }: { store: DomainStore; patienceMs: number },
): Promise<DomainFacts> {
  const deadline = performance.now() + patienceMs;
  let facts = known;
  while (facts.nextLookupAtMs === known.nextLookupAtMs && performance.now() < deadline) {
    await sleep(POLL_MS);
    facts = (await store.read(known.name)) ?? facts;
  }
  return facts;
}
