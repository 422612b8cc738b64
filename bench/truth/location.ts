import { OFFLINE_AFTER_MS } from '../../core/agent/silence.ts';
import { msUntilTick, type TickMoment } from '../../core/slots.ts';
import type { Verdict } from '../../core/verdict.ts';
import type { Random } from './random.ts';
import type { Script, Spell } from './script.ts';

/** One check of a location: when it was due, what it said, and when it had come to that (Unix milliseconds). */
export type Check = { dueAtMs: number; verdict: Verdict; finishedAtMs: number };

/**
 * Where a location stands in its script. `strayIn`: so many checks of this spell come before the next stray one;
 * infinite where none does.
 */
export type Location = {
  tick: TickMoment;
  script: Script;
  random: Random;
  answerMs: number;
  timeoutMs: number;
  spell: Spell | null;
  spellIndex: number;
  strayIn: number;
  nextTickMs: number;
  /** The recheck that is planned; infinite where none is. */
  checkMs: number;
  absences: readonly Spell[];
  absenceIndex: number;
};

type LocationSetup = Pick<Location, 'tick' | 'script' | 'random' | 'answerMs' | 'timeoutMs'> & { startMs: number };

/** A location before its first check. */
export function createLocation({ startMs, ...setup }: LocationSetup): Location {
  return {
    ...setup,
    spell: null,
    spellIndex: -1,
    strayIn: Number.POSITIVE_INFINITY,
    nextTickMs: startMs + msUntilTick(setup.tick, startMs),
    checkMs: Number.POSITIVE_INFINITY,
    absences: setup.script.filter(({ silent }) => silent),
    absenceIndex: 0,
  };
}

/** When the next check is due, a tick or a recheck. */
export function nextCheckMs(location: Location): number {
  return Math.min(location.nextTickMs, location.checkMs);
}

/** Makes the next check; null where the location is away then. */
export function makeCheck(location: Location): Check | null {
  const dueAtMs = nextCheckMs(location);
  if (location.checkMs <= location.nextTickMs) location.checkMs = Number.POSITIVE_INFINITY;
  else location.nextTickMs += location.tick.intervalSeconds * 1000;
  const spell = enterSpell(location, dueAtMs);
  if (spell.silent) return null;
  const isStray = location.strayIn === 0;
  location.strayIn = isStray ? location.random.failuresBefore(spell.strayShare) : location.strayIn - 1;
  const verdict = isStray ? 'down' : spell.verdict;
  return { dueAtMs, verdict, finishedAtMs: dueAtMs + (isStray ? location.timeoutMs : usualMs(location, spell)) };
}

/**
 * When the next check is due that needs a check of its own, given that results of `steady` verdicts change nothing: one
 * of another verdict, a stray one, or the first of a spell.
 */
export function nextChangeMs(location: Location, isSteady: (verdict: Verdict) => boolean): number {
  return Math.min(location.checkMs, endOfRun(location, isSteady));
}

/**
 * Makes, all at once, the ticks that come before the next change and have finished and been decided by `nowMs`,
 * `decideMs` after their end; returns when the newest of them was due, null where there was none.
 */
export function passRun(
  location: Location,
  isSteady: (verdict: Verdict) => boolean,
  { nowMs, decideMs }: { nowMs: number; decideMs: number },
): number | null {
  const { spell, tick } = location;
  if (spell === null) return null;
  const intervalMs = tick.intervalSeconds * 1000;
  const untilMs = Math.min(
    nowMs - (spell.silent ? 0 : usualMs(location, spell) + decideMs) + 1,
    endOfRun(location, isSteady),
  );
  const ticks = Math.ceil((untilMs - location.nextTickMs) / intervalMs);
  if (ticks <= 0) return null;
  location.nextTickMs += ticks * intervalMs;
  if (spell.silent) return null;
  location.strayIn -= ticks;
  return location.nextTickMs - intervalMs;
}

/**
 * Whether the location's agent counts as online: it is there, or has not been missed for long enough (D-56). Ask in the
 * order of time.
 */
export function isOnline(location: Location, nowMs: number): boolean {
  let absence = location.absences[location.absenceIndex];
  while (absence !== undefined && absence.endMs <= nowMs) absence = location.absences[(location.absenceIndex += 1)];
  return absence === undefined || nowMs < absence.startMs + OFFLINE_AFTER_MS;
}

/** The first tick after those that are all like the next one. */
function endOfRun({ spell, nextTickMs, strayIn, tick }: Location, isSteady: (verdict: Verdict) => boolean): number {
  if (spell === null || nextTickMs >= spell.endMs) return nextTickMs;
  const intervalMs = tick.intervalSeconds * 1000;
  const spellEndsMs = nextTickMs + Math.ceil((spell.endMs - nextTickMs) / intervalMs) * intervalMs;
  if (spell.silent) return spellEndsMs;
  return isSteady(spell.verdict) ? Math.min(spellEndsMs, nextTickMs + strayIn * intervalMs) : nextTickMs;
}

function enterSpell(location: Location, atMs: number): Spell {
  let { spell } = location;
  while (spell === null || (spell.endMs <= atMs && location.spellIndex < location.script.length - 1)) {
    spell = location.script[(location.spellIndex += 1)] ?? null;
    if (spell === null) throw new Error('the script of a location is empty');
  }
  if (spell !== location.spell) location.strayIn = location.random.failuresBefore(spell.strayShare);
  location.spell = spell;
  return spell;
}

function usualMs(location: Location, { verdict, hangs }: Spell): number {
  return verdict === 'down' && hangs ? location.timeoutMs : location.answerMs;
}
