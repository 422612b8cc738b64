/**
 * A reading of PostgreSQL's clock, and what its row of the service's time said then. Moments are Unix milliseconds by
 * that clock.
 */
export type TimeReading = {
  databaseMs: number;
  /** What the service's time is ahead of PostgreSQL's clock, and since when it has been that. */
  correctionMs: number;
  correctedAtMs: number;
  /** When some process last found that its own time agreed; 0 = none did yet. */
  agreedAtMs: number;
};

/**
 * What this process held for the service's time at the moment of the reading, give or take `uncertainMs`, and the
 * correction that it last saw.
 */
export type HeldTime = { serviceMs: number; correctionMs: number; uncertainMs: number };

/**
 * What follows from a reading. `agrees`: nothing but drift. `follow`: the service's time was set by others, or our own
 * measure of time stood still. `database stepped`: PostgreSQL's clock was set, and the service's time goes on as it
 * did. `settle`: it was set long enough ago to be believed. `offMs` is how far the reading lies ahead of what was held.
 */
type TimeVerdict = { verdict: 'agrees' | 'follow' | 'database stepped' | 'settle'; offMs: number };

/** A difference that is no step, in milliseconds: clocks that are kept in line are never so far apart. */
export const TIME_TOLERANCE_MS = 1000;

/** A step of PostgreSQL's clock is believed once it has stood for so long, in milliseconds. */
export const BELIEVED_AFTER_MS = 60_000;

/** Processes compare this often, in milliseconds. */
export const READ_EVERY_MS = 2000;

/** Other processes that agree with PostgreSQL's clock have said so within this, in milliseconds. */
const OTHERS_AGREED_MS = 2 * READ_EVERY_MS;

/** Judges a reading against the time that this process has kept since the reading before, by a monotonic clock. */
export function judgeReading(reading: TimeReading, held: HeldTime): TimeVerdict {
  const offMs = reading.databaseMs + reading.correctionMs - held.serviceMs;
  const isNear = Math.abs(offMs) <= TIME_TOLERANCE_MS + held.uncertainMs;
  if (isNear) return { verdict: isSettled(reading) ? 'agrees' : 'settle', offMs };
  if (reading.correctionMs !== held.correctionMs) return { verdict: 'follow', offMs };
  // Where another process agreed a moment ago, it was our own measure that stood still: a virtual machine was paused.
  const agreedAgoMs = reading.databaseMs - reading.agreedAtMs;
  const othersAgree = agreedAgoMs >= -TIME_TOLERANCE_MS && agreedAgoMs <= OTHERS_AGREED_MS;
  return { verdict: othersAgree ? 'follow' : 'database stepped', offMs };
}

function isSettled({ databaseMs, correctionMs, correctedAtMs }: TimeReading): boolean {
  return correctionMs === 0 || Math.abs(databaseMs - correctedAtMs) < BELIEVED_AFTER_MS;
}

/**
 * The correction that lets the service's time go on as it did after PostgreSQL's clock was set; none where it was set
 * right again.
 */
export function correctionAfterStep(correctionMs: number, offMs: number): number {
  const corrected = Math.round(correctionMs - offMs);
  return Math.abs(corrected) <= TIME_TOLERANCE_MS ? 0 : corrected;
}
