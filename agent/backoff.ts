/** The wait before trying again lies between this and the longest, in milliseconds. */
const SHORTEST_MS = 1000;
const LONGEST_MS = 60_000;

/** The most that a server's Retry-After can ask for, in milliseconds: an agent that waits longer is not coming back. */
const LONGEST_REQUESTED_WAIT_MS = 10 * 60_000;

/**
 * How long to wait after this many failures in a row (from 1), in milliseconds. Anywhere between a second and a bound
 * that doubles from two seconds to a minute, so that a fleet that lost its server does not come back as a herd.
 * `requestedWaitMs` is what the server asked for, null where it did not: never less than that.
 */
export function backoffMs({
  failures,
  requestedWaitMs,
  random,
}: {
  failures: number;
  requestedWaitMs: number | null;
  random: () => number;
}): number {
  const boundMs = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** Math.min(failures, 16));
  const ownMs = SHORTEST_MS + random() * (boundMs - SHORTEST_MS);
  return Math.max(ownMs, Math.min(requestedWaitMs ?? 0, LONGEST_REQUESTED_WAIT_MS));
}

/**
 * What a Retry-After header asks for in milliseconds: seconds or a date (RFC 9110); null for none, and for what is
 * neither.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000;
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
