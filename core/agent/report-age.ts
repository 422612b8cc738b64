import type { Report } from './read-ingest.ts';

/** A result may be this far ahead of our clock, or of its monitor's creation, in milliseconds: clocks differ. */
export const MAX_AHEAD_MS = 60_000;

/** Older results are of no use, in milliseconds. */
export const MAX_AGE_MS = 86_400_000;

/** Parts reports by when their probes began: from the future, too old, or neither. */
export function sortByAge(
  reports: readonly Report[],
  nowMs: number,
): { timely: Report[]; future: number; tooOld: number } {
  const isFuture = ({ startedAtMs }: Report) => startedAtMs > nowMs + MAX_AHEAD_MS;
  const isTooOld = ({ startedAtMs }: Report) => startedAtMs < nowMs - MAX_AGE_MS;
  const timely = reports.filter((report) => !isFuture(report) && !isTooOld(report));
  return { timely, future: reports.filter(isFuture).length, tooOld: reports.filter(isTooOld).length };
}

/**
 * True where a probe began before there was its monitor (Unix milliseconds). A creation that seems to be ahead counts
 * as made now: our clock was set back since.
 */
export function isBeforeCreation({ startedAtMs }: Report, createdAtMs: number, nowMs: number): boolean {
  return startedAtMs < Math.min(createdAtMs, nowMs) - MAX_AHEAD_MS;
}
