import dns, { type LookupAddress } from 'node:dns';
import net from 'node:net';
import { isRefusedAddress, type Guard } from './address-guard.ts';
import { BLOCKED, failureOf, timeoutFailure, type Failure } from './failure.ts';
import { startDeadline } from './timeline.ts';

/**
 * The addresses of a host, at least one, in the order in which the system prefers them (RFC 6724). `dnsMs` is null for
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
 * refusal and a passed deadline are values; it rejects only when our own machine lacks something.
 */
export function resolveHost(
  host: string,
  { deadlineMs, ...guard }: Guard & { deadlineMs: number },
): Promise<FoundHost | ({ outcome: 'failed' } & Failure)> {
  const family = net.isIP(host);
  if (isRefusedAddress(host, guard)) return Promise.resolve({ outcome: 'failed', ...BLOCKED });
  if (family !== 0) return Promise.resolve({ outcome: 'found', addresses: [{ address: host, family }], dnsMs: null });

  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    // A lookup cannot be called off: one that outlasts the deadline is ignored.
    const callOff = startDeadline(deadlineMs, () => resolve({ outcome: 'failed', ...timeoutFailure('lookup') }));
    dns.lookup(host, { all: true }, (error, addresses) => {
      callOff();
      const failure = error && failureOf(error, 'lookup');
      const allowed = error ? [] : addresses.filter(({ address }) => !isRefusedAddress(address, guard));
      if (failure) resolve({ outcome: 'failed', ...failure });
      else if (error) reject(error);
      else if (allowed.length === 0) resolve({ outcome: 'failed', ...BLOCKED });
      else resolve({ outcome: 'found', addresses: allowed, dnsMs: performance.now() - startedAt });
    });
  });
}

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
