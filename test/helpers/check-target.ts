import type { CheckTarget } from '../../core/monitors/monitor.ts';

/**
 * Returns an http monitor's target with the defaults of a new monitor, unless overridden. Only its timeout is longer:
 * a check of a server that responds must not time out on a machine that stalls.
 */
export function httpTarget(overrides: Partial<CheckTarget> & { target: string }): CheckTarget {
  return {
    type: 'http',
    timeoutMs: 60_000,
    method: 'GET',
    expectedStatus: '2xx',
    bodyMatch: null,
    followRedirects: true,
    checkSpec: {},
    secrets: {},
    ...overrides,
  };
}
