import { OFFLINE_AFTER_MS } from '../../core/agents/silence.ts';
import { msUntilTick, type TickMoment } from '../../core/checks/slots.ts';
import type { Verdict } from '../../core/checks/verdict.ts';
import type { Random } from './random.ts';
import type { Script, Period } from './script.ts';

/** One check of a location: due time, verdict and end (Unix milliseconds). */
export type Check = { dueAtMs: number; verdict: Verdict; finishedAtMs: number };

/**
 * A location's position in its script. `strayIn`: the number of checks of this period before the next stray one;
 * infinite if there is none.
 */
export type Location = {
  tick: TickMoment;
  script: Script;
  random: Random;
  answerMs: number;
  timeoutMs: number;
  period: Period | null;
  periodIndex: number;
  strayIn: number;
  nextTickMs: number;
  /** Time of the planned recheck; infinite if there is none. */
  checkMs: number;
  absences: readonly Period[];
  absenceIndex: number;
};

type LocationSetup = Pick<Location, 'tick' | 'script' | 'random' | 'answerMs' | 'timeoutMs'> & { startMs: number };

/** Creates a location before its first check. */
export function createLocation({ startMs, ...setup }: LocationSetup): Location {
  return {
    ...setup,
    period: null,
    periodIndex: -1,
    strayIn: Number.POSITIVE_INFINITY,
    nextTickMs: startMs + msUntilTick(setup.tick, startMs),
    checkMs: Number.POSITIVE_INFINITY,
    absences: setup.script.filter(({ silent }) => silent),
    absenceIndex: 0,
  };
}

/** Returns when the next check is due, a tick or a recheck. */
export function nextCheckMs(location: Location): number {
  return Math.min(location.nextTickMs, location.checkMs);
}

/** Makes the next check; null while the location is away. */
export function makeCheck(location: Location): Check | null {
  const dueAtMs = nextCheckMs(location);
  if (location.checkMs <= location.nextTickMs) location.checkMs = Number.POSITIVE_INFINITY;
  else location.nextTickMs += location.tick.intervalSeconds * 1000;
  const period = enterPeriod(location, dueAtMs);
  if (period.silent) return null;
  const isStray = location.strayIn === 0;
  location.strayIn = isStray ? location.random.failuresBefore(period.strayShare) : location.strayIn - 1;
  const verdict = isStray ? 'down' : period.verdict;
  return { dueAtMs, verdict, finishedAtMs: dueAtMs + (isStray ? location.timeoutMs : usualMs(location, period)) };
}

/**
 * Returns the due time of the next check that may change something: another verdict, a stray one, or the first of a
 * period. Results of `steady` verdicts change nothing.
 */
export function nextChangeMs(location: Location, isSteady: (verdict: Verdict) => boolean): number {
  return Math.min(location.checkMs, endOfRun(location, isSteady));
}

/**
 * Skips all ticks before the next change that are decided by `nowMs`, `decideMs` after their end. Returns the due time
 * of the newest one; null if there was none.
 */
export function passRun(
  location: Location,
  isSteady: (verdict: Verdict) => boolean,
  { nowMs, decideMs }: { nowMs: number; decideMs: number },
): number | null {
  const { period, tick } = location;
  if (period === null) return null;
  const intervalMs = tick.intervalSeconds * 1000;
  const untilMs = Math.min(
    nowMs - (period.silent ? 0 : usualMs(location, period) + decideMs) + 1,
    endOfRun(location, isSteady),
  );
  const ticks = Math.ceil((untilMs - location.nextTickMs) / intervalMs);
  if (ticks <= 0) return null;
  location.nextTickMs += ticks * intervalMs;
  if (period.silent) return null;
  location.strayIn -= ticks;
  return location.nextTickMs - intervalMs;
}

/**
 * Reports whether the location's agent counts as online: it is there, or missed for too short a time (D-56). Must be
 * called in time order.
 */
export function isOnline(location: Location, nowMs: number): boolean {
  let absence = location.absences[location.absenceIndex];
  while (absence !== undefined && absence.endMs <= nowMs) absence = location.absences[(location.absenceIndex += 1)];
  return absence === undefined || nowMs < absence.startMs + OFFLINE_AFTER_MS;
}

/** Returns the first tick whose result may differ from that of the next tick. */
function endOfRun({ period, nextTickMs, strayIn, tick }: Location, isSteady: (verdict: Verdict) => boolean): number {
  if (period === null || nextTickMs >= period.endMs) return nextTickMs;
  const intervalMs = tick.intervalSeconds * 1000;
  const periodEndsMs = nextTickMs + Math.ceil((period.endMs - nextTickMs) / intervalMs) * intervalMs;
  if (period.silent) return periodEndsMs;
  return isSteady(period.verdict) ? Math.min(periodEndsMs, nextTickMs + strayIn * intervalMs) : nextTickMs;
}

function enterPeriod(location: Location, atMs: number): Period {
  let { period } = location;
  while (period === null || (period.endMs <= atMs && location.periodIndex < location.script.length - 1)) {
    period = location.script[(location.periodIndex += 1)] ?? null;
    if (period === null) throw new Error('the script of a location is empty');
  }
  if (period !== location.period) location.strayIn = location.random.failuresBefore(period.strayShare);
  location.period = period;
  return period;
}

function usualMs(location: Location, { verdict, hangs }: Period): number {
  return verdict === 'down' && hangs ? location.timeoutMs : location.answerMs;
}
