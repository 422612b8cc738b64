/** One look at PostgreSQL's clock, and what its row of the service's time said then. Moments are Unix milliseconds by that clock. */
export type TimeLook = {
  databaseMs: number;
  /** What the service's time is ahead of PostgreSQL's clock, and since when it has been that. */
  correctionMs: number;
  correctedAtMs: number;
  /** When some process last found that its own time agreed; 0 = none did yet. */
  agreedAtMs: number;
};

/** What this process held for the service's time at the moment of the look, give or take `uncertainMs`, and the correction that it last saw. */
export type HeldTime = { serviceMs: number; correctionMs: number; uncertainMs: number };

/**
 * What follows from a look. `agrees`: nothing but drift. `follow`: the service's time was set by others, or our own measure of time stood
 * still. `database stepped`: PostgreSQL's clock was set, and the service's time goes on as it did. `settle`: it was set long enough ago to
 * be believed. `offMs` is how far the look lies ahead of what was held.
 */
export type TimeVerdict = { verdict: 'agrees' | 'follow' | 'database stepped' | 'settle'; offMs: number };

/** A difference that is no step, in milliseconds: clocks that are kept in line are never so far apart. */
export const TIME_TOLERANCE_MS = 1000;

/** A step of PostgreSQL's clock is believed once it has stood for so long, in milliseconds. */
export const BELIEVED_AFTER_MS = 60_000;

/** Processes look this often, in milliseconds. */
export const LOOK_EVERY_MS = 2000;

/** Other processes that agree with PostgreSQL's clock have said so within this, in milliseconds. */
const OTHERS_AGREED_MS = 2 * LOOK_EVERY_MS;

/** Judges a look against the time that this process has kept since the look before, by a clock that nobody can set. */
export function judgeTimeLook(look: TimeLook, held: HeldTime): TimeVerdict {
  const offMs = look.databaseMs + look.correctionMs - held.serviceMs;
  const isNear = Math.abs(offMs) <= TIME_TOLERANCE_MS + held.uncertainMs;
  if (isNear) return { verdict: isSettled(look) ? 'agrees' : 'settle', offMs };
  if (look.correctionMs !== held.correctionMs) return { verdict: 'follow', offMs };
  // Where somebody else agreed a moment ago, it was our own measure that stood still: a virtual machine was paused.
  const agreedAgoMs = look.databaseMs - look.agreedAtMs;
  const othersAgree = agreedAgoMs >= -TIME_TOLERANCE_MS && agreedAgoMs <= OTHERS_AGREED_MS;
  return { verdict: othersAgree ? 'follow' : 'database stepped', offMs };
}

function isSettled({ databaseMs, correctionMs, correctedAtMs }: TimeLook): boolean {
  return correctionMs === 0 || Math.abs(databaseMs - correctedAtMs) < BELIEVED_AFTER_MS;
}

/** The correction that lets the service's time go on as it did after PostgreSQL's clock was set; none where it was set right again. */
export function correctionAfterStep(correctionMs: number, offMs: number): number {
  const corrected = Math.round(correctionMs - offMs);
  return Math.abs(corrected) <= TIME_TOLERANCE_MS ? 0 : corrected;
}
