import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import net, { type LookupFunction } from 'node:net';
import { isRefusedAddress, type Guard } from './address-guard.ts';
import { currentAccount } from './body-budget.ts';
import { BLOCKED, BLOCKED_CODE, LookupsBusy, failureOf, timeoutFailure, type Failure } from './failure.ts';
import { findOwnersDomain } from './registrable-domain.ts';
import { startDeadline } from './timeline.ts';

/**
 * Addresses of a host, one to eight, in the order in which the system prefers them (RFC 6724). `dnsMs` is null for an
 * address, which needs no lookup.
 */
type FoundHost = { outcome: 'found'; addresses: readonly LookupAddress[]; dnsMs: number | null };

/**
 * How long each of a name's addresses has to connect before the next is tried, in milliseconds. Node's own 250 ms takes
 * a distant host for a dead one.
 */
export const ADDRESS_ATTEMPT_MS = 2000;

/**
 * Finds the addresses of a name or address (IPv6 without brackets) that the guard allows. A name without any, a refusal
 * and a passed deadline, which an abort brings forward, are values; rejects only if this machine lacks resources.
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
    // A lookup cannot be canceled: one that outlasts the deadline is ignored.
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
 * Creates a `lookup` for sockets that returns only addresses that may be contacted (D-30). The socket connects to
 * exactly these, so a name gains nothing by changing its addresses between a check and the connection.
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

/** Maximum addresses of a name that the guard checks, and that are returned. */
const MAX_JUDGED = 64;
const MAX_HANDED_ON = 8;

/**
 * Returns a name's addresses that may be contacted, in their order. Only a few, and of both families if it has both: a
 * stranger's name may have thousands, and each would get packets from this machine.
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

/** Returns the first addresses; the last is one of the other family if all would be of one. */
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

/** Duration after which a lookup marks its domain as slow, in milliseconds. */
const SLOW_MS = 1000;

/** How long a domain counts as slow after its last slow lookup, in milliseconds. */
const STAYS_SLOW_MS = 300_000;

/** Maximum domains remembered as slow; beyond that the oldest are forgotten. */
const MAX_SLOW_DOMAINS = 10_000;

/** Maximum wait for other lookups to end, in milliseconds: less than the shortest timeout of a check. */
const MAX_WAIT_MS = 500;

type Found = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;
type Lookup = {
  name: string;
  options: LookupOptions;
  /** Account of the first request; undefined if it serves no single account. */
  account: string | undefined;
  /** Determined on demand. */
  domain?: string;
  isSlow: boolean;
  found: Found[];
  waiting?: NodeJS.Timeout;
};

/**
 * Looks up names with the system's resolver, `most` at a time. A lookup cannot be canceled, and one whose name servers
 * do not respond takes ten seconds. A domain therefore has at most a quarter of them, and so has an account; slow
 * domains have a quarter together, of which each domain or account has at most half. Equal lookups share one. A lookup
 * that cannot start within half a second ends with `LookupsBusy`.
 */
export class NameLookups {
  readonly #most: number;
  /** By name and options; running or waiting. */
  readonly #open = new Map<string, Lookup>();
  readonly #waiting = new Set<string>();
  readonly #underWay = new Set<Lookup>();
  /** Running lookups per share; null until there were enough to use one up. */
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

  /** Starts a waiting lookup if it fits in the share of another account that requests the same. */
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

  /** Adds a running lookup to the use of its shares; -1 subtracts one that ended. */
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

  /** Returns the shares that a lookup counts for, and how many lookups each may run at a time. */
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
    // The deadline lets arrived answers go first: after a stall of the event loop, timers run before them.
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
    // The list of domains takes long to load, and is needed only once a lookup was slow, or many are running.
    return this.#slowUntilMs.size > 0 && (this.#slowUntilMs.get(domainOf(lookup)) ?? 0) > performance.now();
  }

  #markSlow(lookup: Lookup): void {
    const domain = domainOf(lookup);
    this.#slowUntilMs.delete(domain);
    this.#slowUntilMs.set(domain, performance.now() + STAYS_SLOW_MS);
    const [oldest] = this.#slowUntilMs.keys();
    if (this.#slowUntilMs.size > MAX_SLOW_DOMAINS && oldest !== undefined) this.#slowUntilMs.delete(oldest);
  }

  /** Clears a domain after one fast lookup, unless others of it are still running. */
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
 * libuv lets lookups use half of its threads (`config/thread-pool.ts`). Eight are left for PostgreSQL, Redis and mail
 * servers, whose lookups do not pass through here.
 */
const MAX_LOOKUPS = 120;

const lookups = new NameLookups(MAX_LOOKUPS);

/** A host and a port to connect to. The host is a name in ASCII form or an address without brackets. */
export type HostPort = { host: string; port: number };

const AUTHORITY = /^(?<host>\[[^\]]+\]|[^:/?#@\\[\]]+):(?<port>\d{1,5})$/;
const MAX_PORT = 65_535;

/**
 * Parses `host:port`, with an IPv6 address in brackets; null for anything else. As in a URL, names in any script are
 * converted to ASCII and every numeric form of an address to its usual one.
 */
export function parseHostPort(text: string): HostPort | null {
  const { host = '', port = '' } = AUTHORITY.exec(text)?.groups ?? {};
  const hostname = URL.parse(`http://${host}/`)?.hostname ?? '';
  if (hostname === '' || Number(port) < 1 || Number(port) > MAX_PORT) return null;
  return { host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname, port: Number(port) };
}
