import type { CheckTarget, MonitorType } from '../core/monitor.ts';
import type { Observation } from '../core/observation.ts';
import { createHttpProbe } from './http.ts';
import type { ProbeEnvironment } from './http.ts';

export type { ProbeEnvironment } from './http.ts';

/** Measures a target once. Whatever the target does is in the observation; it rejects only where our own machine lacks something, which is no vote (D-20). */
export type Probe = (target: CheckTarget) => Promise<Observation>;

/** A probe with what it holds open, which `close` lets go of. */
export type OpenProbe = { probe: Probe; close: () => Promise<void> };

/** Opens the probe of what agents check, a customer's own as well as a shared one. */
export function openAgentProbe(environment: ProbeEnvironment): OpenProbe {
  return { probe: dispatch({ http: createHttpProbe(environment) }), close: async () => undefined };
}

/** Opens the probe of what the service itself checks. */
export function openServiceProbe(_environment: ProbeEnvironment): OpenProbe {
  return { probe: dispatch({}), close: async () => undefined };
}

/** Each target goes to the probe of its protocol; a type without one gives an `unsupported` observation. */
function dispatch(probes: Partial<Record<MonitorType, Probe>>): Probe {
  return async (target) => {
    const probe = probes[target.type];
    return probe === undefined ? { type: 'unsupported', monitorType: target.type, latencyMs: null } : probe(target);
  };
}
