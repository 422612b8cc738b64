import { collectDefaultMetrics, Counter, type Registry } from 'prom-client';

/**
 * Sampling interval of event loop delays, in milliseconds. Each sample wakes the process: at 10, an idle installation
 * woke up for little else.
 */
const EVENT_LOOP_PRECISION_MS = 100;

/** Sums of gauges that also exist by type; `_total` is a counter's suffix, and these are not counters. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/**
 * Registers Prometheus' standard metrics of a Node process: memory, CPU, handles, garbage collection, event loop (whose
 * lags include the precision).
 */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
}

/** Registers the count of detected clock changes, by clock, and returns the function that counts one. */
export function countClockSteps<Clock extends string>(
  registry: Registry,
  clocks: readonly Clock[],
): (clock: Clock) => void {
  const steps = new Counter({
    name: 'spotcheck_clock_steps_total',
    help: 'Detected clock changes, by clock',
    labelNames: ['clock'],
    registers: [registry],
  });
  for (const clock of clocks) steps.inc({ clock }, 0);
  return (clock) => steps.inc({ clock });
}
