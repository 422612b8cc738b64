import { AGENT_CHECKED, type MonitorType } from './monitor-draft.ts';

/** What decides how soon a failure is detected. */
export type DetectionSettings = { type: MonitorType; intervalSeconds: number; timeoutMs: number; failures: number };

/**
 * After a bad result a place checks again within these bounds, in seconds; two checks are at least half a second apart.
 */
const AGAIN = { shortest: 1, longest: 20, apart: 0.5 } as const;

/**
 * Seconds from a bad check to the next one. Where each check talks to the target it comes sooner than the interval
 * says.
 */
export function secondsToNextCheck({ type, intervalSeconds, timeoutMs }: Omit<DetectionSettings, 'failures'>): number {
  const again = Math.max(AGAIN.shortest, Math.min(intervalSeconds / 2, AGAIN.longest));
  if ((!AGENT_CHECKED.includes(type) && type !== 'dns') || again >= intervalSeconds) return intervalSeconds;
  return Math.min(intervalSeconds, Math.max(again, timeoutMs / 1000 + AGAIN.apart));
}

/**
 * Seconds until what fails is called down, at worst: it fails right after a check, and every check waits for the whole
 * timeout. Locations check each in its own moment of the interval, so that a quorum takes no longer than its slowest
 * place.
 */
export function worstDetectionSeconds(settings: DetectionSettings): number {
  return settings.intervalSeconds + (settings.failures - 1) * secondsToNextCheck(settings) + settings.timeoutMs / 1000;
}
