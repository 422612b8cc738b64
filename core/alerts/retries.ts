import { DAY_MS, HOUR_MS } from '../time.ts';

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
 * Maximum number of retries of a delivery, regardless of the timetable: the service's description promises it to
 * receivers.
 */
export const MAX_RETRIES = 3;

/** Largest share by which a wait differs from the timetable, either way. */
const JITTER = 0.2;

/** `attempt` counts from 1; `random` is a fresh draw from [0, 1); `timetableSeconds` is the wait before each retry. */
type FailedAttempt = { attempt: number; random: number; timetableSeconds: readonly number[] };

/**
 * Returns the wait after a failed attempt before the next, in whole milliseconds; null when the timetable is used up
 * (D-50).
 */
export function nextAttemptDelayMs(failed: FailedAttempt): number | null {
  const seconds = failed.timetableSeconds[failed.attempt - 1];
  if (seconds === undefined || failed.attempt > MAX_RETRIES) return null;
  return withJitter(seconds * 1000, failed.random);
}

/** Shortest wait beyond the timetable, in milliseconds: one that ends in 0 would make a loop of requests. */
const SHORTEST_WAIT_MS = 1000;

/** Maximum number of resolves of one channel that are retried beyond the timetable at a time. */
export const MAX_LATE_RESOLVES = 1000;

/** Longest wait between two attempts at a resolve, and how long it is retried, in milliseconds. */
const RESOLVE_WAIT_MS = HOUR_MS;
const RESOLVE_FOR_MS = 7 * DAY_MS;

/**
 * How long after the first attempt, in milliseconds, and how often a receiver may postpone a delivery without using up
 * an attempt. With the usual timetable half as many fit into the hour.
 */
export const PUT_OFF_FOR_MS = HOUR_MS;
export const MAX_PUT_OFFS = 50;

/**
 * Returns the wait after an attempt that its receiver postponed, in whole milliseconds; null if it counts as failed.
 * `attempt` counts such attempts, from 1: each waits as after a failed one, the later ones as after the last.
 */
export function nextPutOffDelayMs(
  putOff: FailedAttempt,
  { firstAtMs, nowMs }: { firstAtMs: number; nowMs: number },
): number | null {
  const { attempt, timetableSeconds } = putOff;
  if (attempt > MAX_PUT_OFFS || nowMs - firstAtMs > PUT_OFF_FOR_MS) return null;
  const waitMs = nextAttemptDelayMs({ ...putOff, attempt: Math.min(attempt, countAttempts(timetableSeconds) - 1) });
  return waitMs === null ? null : Math.max(SHORTEST_WAIT_MS, waitMs);
}

/** Returns the number of attempts in the timetable, the first included. */
export function countAttempts(timetableSeconds: readonly number[]): number {
  return Math.min(timetableSeconds.length, MAX_RETRIES) + 1;
}

/**
 * The same for resolving an alert that its receiver keeps open. Beyond the timetable each wait is twice the one before,
 * up to an hour, for seven days after the event at `eventAtMs`.
 */
export function nextResolveDelayMs(
  failed: FailedAttempt,
  { eventAtMs, nowMs }: { eventAtMs: number; nowMs: number },
): number | null {
  const { attempt, random, timetableSeconds } = failed;
  const within = nextAttemptDelayMs(failed);
  if (within !== null || nowMs - eventAtMs > RESOLVE_FOR_MS) return within;
  const retries = countAttempts(timetableSeconds) - 1;
  const lastMs = Math.max(SHORTEST_WAIT_MS, (timetableSeconds[retries - 1] ?? 0) * 1000);
  const waitMs = Math.min(RESOLVE_WAIT_MS, lastMs * 2 ** (attempt - retries));
  return withJitter(waitMs, random);
}

function withJitter(ms: number, random: number): number {
  return Math.round(ms * (1 - JITTER + 2 * JITTER * random));
}
