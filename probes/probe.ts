import type { Observation } from '../core/checks/observation.ts';
import type { CheckTarget, MonitorType } from '../core/monitors/monitor.ts';
import { createHttpProbe } from './http.ts';
import { openIcmpProbe, type IcmpEnvironment } from './icmp.ts';
import { createTcpProbe } from './tcp.ts';
import { createUdpProbe } from './udp.ts';

/**
 * Measures a target once. Whatever the target does is in the observation; it rejects only where our own machine lacks
 * something, which is no vote (D-20).
 */
export type Probe = (target: CheckTarget) => Promise<Observation>;

/** A probe with what it holds open, which `close` lets go of. */
export type OpenProbe = { probe: Probe; close: () => Promise<void> };

/**
 * Makes one probe of several: each target goes to that of its protocol; a type without one gives an `unsupported`
 * observation.
 */
export function dispatch(probes: Partial<Record<MonitorType, Probe>>): Probe {
  return async (target) => {
    const probe = probes[target.type];
    return probe === undefined ? { type: 'unsupported', monitorType: target.type, latencyMs: null } : probe(target);
  };
}

/**
 * Opens the probe of what agents check, a customer's own as well as a shared one. It loads nothing that only the
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
