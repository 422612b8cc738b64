import { spend, type SteadyRate } from '../steady-rate.ts';
import { HOUR_MS } from '../time.ts';

/**
 * Deliveries of an account at once, and one more each 20 ms (D-320). A thousand monitors with three channels say as
 * much when all fail.
 */
const TENANT_RATE: SteadyRate = { burst: 3000, everyMs: 20 };

/**
 * Those of one monitor: 240 and two for each channel of the monitor, and then one a second. It is for what flaps, not
 * for what fails and recovers.
 */
const MONITOR_EVERY_MS = 1000;
const MONITOR_BURST = 240;
const MONITOR_BURST_EACH = 2;

/** No delivery waits for longer, and no mark is further ahead (one of another clock may be), in milliseconds. */
const LONGEST_WAIT_MS = HOUR_MS;
export const FURTHEST_MARK_MS = 2 * LONGEST_WAIT_MS;

/**
 * Deliveries that wait are due in steps of this many milliseconds: a job for each of them would cost more than they do.
 */
const STEP_MS = 5000;

/** What counts a delivery: its tenant, and its monitor. */
export type Counted = { tenantId: string; monitorId: string };

/** What some deliveries use up of the rates of those who count them, by key, in milliseconds. */
export function usedUpBy(deliveries: readonly Counted[]): Map<string, number> {
  const used = new Map<string, number>();
  for (const { tenantId, monitorId } of deliveries) {
    used.set(tenantId, (used.get(tenantId) ?? 0) + TENANT_RATE.everyMs);
    used.set(monitorId, (used.get(monitorId) ?? 0) + MONITOR_EVERY_MS);
  }
  return used;
}

/**
 * When each of some deliveries is due (Unix milliseconds), in their order. By key, `marks` says until when the ones
 * before them use up the rates. What is due at once is due now.
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
