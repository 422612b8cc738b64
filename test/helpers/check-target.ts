import type { CheckTarget } from '../../core/monitors/monitor.ts';

/** Returns an http monitor's target with the defaults of a new monitor, unless overridden. */
export function httpTarget(overrides: Partial<CheckTarget> & { target: string }): CheckTarget {
  return {
    type: 'http',
    timeoutMs: 5_000,
    method: 'GET',
    expectedStatus: '2xx',
    bodyMatch: null,
    followRedirects: true,
    checkSpec: {},
    secrets: {},
    ...overrides,
  };
}
