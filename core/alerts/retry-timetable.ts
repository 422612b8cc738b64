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
