import { spend, type SteadyRate } from '../steady-rate.ts';
import { HOUR_MS } from '../time.ts';

/**
 * Rate limit of an account: a burst of deliveries, then one each 20 ms (D-320). A thousand monitors with three channels
 * fill the burst when all fail.
 */
const TENANT_RATE: SteadyRate = { burst: 3000, everyMs: 20 };

/**
 * Rate limit of one monitor: 240 deliveries and two for each of its channels, and then one a second. It curbs flapping,
 * not failures and recoveries.
 */
const MONITOR_EVERY_MS = 1000;
const MONITOR_BURST = 240;
const MONITOR_BURST_EACH = 2;

/**
 * Longest wait of a delivery, in milliseconds. A mark that is more than twice that ahead comes from another clock, and
 * counts as twice that.
 */
const LONGEST_WAIT_MS = HOUR_MS;
export const FURTHEST_MARK_MS = 2 * LONGEST_WAIT_MS;

/** Waiting deliveries are due in steps of this many milliseconds: a job for each would cost more than the delivery. */
const STEP_MS = 5000;

/** The parties whose rates a delivery uses: its tenant, and its monitor. */
type Counted = { tenantId: string; monitorId: string };

/** Sums the share of each rate that some deliveries use, by key, in milliseconds. */
export function usedUpBy(deliveries: readonly Counted[]): Map<string, number> {
  const used = new Map<string, number>();
  for (const { tenantId, monitorId } of deliveries) {
    used.set(tenantId, (used.get(tenantId) ?? 0) + TENANT_RATE.everyMs);
    used.set(monitorId, (used.get(monitorId) ?? 0) + MONITOR_EVERY_MS);
  }
  return used;
}

/**
 * Plans when each of some deliveries is due (Unix milliseconds), in their order. By key, `marks` holds the time until
 * which earlier ones use up the rates. Deliveries without a wait are due now.
 */
export function planDue(deliveries: readonly Counted[], marks: ReadonlyMap<string, number>, nowMs: number): number[] {
  const now = new Map(marks);
  const ofMonitor = Map.groupBy(deliveries, ({ monitorId }) => monitorId);
  const waitFor = (key: string, rate: SteadyRate): number => {
    const { usedUpMs, waitMs } = spend(rate, {
      usedUpMs: now.get(key) ?? null,
      units: 1,
      nowMs,
      longestMs: FURTHEST_MARK_MS,
    });
    now.set(key, usedUpMs);
    return waitMs;
  };
  return deliveries.map(({ tenantId, monitorId }) => {
    const burst = MONITOR_BURST + MONITOR_BURST_EACH * (ofMonitor.get(monitorId)?.length ?? 0);
    const waitMs = Math.max(waitFor(tenantId, TENANT_RATE), waitFor(monitorId, { burst, everyMs: MONITOR_EVERY_MS }));
    return waitMs === 0 ? nowMs : Math.ceil((nowMs + Math.min(waitMs, LONGEST_WAIT_MS)) / STEP_MS) * STEP_MS;
  });
}
