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
import { createHttpClient } from '../net/http-client.ts';
import { findRegistrableDomain } from '../net/registrable-domain.ts';
import { createTcpClient } from '../net/tcp-exchange.ts';
import { readSnapshot, askRdap, type RdapOutcome, type RdapTools } from './domain/rdap.ts';
import { createRegistryQueue, type DomainStore, type RegistryTurn } from './domain/registry-queue.ts';
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
type LookUpDomain = (question: RegistryTurn & { name: string }) => Promise<DomainLookup>;

/** How much of the time RDAP may take, so that time is left for WHOIS where RDAP hangs. */
const RDAP_SHARE = 0.5;

/**
 * Makes the lookup of D-27: RDAP where the registry has it, WHOIS where RDAP has no answer or its answer no expiry.
 */
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
  const { outcome: _failed, ...expiryFailure } = whois;
  return { ...rdap, expiryFailure };
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

/** What a lookup that is no single account's counts for in turns. */
const NO_ACCOUNT = '';

function shareLookups({ store, lookUp, now }: Tools): KnownDomains {
  /** The accounts that wait for a lookup under way here; each that joins brings its own turn. */
  const waiting = new Map<string, Set<string>>();
  const putOffs = new PutOffs(now);
  const lookups = new SharedCalls(
    async (name: string): Promise<KnownDomain> => {
      const startMs = now();
      const accounts = new Set([currentAccount() ?? NO_ACCOUNT]);
      waiting.set(name, accounts);
      try {
        const outcome = await lookUp({ name, accounts, deadlineAtMs: startMs + LOOKUP_MS });
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
      const isOurs = await store.claim(name, { nowMs: startMs, untilMs: startMs + LOOKUP_MS + CLAIM_MARGIN_MS });
      // A lookup that fails after that: the claim's end brings the next one.
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

/** How long an account's next lookup of a name waits after one without a turn, in milliseconds; then ever longer. */
const FIRST_PUT_OFF_MS = 5000;
const LONGEST_PUT_OFF_MS = HOUR_MS;

/** Each wait is so many times the one before. */
const PUT_OFF_GROWTH = 4;

/** The most that are remembered; with more the oldest are forgotten. */
const MAX_PUT_OFFS = 20_000;

/** For each account the names whose lookup had no turn in time. Others who ask for these are not put off by that. */
class PutOffs {
  readonly #now: () => number;
  readonly #putOff = new Map<string, { waitMs: number; untilMs: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  has(lookup: { account: string; name: string }): boolean {
    return (this.#putOff.get(keyOf(lookup))?.untilMs ?? 0) > this.#now();
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
