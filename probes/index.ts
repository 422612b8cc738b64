import type { CheckTarget, MonitorType } from '../core/monitor.ts';
import type { Observation } from '../core/observation.ts';
import { createHttpProbe } from './http.ts';
import type { ProbeEnvironment } from './http.ts';

export type { ProbeEnvironment } from './http.ts';

/** Measures a target once. Whatever the target does is in the observation; it rejects only where our own machine lacks something, which is no vote (D-20). */
export type Probe = (target: CheckTarget) => Promise<Observation>;

/** Makes the probe for targets of every type: each goes to the probe of its protocol, and a type without one gives an `unsupported` observation. */
export function createProbe(environment: ProbeEnvironment): Probe {
  const probes: Partial<Record<MonitorType, Probe>> = {
    http: createHttpProbe(environment),
  };
  return async (target) => {
    const probe = probes[target.type];
    return probe === undefined ? { type: 'unsupported', monitorType: target.type } : probe(target);
  };
}
