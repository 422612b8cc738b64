import { collectDefaultMetrics, type Registry } from 'prom-client';

/** How closely stand-stills of the event loop are watched, in milliseconds. Each look wakes the process: with 10 an idle installation woke up for little else. */
const EVENT_LOOP_PRECISION_MS = 100;

/** Registers what Prometheus asks of any Node process: memory, CPU, handles, garbage collection, event loop (whose lags include the precision). */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS });
}
