import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import net, { type LookupFunction } from 'node:net';
import { isRefusedAddress, type Guard } from './address-guard.ts';
import { currentAccount } from './body-budget.ts';
import { BLOCKED, BLOCKED_CODE, LookupsBusy, failureOf, timeoutFailure, type Failure } from './failure.ts';
import { findOwnersDomain } from './registrable-domain.ts';
import { startDeadline } from './timeline.ts';

/**
 * The addresses of a host, one to eight, in the order in which the system prefers them (RFC 6724). `dnsMs` is null for
 * an address, which nothing looks up.
 */
export type FoundHost = { outcome: 'found'; addresses: readonly LookupAddress[]; dnsMs: number | null };

/**
 * How long each of a name's addresses has to connect before the next is tried, in milliseconds. Node's own quarter of a
 * second takes a far host for a dead one.
 */
export const ADDRESS_ATTEMPT_MS = 2000;

/**
 * Finds the addresses of a name or address (IPv6 without brackets), those that the guard allows. A name without any, a
 * refusal and a passed deadline, which an abort brings forward, are values; it rejects only when our own machine lacks
 * something.
 */
export function resolveHost(
  host: string,
  { deadlineMs, signal, ...guard }: Guard & { deadlineMs: number; signal?: AbortSignal },
): Promise<FoundHost | ({ outcome: 'failed' } & Failure)> {
  const family = net.isIP(host);
  if (isRefusedAddress(host, guard)) return Promise.resolve({ outcome: 'failed', ...BLOCKED });
  if (family !== 0) return Promise.resolve({ outcome: 'found', addresses: [{ address: host, family }], dnsMs: null });

  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    // A lookup cannot be called off: one that outlasts the deadline is ignored.
    const pass = (): void => resolve({ outcome: 'failed', ...timeoutFailure('lookup') });
    const callOff = startDeadline(deadlineMs, pass, signal);
    lookups.lookUp(host, {}, (error, addresses) => {
      callOff();
      const failure = error && failureOf(error, 'lookup');
      const allowed = chooseAddresses(addresses, guard);
      if (failure) resolve({ outcome: 'failed', ...failure });
      else if (error) reject(error);
      else if (allowed.length === 0) resolve({ outcome: 'failed', ...BLOCKED });
      else resolve({ outcome: 'found', addresses: allowed, dnsMs: performance.now() - startedAt });
    });
  });
}

/**
 * Makes a `lookup` for sockets that hands on only addresses that may be contacted (D-30). The socket connects to what
 * it is given here, so a name that changes its addresses between a check and the connection gains nothing.
 */
export function createGuardedLookup(guard: Guard): LookupFunction {
  return (hostname, options, callback) => {
    lookups.lookUp(hostname, options, (error, addresses) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const allowed = chooseAddresses(addresses, guard);
      const [first] = allowed;
      if (first === undefined) callback(blockedError(hostname, addresses), []);
      else if (options.all) callback(null, [...allowed]);
      else callback(null, first.address, first.family);
    });
  };
}

/** So many of a name's addresses are judged by the guard, and so many are handed on. */
const MAX_JUDGED = 64;
const MAX_HANDED_ON = 8;

/**
 * Those of a name's addresses that may be contacted, in their order. Few of many, and of both families where it has
 * both: a stranger's name may have thousands of addresses, each of which would get packets of ours.
 */
function chooseAddresses(addresses: readonly LookupAddress[], guard: Guard): readonly LookupAddress[] {
  const judged = new Set<string>();
  const allowed = firstOf(addresses, MAX_JUDGED).filter(({ address }) => {
    if (judged.has(address)) return false;
    judged.add(address);
    return !isRefusedAddress(address, guard);
  });
  return firstOf(allowed, MAX_HANDED_ON);
}

/** The first addresses, the last of them of the other family where all were of one. */
function firstOf(addresses: readonly LookupAddress[], most: number): readonly LookupAddress[] {
  if (addresses.length <= most) return addresses;
  const first = addresses.slice(0, most);
  const other = addresses.find(({ family }) => family !== first[0]?.family);
  return other === undefined || first.includes(other) ? first : [...first.slice(0, -1), other];
}

function blockedError(hostname: string, addresses: readonly LookupAddress[]): NodeJS.ErrnoException {
  const message = `none of the ${addresses.length} addresses of ${hostname} may be contacted`;
  return Object.assign(new Error(message), { code: BLOCKED_CODE });
}

/** A lookup that takes longer than this marks its domain as slow, in milliseconds. */
const SLOW_MS = 1000;

/** A domain is taken for slow for so long after its last slow lookup, in milliseconds. */
const STAYS_SLOW_MS = 300_000;

/** The most domains that are remembered as slow; with more the oldest are forgotten. */
const MAX_SLOW_DOMAINS = 10_000;

/** The longest wait for others to end, in milliseconds: less than the shortest timeout of a check. */
const MAX_WAIT_MS = 500;

type Found = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;
type Lookup = {
  name: string;
  options: LookupOptions;
  /** Whose check asked first; undefined for what is no single account's. */
  account: string | undefined;
  /** Found once it matters. */
  domain?: string;
  isSlow: boolean;
  found: Found[];
  waiting?: NodeJS.Timeout;
};

/**
 * Looks names up as the system does, `most` at a time. A lookup cannot be called off, and one of a name whose servers
 * do not answer takes ten seconds. A domain has a quarter of them at most, and so has an account; domains that are
 * known to be slow have a quarter together, of which one has half. Equal lookups share one. What cannot begin within
 * half a second ends with `LookupsBusy`.
 */
export class NameLookups {
  readonly #most: number;
  /** By name and options; under way, or waiting for its turn. */
  readonly #open = new Map<string, Lookup>();
  readonly #waiting = new Set<string>();
  readonly #underWay = new Set<Lookup>();
  /** How many of those under way count for each share; null until there were enough to use one up. */
  #used: Map<string, number> | null = null;
  readonly #slowUntilMs = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  lookUp(name: string, { family = 0, hints = 0, order }: LookupOptions, found: Found): void {
    const key = [name, family, hints, order].join(' ');
    const open = this.#open.get(key);
    if (open !== undefined) {
      open.found.push(found);
      this.#startForAnother(key, open);
      return;
    }
    const options = { family, hints, ...(order && { order }) };
    const lookup: Lookup = { name, options, account: currentAccount(), isSlow: false, found: [found] };
    lookup.isSlow = this.#isSlow(lookup);
    this.#open.set(key, lookup);
    if (this.#mayStart(lookup)) this.#start(key, lookup);
    else this.#wait(key, lookup);
  }

  /** A lookup that waits for its account's share may be within that of another who asks for the same. */
  #startForAnother(key: string, lookup: Lookup): void {
    const account = currentAccount();
    if (!this.#waiting.has(key) || account === lookup.account || !this.#mayStart({ ...lookup, account })) return;
    lookup.account = account;
    this.#startWaitingOne(key, lookup);
  }

  #startWaitingOne(key: string, lookup: Lookup): void {
    clearTimeout(lookup.waiting);
    this.#waiting.delete(key);
    this.#start(key, lookup);
  }

  #mayStart(lookup: Lookup): boolean {
    if (this.#underWay.size >= this.#most) return false;
    const used = this.#used;
    return used === null || this.#sharesOf(lookup).every(({ name, most }) => (used.get(name) ?? 0) < most);
  }

  /** Adds a lookup that is under way, or with -1 one that no longer is, to what its shares have used. */
  #count(lookup: Lookup, by: 1 | -1): void {
    for (const { name } of this.#used === null ? [] : this.#sharesOf(lookup)) {
      const count = (this.#used?.get(name) ?? 0) + by;
      if (count === 0) this.#used?.delete(name);
      else this.#used?.set(name, count);
    }
  }

  #beginToCount(): void {
    this.#used = new Map();
    for (const lookup of this.#underWay) this.#count(lookup, 1);
  }

  /** The shares that a lookup counts for, and how many lookups each may have under way. */
  #sharesOf(lookup: Lookup): { name: string; most: number }[] {
    const { account, isSlow } = lookup;
    const quarter = this.#most / 4;
    const owners = [`domain ${domainOf(lookup)}`, ...(account === undefined ? [] : [`account ${account}`])];
    return [
      ...owners.map((name) => ({ name, most: quarter })),
      ...(isSlow ? owners.map((name) => ({ name: `slow ${name}`, most: quarter / 2 })) : []),
      ...(isSlow ? [{ name: 'slow', most: quarter }] : []),
    ];
  }

  #wait(key: string, lookup: Lookup): void {
    this.#waiting.add(key);
    lookup.waiting = setTimeout(() => {
      this.#waiting.delete(key);
      this.#end(key, lookup, new LookupsBusy(), []);
    }, MAX_WAIT_MS);
  }

  #start(key: string, lookup: Lookup): void {
    this.#underWay.add(lookup);
    if (this.#used !== null) this.#count(lookup, 1);
    else if (this.#underWay.size >= this.#most / 8) this.#beginToCount();
    // After a stall of ours its timers come before the answers that have arrived meanwhile.
    const callOff = startDeadline(SLOW_MS, () => {
      this.#markSlow(lookup);
      this.#count(lookup, -1);
      lookup.isSlow = true;
      this.#count(lookup, 1);
    });
    const startedAtMs = performance.now();
    dns.lookup(lookup.name, { ...lookup.options, all: true }, (error, addresses) => {
      callOff();
      this.#underWay.delete(lookup);
      this.#count(lookup, -1);
      if (lookup.isSlow && performance.now() - startedAtMs < SLOW_MS) this.#forgiveSlow(lookup);
      this.#end(key, lookup, error, error === null ? addresses : []);
      this.#startWaiting();
    });
  }

  #startWaiting(): void {
    if (this.#waiting.size === 0) return;
    for (const key of this.#waiting) {
      const lookup = this.#open.get(key);
      if (lookup === undefined || !this.#mayStart(lookup)) continue;
      this.#startWaitingOne(key, lookup);
    }
  }

  #end(key: string, { found }: Lookup, ...result: Parameters<Found>): void {
    this.#open.delete(key);
    for (const each of found) each(...result);
  }

  #isSlow(lookup: Lookup): boolean {
    // The list of domains takes long to load, and is needed only once a lookup was slow, or many are under way.
    return this.#slowUntilMs.size > 0 && (this.#slowUntilMs.get(domainOf(lookup)) ?? 0) > performance.now();
  }

  #markSlow(lookup: Lookup): void {
    const domain = domainOf(lookup);
    this.#slowUntilMs.delete(domain);
    this.#slowUntilMs.set(domain, performance.now() + STAYS_SLOW_MS);
    const [oldest] = this.#slowUntilMs.keys();
    if (this.#slowUntilMs.size > MAX_SLOW_DOMAINS && oldest !== undefined) this.#slowUntilMs.delete(oldest);
  }

  /** One fast lookup says that a domain is well again, unless others of it hang meanwhile. */
  #forgiveSlow(lookup: Lookup): void {
    const domain = domainOf(lookup);
    if (![...this.#underWay].some((other) => domainOf(other) === domain)) this.#slowUntilMs.delete(domain);
  }
}

function domainOf(lookup: Lookup): string {
  lookup.domain ??= findOwnersDomain(lookup.name) ?? lookup.name;
  return lookup.domain;
}

/**
 * libuv lets lookups have half of its threads (`config/thread-pool.ts`). Eight are left to those of PostgreSQL, Redis
 * and mail servers, which do not come this way.
 */
const MAX_LOOKUPS = 120;

const lookups = new NameLookups(MAX_LOOKUPS);

/** A host and a port to connect to. The host is a name in its ASCII form or an address without brackets. */
export type HostPort = { host: string; port: number };

const AUTHORITY = /^(?<host>\[[^\]]+\]|[^:/?#@\\[\]]+):(?<port>\d{1,5})$/;
const MAX_PORT = 65_535;

/**
 * Reads `host:port`, an IPv6 address in brackets; null for anything else. As in a URL, names in any script get their
 * ASCII form and every numeric form of an address its usual one.
 */
export function parseHostPort(text: string): HostPort | null {
  const { host = '', port = '' } = AUTHORITY.exec(text)?.groups ?? {};
  const hostname = URL.parse(`http://${host}/`)?.hostname ?? '';
  if (hostname === '' || Number(port) < 1 || Number(port) > MAX_PORT) return null;
  return { host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname, port: Number(port) };
}
