import { countDaysLeft } from './days-left.ts';

/** What an advisory warns of. */
export type AdvisorySubject = 'domain' | 'certificate';

/** Days left at which is said what the monitor's own threshold has said once (D-27). */
const FURTHER_THRESHOLDS = [14, 7, 3, 1] as const;

/**
 * The highest threshold that an advisory is recorded under: what its column holds. A longer warning is the monitor's
 * own all the same.
 */
const MAX_THRESHOLD = 32_767;

/**
 * The threshold, in days left, that an expiry (Unix seconds) has passed: of the monitor's own and the fixed ones below
 * it the lowest, so that of several passed at once only one is said; null while there are more days left than
 * `warnDays`.
 */
export function passedThreshold({
  expiresAt,
  warnDays,
  nowMs,
}: {
  expiresAt: number;
  warnDays: number;
  nowMs: number;
}): number | null {
  const daysLeft = countDaysLeft(expiresAt, nowMs);
  const passed = [warnDays, ...FURTHER_THRESHOLDS].filter((days) => days <= warnDays && daysLeft <= days);
  return passed.length === 0 ? null : Math.min(...passed, MAX_THRESHOLD);
}
