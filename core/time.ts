export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
/** A day; there are no other ones in UTC as Unix counts it. */
export const DAY_MS = 86_400_000;
export const DAY_SECONDS = 86_400;

/** The second that a moment in Unix milliseconds lies in. */
export function toUnixSeconds(unixMs: number): number {
  return Math.floor(unixMs / 1000);
}

/** A moment (Unix seconds) as RFC 3339 in UTC: `2026-03-14T09:26:53Z`. */
export function toIso(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19)}Z`;
}

const UNITS = [
  { name: 'day', seconds: DAY_SECONDS },
  { name: 'hour', seconds: 3600 },
  { name: 'minute', seconds: 60 },
  { name: 'second', seconds: 1 },
] as const;

/**
 * Formats a duration in its two largest units, rounded down: `3 minutes 20 seconds`, `1 day`. Below a second, including
 * negative values, `less than a second`.
 */
export function formatDuration(seconds: number): string {
  const first = UNITS.findIndex((unit) => seconds >= unit.seconds);
  if (first === -1) return 'less than a second';
  let left = Math.floor(seconds);
  const parts = UNITS.slice(first, first + 2).map(({ name, seconds: size }) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? '' : `${count} ${name}${count === 1 ? '' : 's'}`;
  });
  return parts.filter((part) => part !== '').join(' ');
}

/**
 * Waits for the work, `ms` milliseconds at most: its result, or `otherwise` where it takes longer. The work goes on
 * then, and what becomes of it concerns its other callers alone. Rejects where the work fails in time. A process that
 * stood still runs its timers before it reads what arrived meanwhile, hence a second timer: what arrived is in time.
 */
export async function within<Result, Otherwise>(
  ms: number,
  work: Promise<Result>,
  otherwise: Otherwise,
): Promise<Result | Otherwise> {
  const { promise: late, resolve } = Promise.withResolvers<Otherwise>();
  let timer = setTimeout(
    () => {
      timer = setTimeout(() => resolve(otherwise), 0);
    },
    Math.max(0, ms),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** How the console writes the time of day to a person: as their browser does, with 12 or with 24 hours. */
export type Clock = 'browser' | '12h' | '24h';

/** The zone of whichever browser the console is open in; every other one is UTC or named. */
export const BROWSER_ZONE = 'browser';
