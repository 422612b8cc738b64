import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import type { DnsAnswer, DnsAnswers, DnsObservation, DnsOpinion } from '../../core/checks/dns/observation.ts';
import { within } from '../../core/time.ts';
import { isPublicAddress } from '../../net/address-guard.ts';
import { startDeadline } from '../../net/timeline.ts';
import { ask, inquire, type DnsQuestion, type ResolverPool } from './inquiry.ts';

/** Independent resolvers whose answers are compared with those of this machine's (D-26). */
export type Panel = {
  /** Returns each one's answers within the deadline, in milliseconds; a query without an answer has timed out. */
  ask: (question: DnsQuestion & { deadlineMs: number }) => Promise<DnsOpinion[]>;
  /** Cancels running queries. */
  close: () => void;
};

const TIMED_OUT: DnsAnswer = { outcome: 'failed', failure: 'timeout' };

// 1, 2 and 4 seconds: a query that outlasts its check ends by itself soon after.
const TRIES = { timeout: 1000, tries: 3 };

/**
 * Creates a panel of resolvers (`address` or `address:port`). All checks share one socket to each, so the number of
 * descriptors does not grow with running checks.
 */
export function createPanel(addresses: readonly string[]): Panel {
  const members = addresses.map((address) => {
    const resolver = new Resolver(TRIES);
    resolver.setServers([address]);
    return { address, resolver };
  });
  return {
    async ask({ name, types, deadlineMs }) {
      let callOff = (): void => {};
      const deadline = new Promise<DnsAnswer>((resolve) => {
        callOff = startDeadline(deadlineMs, () => resolve(TIMED_OUT));
      });
      const opinions = members.map(async ({ address, resolver }) => {
        const answers = types.map(
          async (type) => [type, await Promise.race([ask(resolver, { name, type }), deadline])] as const,
        );
        return { resolver: address, answers: Object.fromEntries(await Promise.all(answers)) };
      });
      try {
        return await Promise.all(opinions);
      } finally {
        callOff();
      }
    },
    close() {
      for (const { resolver } of members) resolver.cancel();
    },
  };
}

/** Distinguishes a failing name from failing resolvers of this machine (D-42). */
export type OwnResolversWatch = {
  /**
   * Reports whether the resolvers answer a query that every resolver can, for the root servers; false if that is
   * unknown by the deadline.
   */
  work: () => Promise<boolean>;
  end: () => void;
};

const ASK_WITHIN_MS = 2000;

/** How long one answer serves all checks, in milliseconds, because many may fail at once. */
const KEEP_MS = 3000;

/**
 * Returns the resolvers that the system is configured with, as `address` or `address:port`. They are read each time,
 * because they may have changed since the start.
 */
export function readSystemServers(): string[] {
  return new Resolver().getServers();
}

/** How long the search domains are reused, in milliseconds. */
const DOMAINS_FRESH_MS = 10_000;

/**
 * Creates the function that returns the domains with which the system completes names; none if its configuration has no
 * such file. If the file is temporarily unreadable, it returns the previous ones. It reads synchronously, as is done
 * for each resolver: hanging lookups can fill the thread pool, and checks would wait for it.
 */
export function createSearchDomains(path = '/etc/resolv.conf', freshMs = DOMAINS_FRESH_MS): () => readonly string[] {
  let kept: readonly string[] = [];
  let readAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    const text = performance.now() - readAtMs > freshMs ? readConfiguration(path) : null;
    if (text === null) return kept;
    readAtMs = performance.now();
    kept = [...text.matchAll(/^[ \t]*(?:search|domain)[ \t]+(.*)$/gm)].flatMap(([, domains = '']) =>
      domains.split(/\s+/).filter((domain) => domain !== '' && domain !== '.'),
    );
    return kept;
  };
}

/** Reads the configuration; null if it is temporarily unreadable, for lack of descriptors for example. */
function readConfiguration(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? '' : null;
  }
}

/** Domains of private networks: RFC 6761, RFC 6762 (appendix G too), RFC 8375, and ICANN's `.internal`. */
const PRIVATE_DOMAINS = ['localhost', 'local', 'internal', 'intranet', 'private', 'corp', 'home', 'lan', 'home.arpa'];

/**
 * Reports whether the machine's resolvers may resolve a name that the public cannot. That is a name of one label, one
 * below a domain of private networks or of these `searchDomains`, and the reverse name of a non-public address. The
 * name is in ASCII form.
 */
export function isPrivateName(name: string, searchDomains: readonly string[]): boolean {
  const bare = withoutFinalDot(name).toLowerCase();
  if (!bare.includes('.')) return true;
  const domains = [...PRIVATE_DOMAINS, ...searchDomains.map((domain) => withoutFinalDot(domain).toLowerCase())];
  if (domains.some((domain) => bare === domain || bare.endsWith(`.${domain}`))) return true;
  const address = addressOf(bare);
  return address !== null && !isPublicAddress(address);
}

const ADDRESS_LABELS = {
  'in-addr.arpa': { label: /^\d{1,3}$/, most: 4, write: (labels: string[]) => labels.join('.') },
  'ip6.arpa': {
    label: /^[\da-f]$/,
    most: 32,
    write: (labels: string[]) => labels.join('').replaceAll(/.{4}(?=.)/g, '$&:'),
  },
};

/** Returns the address of a reverse name, or the first one of a reverse zone; null for any other name. */
function addressOf(name: string): string | null {
  for (const [zone, { label, most, write }] of Object.entries(ADDRESS_LABELS)) {
    if (!name.endsWith(`.${zone}`)) continue;
    const labels = name
      .slice(0, -zone.length - 1)
      .split('.')
      .toReversed();
    const end = labels.findIndex((one) => !label.test(one));
    const digits = labels.slice(0, end === -1 ? most : Math.min(end, most));
    return write([...digits, ...Array.from({ length: most - digits.length }, () => '0')]);
  }
  return null;
}

function withoutFinalDot(name: string): string {
  return name.replace(/\.$/, '');
}

/** Replaces addresses that are not public; no expected record can equal it. */
const HIDDEN_ADDRESS = 'a private address';

/**
 * Returns the observation with addresses that are not public hidden, except in answers of the target's own server. If
 * that server returns such addresses, opinions with hidden ones cannot be compared with it, and are left out.
 */
export function hideInObservation(observation: DnsObservation): DnsObservation {
  if (observation.outcome !== 'queried') return observation;
  const { server, answers } = observation;
  const isComparable = server === null || !hasPrivateAddresses(answers);
  const opinions = observation.opinions
    .filter((opinion) => isComparable || !hasPrivateAddresses(opinion.answers))
    .map((opinion) => ({ ...opinion, answers: hidePrivateAddresses(opinion.answers) }));
  return { ...observation, answers: server === null ? hidePrivateAddresses(answers) : answers, opinions };
}

function hasPrivateAddresses(answers: DnsAnswers): boolean {
  return Object.entries(answers).some(
    ([type, answer]) =>
      isAddressType(type) && answer.outcome === 'records' && !answer.records.every((one) => isPublicAddress(one)),
  );
}

function hidePrivateAddresses(answers: DnsAnswers): DnsAnswers {
  const hidden = Object.entries(answers).map(([type, answer]) => {
    if (!isAddressType(type) || answer.outcome !== 'records') return [type, answer] as const;
    const records = answer.records.map((record) => (isPublicAddress(record) ? record : HIDDEN_ADDRESS));
    return [type, { ...answer, records: [...new Set(records)].toSorted() }] as const;
  });
  return Object.fromEntries(hidden);
}

function isAddressType(type: string): boolean {
  return type === 'A' || type === 'AAAA';
}

/** This machine's resolvers, and the shared result of testing them. */
export class OwnResolvers {
  /** Their addresses in the system's current configuration. */
  readonly servers: () => readonly string[];
  readonly #resolvers: ResolverPool;
  #known: { atMs: number; works: Promise<boolean> } | null = null;

  constructor(servers: () => readonly string[], resolvers: ResolverPool) {
    this.servers = servers;
    this.#resolvers = resolvers;
  }

  /** Starts watching them for one check that has `deadlineMs` milliseconds. */
  watch(deadlineMs: number): OwnResolversWatch {
    const endsAtMs = performance.now() + deadlineMs;
    let works: Promise<boolean> | null = null;
    // At the deadline a query would come too late, so a long check sends it halfway.
    const halfway = setTimeout(() => {
      works = this.#work();
    }, deadlineMs / 2);
    return {
      work: () => within(endsAtMs - performance.now(), works ?? this.#work(), false),
      end: () => clearTimeout(halfway),
    };
  }

  #work(): Promise<boolean> {
    const nowMs = performance.now();
    if (this.#known === null || nowMs - this.#known.atMs > KEEP_MS)
      this.#known = { atMs: nowMs, works: this.#askForRoot().catch(() => false) };
    return this.#known.works;
  }

  async #askForRoot(): Promise<boolean> {
    const { NS } = await inquire({
      name: '.',
      types: ['NS'],
      servers: this.servers(),
      resolvers: this.#resolvers,
      deadlineMs: ASK_WITHIN_MS,
    });
    return NS !== undefined && NS.outcome !== 'failed';
  }
}
