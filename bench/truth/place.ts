import { OFFLINE_AFTER_MS } from '../../core/agent/silence.ts';
import { msUntilTick, type TickMoment } from '../../core/slots.ts';
import type { Verdict } from '../../core/verdict.ts';
import type { Random } from './random.ts';
import type { Script, Spell } from './script.ts';

/** One check of a place: when it was due, what it said, and when it had come to that (Unix milliseconds). */
export type Check = { dueAtMs: number; verdict: Verdict; finishedAtMs: number };

/**
 * Where a place stands in its script. `strayIn`: so many checks of this spell come before the next stray one; infinite
 * where none does.
 */
export type Place = {
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

type PlaceSetup = Pick<Place, 'tick' | 'script' | 'random' | 'answerMs' | 'timeoutMs'> & { startMs: number };

/** A place before its first check. */
export function createPlace({ startMs, ...setup }: PlaceSetup): Place {
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
export function nextCheckMs(place: Place): number {
  return Math.min(place.nextTickMs, place.checkMs);
}

/** Makes the next check; null where the place is away then. */
export function makeCheck(place: Place): Check | null {
  const dueAtMs = nextCheckMs(place);
  if (place.checkMs <= place.nextTickMs) place.checkMs = Number.POSITIVE_INFINITY;
  else place.nextTickMs += place.tick.intervalSeconds * 1000;
  const spell = enterSpell(place, dueAtMs);
  if (spell.silent) return null;
  const isStray = place.strayIn === 0;
  place.strayIn = isStray ? place.random.failuresBefore(spell.strayShare) : place.strayIn - 1;
  const verdict = isStray ? 'down' : spell.verdict;
  return { dueAtMs, verdict, finishedAtMs: dueAtMs + (isStray ? place.timeoutMs : usualMs(place, spell)) };
}

/**
 * When the next check is due that needs a check of its own, given that results of `steady` verdicts change nothing: one
 * of another verdict, a stray one, or the first of a spell.
 */
export function nextNewsMs(place: Place, isSteady: (verdict: Verdict) => boolean): number {
  return Math.min(place.checkMs, endOfRun(place, isSteady));
}

/**
 * Makes, all at once, the ticks that come before the next news and have finished and been decided by `nowMs`,
 * `decideMs` after their end; returns when the newest of them was due, null where there was none.
 */
export function passRun(
  place: Place,
  isSteady: (verdict: Verdict) => boolean,
  { nowMs, decideMs }: { nowMs: number; decideMs: number },
): number | null {
  const { spell, tick } = place;
  if (spell === null) return null;
  const intervalMs = tick.intervalSeconds * 1000;
  const untilMs = Math.min(
    nowMs - (spell.silent ? 0 : usualMs(place, spell) + decideMs) + 1,
    endOfRun(place, isSteady),
  );
  const ticks = Math.ceil((untilMs - place.nextTickMs) / intervalMs);
  if (ticks <= 0) return null;
  place.nextTickMs += ticks * intervalMs;
  if (spell.silent) return null;
  place.strayIn -= ticks;
  return place.nextTickMs - intervalMs;
}

/**
 * Whether the place's agent counts as online: it is there, or has not been missed for long enough (D-56). Ask in the
 * order of time.
 */
export function isOnline(place: Place, nowMs: number): boolean {
  let absence = place.absences[place.absenceIndex];
  while (absence !== undefined && absence.endMs <= nowMs) absence = place.absences[(place.absenceIndex += 1)];
  return absence === undefined || nowMs < absence.startMs + OFFLINE_AFTER_MS;
}

/** The first tick after those that are all like the next one. */
function endOfRun({ spell, nextTickMs, strayIn, tick }: Place, isSteady: (verdict: Verdict) => boolean): number {
  if (spell === null || nextTickMs >= spell.endMs) return nextTickMs;
  const intervalMs = tick.intervalSeconds * 1000;
  const spellEndsMs = nextTickMs + Math.ceil((spell.endMs - nextTickMs) / intervalMs) * intervalMs;
  if (spell.silent) return spellEndsMs;
  return isSteady(spell.verdict) ? Math.min(spellEndsMs, nextTickMs + strayIn * intervalMs) : nextTickMs;
}

function enterSpell(place: Place, atMs: number): Spell {
  let { spell } = place;
  while (spell === null || (spell.endMs <= atMs && place.spellIndex < place.script.length - 1)) {
    spell = place.script[(place.spellIndex += 1)] ?? null;
    if (spell === null) throw new Error('the script of a place is empty');
  }
  if (spell !== place.spell) place.strayIn = place.random.failuresBefore(spell.strayShare);
  place.spell = spell;
  return spell;
}

function usualMs(place: Place, { verdict, hangs }: Spell): number {
  return verdict === 'down' && hangs ? place.timeoutMs : place.answerMs;
}
