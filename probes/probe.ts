import type { Observation } from '../core/checks/observation.ts';
import type { CheckTarget, MonitorType } from '../core/monitors/monitor.ts';
import { createHttpProbe } from './http.ts';
import { openIcmpProbe, type IcmpEnvironment } from './icmp.ts';
import { createTcpProbe } from './tcp.ts';
import { createUdpProbe } from './udp.ts';

/**
 * Measures a target once. Failures of the target are in the observation; it rejects only if this machine lacks
 * resources, which is no vote (D-20).
 */
export type Probe = (target: CheckTarget) => Promise<Observation>;

/** A probe with open resources, which `close` releases. */
export type OpenProbe = { probe: Probe; close: () => Promise<void> };

/**
 * Combines probes: each target goes to the probe of its protocol; a type without one yields an `unsupported`
 * observation.
 */
export function dispatch(probes: Partial<Record<MonitorType, Probe>>): Probe {
  return async (target) => {
    const probe = probes[target.type];
    return probe === undefined ? { type: 'unsupported', monitorType: target.type, latencyMs: null } : probe(target);
  };
}

/**
 * Opens the probe for agents' checks, a customer's agent as well as a shared one. It does not load code that only the
 * service's own checks need.
 */
export function openAgentProbe(environment: IcmpEnvironment): OpenProbe {
  const icmp = openIcmpProbe(environment);
  return {
    probe: dispatch({
      http: createHttpProbe(environment),
      tcp: createTcpProbe(environment),
      udp: createUdpProbe(environment),
      icmp: icmp.probe,
    }),
    close: icmp.close,
  };
}
