import { AGENT_CHECKED, type MonitorType } from './monitor-draft.ts';

/** How a monitor is looked at. */
export type Looks = { type: MonitorType; intervalSeconds: number; timeoutMs: number; failures: number };

/**
 * After a bad result a place looks again within these bounds, in seconds; two looks are at least half a second apart.
 */
const AGAIN = { shortest: 1, longest: 20, apart: 0.5 } as const;

/**
 * Seconds from a bad look to the next one. Where each look talks to the target it comes sooner than the interval says.
 */
export function secondsToNextLook({ type, intervalSeconds, timeoutMs }: Omit<Looks, 'failures'>): number {
  const again = Math.max(AGAIN.shortest, Math.min(intervalSeconds / 2, AGAIN.longest));
  if ((!AGENT_CHECKED.includes(type) && type !== 'dns') || again >= intervalSeconds) return intervalSeconds;
  return Math.min(intervalSeconds, Math.max(again, timeoutMs / 1000 + AGAIN.apart));
}

/**
 * Seconds until what fails is called down, at worst: it fails right after a look, and every look waits for the whole
 * timeout. Places look each in its own moment of the interval, so that a quorum takes no longer than its slowest place.
 */
export function worstDetectionSeconds(looks: Looks): number {
  return looks.intervalSeconds + (looks.failures - 1) * secondsToNextLook(looks) + looks.timeoutMs / 1000;
}
