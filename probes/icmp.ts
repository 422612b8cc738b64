import net from 'node:net';
import type { IcmpObservation } from '../core/checks/icmp/observation.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { resolveHost } from '../net/host-address.ts';
import type { ProbeEnvironment } from './http.ts';
import type { EchoMeans, EchoMeansKind, EchoOutcome, Family } from './icmp/echo-packet.ts';
import { EchoSocket, measureOverSocket } from './icmp/echo-socket.ts';
import { openKernelSocket } from './icmp/kernel-socket.ts';
import { openPingProgram } from './icmp/ping-program.ts';

/**
 * Permissions of an icmp probe where it runs, and the callback for how it sends. `ttl` is the maximum hops of its
 * requests, the system's default if absent; the ping program is not used with it.
 */
export type IcmpEnvironment = ProbeEnvironment & { onEchoNotice?: (notice: EchoNotice) => void; ttl?: number };

/** Echo requests of a check unless its monitor sets a number (D-25). */
const DEFAULT_COUNT = 4;

const MAPPED = /^::ffff:(?<address>\d+\.\d+\.\d+\.\d+)$/;

const UNAVAILABLE = {
  4: 'Echo requests over IPv4 cannot be sent from the probing machine',
  6: 'Echo requests over IPv6 cannot be sent from the probing machine',
};

/**
 * Opens the icmp probe: one socket for each family of addresses serves all checks (D-25). The probe measures and does
 * not judge; it rejects only if this machine lacks resources.
 */
export function openIcmpProbe({ allowPrivateNetwork, onEchoNotice = () => {}, ttl }: IcmpEnvironment): {
  probe: (target: CheckTarget, signal?: AbortSignal) => Promise<IcmpObservation>;
  close: () => Promise<void>;
} {
  const opening = openBoth({ onNotice: onEchoNotice, ttl });

  return {
    async probe({ target, timeoutMs, checkSpec }, signal) {
      // Opening is awaited before the clock starts, because its time is not the target's.
      const means = await opening;
      const started = { type: 'icmp', startedAt: Date.now() } as const;
      const startedAtMs = performance.now();
      const host = await resolveHost(hostOf(target), { allowPrivateNetwork, deadlineMs: timeoutMs });
      if (host.outcome === 'failed') return { ...started, ...host, latencyMs: null };

      const { address, family } = choose(host.addresses, means);
      const chosen = means[family];
      if (chosen === null) return { ...started, outcome: 'unavailable', latencyMs: null, reason: UNAVAILABLE[family] };

      const deadlineMs = Math.max(1, timeoutMs - (performance.now() - startedAtMs));
      const count = checkSpec.ping?.count ?? DEFAULT_COUNT;
      const outcome = await chosen.measure({ address, count, deadlineMs, ...(signal && { signal }) });
      return { ...started, ...factsOf(outcome) };
    },
    async close() {
      const means = await opening;
      await Promise.all([means[4]?.close(), means[6]?.close()]);
    },
  };
}

type Means = Readonly<Record<Family, EchoMeans | null>>;

type Opening = { onNotice: (notice: EchoNotice) => void; ttl: number | undefined };

async function openBoth(opening: Opening): Promise<Means> {
  const [ipv4, ipv6] = await Promise.all([openEchoMeans(4, opening), openEchoMeans(6, opening)]);
  return { 4: ipv4, 6: ipv6 };
}

/**
 * Normalizes a host as in a URL: names in any script to ASCII, addresses to their usual form, IPv6 with brackets or
 * without.
 */
function hostOf(target: string): string {
  const host = target.includes(':') && !target.startsWith('[') ? `[${target}]` : target;
  const hostname = URL.parse(`http://${host}/`)?.hostname ?? target;
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** Returns the first address of a family that can be pinged; if there is none, the first. */
function choose(addresses: readonly { address: string }[], means: Means): { address: string; family: Family } {
  const choices = addresses.map(({ address: found }) => {
    const address = usualForm(found);
    return { address, family: net.isIPv4(address) ? 4 : 6 } as const;
  });
  const chosen = choices.find(({ family }) => means[family] !== null) ?? choices[0];
  if (chosen === undefined) throw new Error('a host was found without an address');
  return chosen;
}

/**
 * Returns the form in which the source of a reply is written, for comparison with the target's address; an IPv4-mapped
 * IPv6 address becomes IPv4.
 */
function usualForm(address: string): string {
  if (net.isIPv4(address)) return address;
  const usual = new net.SocketAddress({ address, family: 'ipv6' }).address;
  return MAPPED.exec(usual)?.groups?.address ?? usual;
}

/** Returns the round's part of the observation. */
function factsOf(outcome: EchoOutcome) {
  if (outcome.outcome !== 'measured') return { ...outcome, latencyMs: null };
  const { sent, roundTripsMs } = outcome;
  const received = roundTripsMs.length;
  const sumMs = roundTripsMs.reduce((sum, ms) => sum + ms, 0);
  return { outcome: 'measured', latencyMs: received === 0 ? null : sumMs / received, sent, received } as const;
}

/**
 * How echo requests of a family will be sent, reported once; null if they cannot be, so that its checks are no vote.
 * `reason` explains to operators why it is not a socket; null if it is.
 */
export type EchoNotice = { family: Family; means: EchoMeansKind | null; reason: string | null };

/**
 * Chooses once how echo requests of a family are sent: over an ICMP socket, or else by the system's ping program; null
 * if neither works.
 */
async function openEchoMeans(family: Family, { onNotice, ttl }: Opening): Promise<EchoMeans | null> {
  const opened = await openKernelSocket(family, ttl);
  if (opened.kind !== null) {
    const socket = new EchoSocket(opened.socket, family);
    onNotice({ family, means: opened.kind, reason: null });
    return { kind: opened.kind, measure: (round) => measureOverSocket(socket, round), close: () => socket.close() };
  }
  const program = ttl === undefined ? await openPingProgram(family) : null;
  onNotice({ family, means: program?.kind ?? null, reason: opened.reason });
  return program;
}
