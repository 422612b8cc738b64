import type { VendorObservation } from '../core/checks/vendor/observation.ts';
import { findVendorPage } from '../core/checks/vendor/page.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { within } from '../core/time.ts';
import type { VendorPageReader } from './vendors/page-reader.ts';

/**
 * Makes the probe of vendors (D-28): it reads the vendor's page together with everybody else who watches it, and waits
 * for that no longer than its own time-out.
 */
export function createVendorProbe(readPage: VendorPageReader): (target: CheckTarget) => Promise<VendorObservation> {
  return async ({ target, checkSpec, timeoutMs }) => {
    const startedAt = Date.now();
    const page = findVendorPage(target);
    if (page === null)
      return {
        type: 'vendor',
        startedAt,
        latencyMs: null,
        outcome: 'unread',
        reason: `There is no vendor ${target} in the catalogue any more`,
      };
    // The lookup goes on without the check that is out of time: others wait for it, and the next check finds its outcome.
    const reading = await within(timeoutMs, readPage(page, checkSpec.vendor?.components ?? []), null);
    if (reading === null)
      return {
        type: 'vendor',
        startedAt,
        latencyMs: null,
        outcome: 'unread',
        reason: `The status page was not read within ${timeoutMs} ms`,
      };
    const { latencyMs } = reading;
    if (reading.outcome === 'failed')
      return { type: 'vendor', startedAt, latencyMs, outcome: 'unread', reason: reading.failure.reason };
    return { type: 'vendor', startedAt, latencyMs, outcome: 'read', snapshot: reading.snapshot };
  };
}
