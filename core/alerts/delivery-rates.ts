import { spend, type SteadyRate } from '../steady-rate.ts';
import { DAY_MS, HOUR_MS } from '../time.ts';

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

// The timetable of D-50, whose waits an operator may change; each attempt takes up to 8 s itself.
//
//     attempt   waits    with jitter      over after, at most
//     1         -        -                  8 s
//     2         5 s      4 to 6 s          22 s
//     3         25 s     20 to 30 s        60 s
//     4         125 s    100 to 150 s     218 s
//
// The jitter keeps deliveries that failed together from coming back together.

/**
 * A delivery is retried this often at the most, whatever the timetable says: the description promises it to receivers.
 */
export const MAX_RETRIES = 3;

/** A wait differs from the timetable by up to this share, either way. */
const JITTER = 0.2;

/**
 * How long to wait after a failed attempt before the next, in whole milliseconds; null when the timetable is used up
 * (D-50). `attempt` is the one that failed, from 1; `random` a fresh draw from [0, 1); `timetableSeconds` the wait
 * before each retry.
 */
export function nextAttemptDelayMs(failed: {
  attempt: number;
  random: number;
  timetableSeconds: readonly number[];
}): number | null {
  const seconds = failed.timetableSeconds[failed.attempt - 1];
  if (seconds === undefined || failed.attempt > MAX_RETRIES) return null;
  return Math.round(seconds * 1000 * (1 - JITTER + 2 * JITTER * failed.random));
}

/** Resolves of one channel that are tried beyond the timetable at a time. */
export const MAX_LATE_RESOLVES = 1000;

/** The longest wait between two attempts at a resolve, and how long it is tried, in milliseconds. */
const RESOLVE_WAIT_MS = HOUR_MS;
const RESOLVE_FOR_MS = 7 * DAY_MS;

/** How many attempts the timetable allows, the first included. */
export function countAttempts(timetableSeconds: readonly number[]): number {
  return Math.min(timetableSeconds.length, MAX_RETRIES) + 1;
}

/**
 * The same for what resolves an alert that its receiver keeps open. Beyond the timetable each wait is twice the one
 * before, up to an hour, for seven days after the event at `eventAtMs`.
 */
export function nextResolveDelayMs(
  failed: Parameters<typeof nextAttemptDelayMs>[0],
  { eventAtMs, nowMs }: { eventAtMs: number; nowMs: number },
): number | null {
  const { attempt, random, timetableSeconds } = failed;
  const within = nextAttemptDelayMs(failed);
  if (within !== null || nowMs - eventAtMs > RESOLVE_FOR_MS) return within;
  const retries = countAttempts(timetableSeconds) - 1;
  const lastMs = (timetableSeconds[retries - 1] ?? 1) * 1000;
  const waitMs = Math.min(RESOLVE_WAIT_MS, lastMs * 2 ** (attempt - retries));
  return Math.round(waitMs * (1 - JITTER + 2 * JITTER * random));
}
