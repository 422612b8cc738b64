import { setTimeout as sleep } from 'node:timers/promises';
import { forgetOldest } from '../core/bounded-map.ts';
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
import { HOUR_MS, within } from '../core/time.ts';
import { currentAccount } from '../net/body-budget.ts';
import type { HostPort } from '../net/host-address.ts';
import { createHttpClient } from '../net/http-client.ts';
import { findRegistrableDomain } from '../net/registrable-domain.ts';
import { createTcpClient } from '../net/tcp-exchange.ts';
import { readSnapshot, askRdap, type RdapOutcome, type RdapTools } from './domain/rdap.ts';
import { createRegistryQueue, type DomainStore, type RegistryTurn } from './domain/registry-queue.ts';
import { createWhois, type AskWhois } from './domain/whois.ts';

/**
 * Creates the domain probe, which returns the facts about the target's registrable domain, looked up if due (D-27). It
 * rejects only if the store is away or this machine lacks resources.
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
 * Queries the registry of a domain in ASCII form. Failures of registries are values; it rejects only if this machine
 * lacks resources.
 */
type LookUpDomain = (question: RegistryTurn & { name: string }) => Promise<DomainLookup>;

/** Share of the time that RDAP may take, so that time is left for WHOIS if RDAP hangs. */
const RDAP_SHARE = 0.5;

/** Creates the lookup of D-27: RDAP if the registry has it, WHOIS if RDAP has no answer or its answer no expiry. */
function createDomainLookup(tools: LookupTools): LookUpDomain {
  const snapshot = readSnapshot();
  return async (question) => {
    const { name, deadlineAtMs } = question;
    const tld = name.slice(name.lastIndexOf('.') + 1);
    const refreshed = await tools.store.findRdapService(tld);
    const base = refreshed === undefined ? (Object.hasOwn(snapshot, tld) ? snapshot[tld] : null) : refreshed;
    if (base === undefined || base === null) return await tools.askWhois(question);

    const nowMs = tools.now();
    const rdap = await askRdap(
      { ...question, base, deadlineAtMs: nowMs + Math.round((deadlineAtMs - nowMs) * RDAP_SHARE) },
      tools,
    );
    if (isEnough(rdap)) return rdap;
    return combine(rdap, await tools.askWhois(question));
  };
}

/** Reports whether WHOIS is unnecessary; a registry that requests a pause is not queried by WHOIS either. */
function isEnough(rdap: RdapOutcome): boolean {
  if (rdap.outcome === 'failed') return rdap.refused === true;
  return rdap.outcome === 'not_found' || rdap.expiresAt !== null;
}

/**
 * Combines the answers: WHOIS replaces a failed RDAP and adds a missing expiry; RDAP's data stays wherever WHOIS has
 * less.
 */
function combine(rdap: DomainLookup, whois: DomainLookup): DomainLookup {
  if (rdap.outcome !== 'registered') return whois.outcome === 'failed' ? rdap : whois;
  if (whois.outcome === 'registered') return { ...whois, registrar: rdap.registrar ?? whois.registrar };
  if (whois.outcome === 'not_found') return rdap;
  const { outcome: _failed, ...expiryFailure } = whois;
  return { ...rdap, expiryFailure };
}

/**
 * Settings of domain lookups; `whoisServer` refers to the registries' servers and is itself not guarded, because the
 * operator chose it (D-30). `lookupMs` is the maximum duration of a lookup, in milliseconds; only tests set it, on
 * machines that are temporarily slow.
 */
type DomainEnvironment = {
  allowPrivateNetwork: boolean;
  whoisServer: HostPort;
  domains: DomainStore;
  now: () => number;
  lookupMs?: number;
};

/** Facts about a domain, and the duration of the lookup just made, in milliseconds; null if none was. */
type KnownDomain = { facts: DomainFacts; lookupMs: number | null };

/**
 * Returns the facts about a domain in ASCII form, looked up first if due (D-27). A lookup that outlasts the caller's
 * patience (in milliseconds) continues, and the next caller gets its outcome. Rejects only if the store is away or this
 * machine lacks resources.
 */
export type KnowDomain = (name: string, patienceMs: number) => Promise<KnownDomain>;

/** Facts about domains, shared by all monitors; `close` waits for running lookups. */
type KnownDomains = { know: KnowDomain; close: () => Promise<void> };

/** Maximum duration of a lookup, whatever the checks' timeouts, in milliseconds: less than shutdown waits. */
export const LOOKUP_MS = 8000;

/** Time after its deadline until an interrupted lookup of a stopped process can be claimed again, in milliseconds. */
const CLAIM_MARGIN_MS = 5000;

/** Interval of polls for the outcome of another process's lookup, in milliseconds. */
const POLL_MS = 200;

/** Opens the shared facts about domains. */
export function openKnownDomains({
  allowPrivateNetwork,
  whoisServer,
  domains: store,
  now,
  lookupMs = LOOKUP_MS,
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
  return shareLookups({ store, lookUp, now, lookupMs });
}

type Tools = { store: DomainStore; lookUp: LookUpDomain; now: () => number; lookupMs: number };

/** The account in registry queues of a lookup that serves no single account. */
const NO_ACCOUNT = '';

function shareLookups({ store, lookUp, now, lookupMs }: Tools): KnownDomains {
  /** The accounts that wait for a running lookup; each that joins brings its own turn. */
  const waiting = new Map<string, Set<string>>();
  const putOffs = new PutOffs(now);
  const lookups = new SharedCalls(
    async (name: string): Promise<KnownDomain> => {
      const startMs = now();
      const accounts = new Set([currentAccount() ?? NO_ACCOUNT]);
      waiting.set(name, accounts);
      try {
        const outcome = await lookUp({ name, accounts, deadlineAtMs: startMs + lookupMs });
        for (const account of accounts) putOffs.learn({ account, name }, hadNoTurn(outcome));
        const facts = learnDomain((await store.read(name)) ?? unknownDomain(name), outcome, now());
        await store.write(facts);
        return { facts, lookupMs: now() - startMs };
      } finally {
        waiting.delete(name);
      }
    },
    (name) => name,
  );

  return {
    async know(name, patienceMs) {
      const startMs = now();
      const account = currentAccount() ?? NO_ACCOUNT;
      const known = (await store.read(name)) ?? unknownDomain(name);
      const asKnown: KnownDomain = { facts: known, lookupMs: null };
      if (known.nextLookupAtMs > startMs || putOffs.has({ account, name })) return asKnown;
      const others = waiting.get(name);
      if (others !== undefined) {
        others.add(account);
        return isCurrent(known, startMs) ? asKnown : ((await within(patienceMs, lookups.run(name), null)) ?? asKnown);
      }
      const isOurs = await store.claim(name, { nowMs: startMs, untilMs: startMs + lookupMs + CLAIM_MARGIN_MS });
      // If this lookup fails, the next one follows when the claim expires.
      if (isOurs) return (await within(patienceMs, lookups.run(name), null)) ?? asKnown;
      waiting.get(name)?.add(account);
      return {
        facts: isCurrent(known, startMs) ? known : await awaitOther(known, { store, patienceMs }),
        lookupMs: null,
      };
    },
    close: () => lookups.settled(),
  };
}

function hadNoTurn(lookup: DomainLookup): boolean {
  if (lookup.outcome === 'failed') return lookup.hadNoTurn === true;
  return lookup.outcome === 'registered' && lookup.expiryFailure?.hadNoTurn === true;
}

/** First wait before an account's next lookup of a name, after one that had no turn, in milliseconds; it then grows. */
const FIRST_PUT_OFF_MS = 5000;
const LONGEST_PUT_OFF_MS = HOUR_MS;

/** Ratio of each wait to the previous one. */
const PUT_OFF_GROWTH = 4;

/** Maximum waits remembered; beyond that the oldest are forgotten. */
const MAX_PUT_OFFS = 20_000;

/** Names whose lookup had no turn in time, per account; other accounts' lookups of them are not postponed. */
class PutOffs {
  readonly #now: () => number;
  readonly #putOff = new Map<string, { waitMs: number; untilMs: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether a lookup still waits: not if the clock was set back to before its wait began. */
  has(lookup: { account: string; name: string }): boolean {
    const { waitMs, untilMs } = this.#putOff.get(keyOf(lookup)) ?? { waitMs: 0, untilMs: 0 };
    const leftMs = untilMs - this.#now();
    return leftMs > 0 && leftMs <= waitMs;
  }

  learn(lookup: { account: string; name: string }, isPutOff: boolean): void {
    const key = keyOf(lookup);
    const before = this.#putOff.get(key);
    this.#putOff.delete(key);
    if (!isPutOff) return;
    const waitMs = Math.min((before?.waitMs ?? FIRST_PUT_OFF_MS / PUT_OFF_GROWTH) * PUT_OFF_GROWTH, LONGEST_PUT_OFF_MS);
    this.#putOff.set(key, { waitMs, untilMs: this.#now() + waitMs });
    forgetOldest(this.#putOff, MAX_PUT_OFFS);
  }
}

function keyOf({ account, name }: { account: string; name: string }): string {
  return `${account} ${name}`;
}

/** Waits for another process's lookup of facts that are not known yet. */
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
