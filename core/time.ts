export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
/** A day; Unix time has no days of another length. */
export const DAY_MS = 86_400_000;
export const DAY_SECONDS = 86_400;

/** Converts Unix milliseconds to whole Unix seconds, rounded down. */
export function toUnixSeconds(unixMs: number): number {
  return Math.floor(unixMs / 1000);
}

/** Formats a moment (Unix seconds) as RFC 3339 in UTC: `2026-03-14T09:26:53Z`. */
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
 * Waits for the work at most `ms` milliseconds and returns its result, or `otherwise` after that. Late work goes on,
 * and its outcome concerns only its other callers. Rejects if the work fails in time. A process that was stalled runs
 * its timers before it reads the input that arrived meanwhile; the second timer lets that count as in time.
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

/** Reports whether work succeeds; never rejects. */
export function isFulfilled(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** Clock format of the console: the browser's, 12 or 24 hours. */
export type Clock = 'browser' | '12h' | '24h';

/** The time zone of the browser in which the console is open; every other zone is UTC or named. */
export const BROWSER_ZONE = 'browser';
