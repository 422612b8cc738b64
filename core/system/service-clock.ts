/**
 * A reading of PostgreSQL's clock, with the stored row of the service's time. Moments are Unix milliseconds by that
 * clock.
 */
export type TimeReading = {
  databaseMs: number;
  /** How far the service's time is ahead of PostgreSQL's clock, and since when. */
  correctionMs: number;
  correctedAtMs: number;
  /** When a process last found that its own time agreed; 0 = never. */
  agreedAtMs: number;
};

/**
 * This process's own service time at the moment of the reading, give or take `uncertainMs`, and the correction that it
 * last read.
 */
export type HeldTime = { serviceMs: number; correctionMs: number; uncertainMs: number };

/**
 * Verdict on a reading. `agrees`: nothing but drift. `follow`: others set the service's time, or this process's own
 * measure of time stood still. `database stepped`: PostgreSQL's clock was set, and the service's time must continue as
 * before. `settle`: it was set long enough ago to be accepted. `offMs` is how far the reading is ahead of the held
 * time.
 */
type TimeVerdict = { verdict: 'agrees' | 'follow' | 'database stepped' | 'settle'; offMs: number };

/** Largest difference that is no step, in milliseconds: synchronised clocks are never so far apart. */
export const TIME_TOLERANCE_MS = 1000;

/** Age at which a step of PostgreSQL's clock is accepted, in milliseconds. */
export const BELIEVED_AFTER_MS = 60_000;

/** Interval between a process's readings, in milliseconds. */
export const READ_EVERY_MS = 2000;

/** Maximum age of other processes' agreement with PostgreSQL's clock, in milliseconds. */
const OTHERS_AGREED_MS = 2 * READ_EVERY_MS;

/** Judges a reading against the time that this process has kept since the last one, by a monotonic clock. */
export function judgeReading(reading: TimeReading, held: HeldTime): TimeVerdict {
  const offMs = reading.databaseMs + reading.correctionMs - held.serviceMs;
  const isNear = Math.abs(offMs) <= TIME_TOLERANCE_MS + held.uncertainMs;
  if (isNear) return { verdict: isSettled(reading) ? 'agrees' : 'settle', offMs };
  if (reading.correctionMs !== held.correctionMs) return { verdict: 'follow', offMs };
  // If another process agreed a moment ago, this process's own measure stood still: a virtual machine was paused.
  const agreedAgoMs = reading.databaseMs - reading.agreedAtMs;
  const othersAgree = agreedAgoMs >= -TIME_TOLERANCE_MS && agreedAgoMs <= OTHERS_AGREED_MS;
  return { verdict: othersAgree ? 'follow' : 'database stepped', offMs };
}

function isSettled({ databaseMs, correctionMs, correctedAtMs }: TimeReading): boolean {
  return correctionMs === 0 || Math.abs(databaseMs - correctedAtMs) < BELIEVED_AFTER_MS;
}

/**
 * Returns the correction with which the service's time continues as before after PostgreSQL's clock was set; 0 if it
 * was set right again.
 */
export function correctionAfterStep(correctionMs: number, offMs: number): number {
  const corrected = Math.round(correctionMs - offMs);
  return Math.abs(corrected) <= TIME_TOLERANCE_MS ? 0 : corrected;
}
