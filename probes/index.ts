import type { CheckTarget, MonitorType } from '../core/monitor.ts';
import type { Observation } from '../core/observation.ts';
import { openDnsProbe } from './dns.ts';
import type { DnsEnvironment } from './dns.ts';
import { createDomainProbe } from './domain.ts';
import type { KnowDomain } from './domain/known-domains.ts';
import { createHttpProbe } from './http.ts';
import { openIcmpProbe } from './icmp.ts';
import type { IcmpEnvironment } from './icmp.ts';
import { createTcpProbe } from './tcp.ts';
import { createUdpProbe } from './udp.ts';
import { createVendorProbe } from './vendor.ts';
import type { VendorPageReader } from './vendors/page-reader.ts';

export type { ProbeEnvironment } from './http.ts';

/** Measures a target once. Whatever the target does is in the observation; it rejects only where our own machine lacks something, which is no vote (D-20). */
export type Probe = (target: CheckTarget) => Promise<Observation>;

/** A probe with what it holds open, which `close` lets go of. */
export type OpenProbe = { probe: Probe; close: () => Promise<void> };

/** Opens the probe of what agents check, a customer's own as well as a shared one. */
export function openAgentProbe(environment: IcmpEnvironment): OpenProbe {
  const icmp = openIcmpProbe(environment);
  return {
    probe: dispatch({ http: createHttpProbe(environment), tcp: createTcpProbe(environment), udp: createUdpProbe(environment), icmp: icmp.probe }),
    close: icmp.close,
  };
}

/** Opens the probe of what the service itself checks. */
export function openServiceProbe(environment: DnsEnvironment & { readVendorPage: VendorPageReader; knowDomain: KnowDomain }): OpenProbe {
  const dns = openDnsProbe(environment);
  return { probe: dispatch({ dns: dns.probe, domain: createDomainProbe(environment.knowDomain), vendor: createVendorProbe(environment.readVendorPage) }), close: dns.close };
}

/** Each target goes to the probe of its protocol; a type without one gives an `unsupported` observation. */
function dispatch(probes: Partial<Record<MonitorType, Probe>>): Probe {
  return async (target) => {
    const probe = probes[target.type];
    return probe === undefined ? { type: 'unsupported', monitorType: target.type, latencyMs: null } : probe(target);
  };
}
