import type { CheckTarget, TransportSpec } from '../../core/monitors/monitor.ts';
import { httpTarget } from './check-target.ts';

/**
 * Returns a tcp or udp monitor's target on a port of 127.0.0.1, with the defaults of a new monitor, unless overridden.
 */
export function transportTarget(
  type: 'tcp' | 'udp',
  { port, transport, ...overrides }: { port?: number; transport?: TransportSpec } & Partial<CheckTarget>,
): CheckTarget {
  return httpTarget({
    type,
    target: `127.0.0.1:${port}`,
    method: null,
    expectedStatus: null,
    followRedirects: false,
    checkSpec: transport === undefined ? {} : { transport },
    ...overrides,
  });
}
