import { DAY_MS } from '../../time.ts';
/**
 * Days until an expiry (Unix seconds), a begun one counting whole, so that 14 days are left until the moment at which
 * exactly 13 are; 0 from the expiry on.
 */
export function countDaysLeft(expiresAt: number, nowMs: number): number {
  return Math.max(0, Math.ceil((expiresAt * 1000 - nowMs) / DAY_MS));
}

/**
 * `expires in 14 days, on 2026-03-14` or `expired on 2026-03-14`: what becomes of something with an expiry (Unix
 * seconds); days in UTC.
 */
export function describeExpiry(expiresAt: number, nowMs: number): string {
  const days = countDaysLeft(expiresAt, nowMs);
  const date = formatDate(expiresAt);
  return days === 0 ? `expired on ${date}` : `expires in ${formatDays(days)}, on ${date}`;
}

/** A moment (Unix seconds) as its day in UTC, such as 2026-03-14. */
export function formatDate(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().slice(0, 10);
}

/**
 * `1 day`, `14 days`, `1,400 days`. Made for each text: the first formatter takes 25 ms, which a process that never
 * tells one is spared at its start.
 */
export function formatDays(days: number): string {
  return new Intl.NumberFormat('en', { style: 'unit', unit: 'day', unitDisplay: 'long' }).format(days);
}
