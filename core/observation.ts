import type { HttpObservation } from './http-observation.ts';
import type { MonitorType } from './monitor.ts';

/** A monitor whose type this program cannot probe. */
export type UnsupportedObservation = { type: 'unsupported'; monitorType: MonitorType; latencyMs: null };

/** The facts of one probe, by the protocol that was spoken. */
export type Observation = HttpObservation | UnsupportedObservation;
