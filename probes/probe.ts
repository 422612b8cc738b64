import type { Observation } from '../core/checks/observation.ts';
import type { CheckTarget, MonitorType } from '../core/monitors/monitor.ts';

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
