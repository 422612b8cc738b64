import type { StoredAnswers } from '../checks/dns/judge.ts';
import type { Cause, Timings, Verdict, Vote } from '../checks/verdict.ts';
import type { AnswerEvidence } from './evidence.ts';

/**
 * The part of a check result that decisions need. `dueAtMs` is its scheduled moment: the identity of a result within
 * its source. `phases` are those to be stored, `answer` is the response of a possible first failure of its source;
 * neither affects decisions.
 */
export type VotedResult = {
  dueAtMs: number;
  checksVersion: number;
  verdict: Vote;
  cause: Cause | string | null;
  reason: string | null;
  httpStatus: number | null;
  latencyMs: number | null;
  phases: Timings | null;
  answer: AnswerEvidence | null;
  /** For dns checks that store them, under the same conditions as timings. */
  dnsAnswers?: StoredAnswers;
};

/** One result of a streak. Its observation is stored elsewhere, because this is read with every result. */
export type StreakResult = {
  atMs: number;
  verdict: Verdict;
  cause: string | null;
  reason: string | null;
  httpStatus: number | null;
  latencyMs: number | null;
};

/**
 * A two-state switch with hysteresis. `tripped` is null until enough results settled it; `streak` contains the results
 * in a row that contradict it so far; `decidedBy` is the streak that set its present state.
 */
export type Gauge = { tripped: boolean | null; streak: readonly StreakResult[]; decidedBy: readonly StreakResult[] };

/**
 * Why a source measured and came to no vote; after a crashed probe there is no cause. `inARow` counts only until the
 * source falls silent.
 */
type Abstention = { cause: string | null; reason: string | null; inARow: number };

/**
 * State of one source of a monitor (D-40): `failing` counts down results, `impaired` down and degraded ones.
 * `newestAtMs` is the due time of the newest result that changed this state; `abstention` is set while its newest
 * result was no vote.
 */
export type SourceState = {
  checksVersion: number;
  newestAtMs: number;
  abstention: Abstention | null;
  failing: Gauge;
  impaired: Gauge;
};

/** Number of results in a row that change a source's vote, and its check interval. */
export type StreakRule = { downAfterFailures: number; upAfterSuccesses: number; intervalSeconds: number };

/**
 * Results more intervals apart than this are not in a row: no check was made in between, so that time is unknown
 * (D-250).
 */
const MAX_INTERVALS_APART = 3;

/** A source keeps its vote through two results without one. With the third in a row it has none any more (D-42). */
const SILENT_AFTER = 3;

const UNSETTLED: Gauge = { tripped: null, streak: [], decidedBy: [] };

/**
 * Applies one result to a source's state and returns the next state. On the steady path that is the same object, and
 * needs no write. A result that is not newer than the state, or that measured older checks, changes nothing. Newer
 * checks clear the streaks but keep the decision (D-43). A no vote counts neither way: streaks stay, unless the gap
 * between two votes becomes too long.
 */
export function stepSource(state: SourceState | null, result: VotedResult, rule: StreakRule): SourceState {
  const before = withChecksVersion(state, result.checksVersion);
  if (state !== null && (before === null || result.dueAtMs <= state.newestAtMs)) return state;
  const base = before ?? {
    checksVersion: result.checksVersion,
    newestAtMs: result.dueAtMs,
    abstention: null,
    failing: UNSETTLED,
    impaired: UNSETTLED,
  };
  if (result.verdict === 'none') {
    const { cause, reason } = result;
    const inARow = Math.min((base.abstention?.inARow ?? 0) + 1, SILENT_AFTER);
    const isKnown = base.abstention?.inARow === inARow && base.abstention.reason === reason;
    return isKnown ? base : { ...base, newestAtMs: result.dueAtMs, abstention: { cause, reason, inARow } };
  }
  const entry = streakResultOf(result, result.verdict);
  const failing = stepGauge(base.failing, { result: entry, bad: result.verdict === 'down' }, rule);
  const impaired = stepGauge(base.impaired, { result: entry, bad: result.verdict !== 'up' }, rule);
  if (base.abstention === null && failing === base.failing && impaired === base.impaired) return base;
  return { checksVersion: base.checksVersion, newestAtMs: result.dueAtMs, abstention: null, failing, impaired };
}

/**
 * Moves results that are ahead of a clock that was set back to now. They keep their order, and the next result is
 * newer.
 */
export function pullBackState(state: SourceState, nowMs: number): SourceState {
  const pulled = (results: readonly StreakResult[]) =>
    results.map((one) => ({ ...one, atMs: Math.min(one.atMs, nowMs) }));
  const gauge = ({ tripped, streak, decidedBy }: Gauge): Gauge => ({
    tripped,
    streak: pulled(streak),
    decidedBy: pulled(decidedBy),
  });
  return {
    ...state,
    newestAtMs: Math.min(state.newestAtMs, nowMs),
    failing: gauge(state.failing),
    impaired: gauge(state.impaired),
  };
}

/**
 * Returns the latest moment at which an event dated `startedAtMs` can have begun, in Unix milliseconds: many clocks
 * have a resolution of whole seconds.
 */
export function latestStartMs(startedAtMs: number): number {
  return startedAtMs % 1000 === 0 ? startedAtMs + 999 : startedAtMs;
}

/** Reports whether a source had no vote three times in a row. */
export function isSilent(state: SourceState | null): boolean {
  return state?.abstention?.inARow === SILENT_AFTER;
}

/** Returns the present vote of a source; null if it has none: unsettled, or silent. */
export function voteOf(state: SourceState | null): Verdict | null {
  return isSilent(state) ? null : lastVoteOf(state);
}

/** Returns the vote of a source or, if it fell silent, its last one; null while it is unsettled. */
export function lastVoteOf(state: SourceState | null): Verdict | null {
  if (state === null) return null;
  if (state.failing.tripped === true) return 'down';
  if (state.failing.tripped === null || state.impaired.tripped === null) return null;
  return state.impaired.tripped ? 'degraded' : 'up';
}

/** The gauges of a source. */
export const GAUGES = ['failing', 'impaired'] as const satisfies readonly (keyof SourceState)[];
export type GaugeName = (typeof GAUGES)[number];

/** Returns the first of the bad results that tripped a gauge, or are about to; null if there is none. */
export function firstBadOf({ tripped, streak, decidedBy }: Gauge): StreakResult | null {
  return (tripped === true ? decidedBy[0] : streak[0]) ?? null;
}

/**
 * Returns the first failure of a source, in the streak behind its bad vote or else in the current one. Null if there is
 * none.
 */
export function firstFailureOf(state: SourceState | null): { gauge: GaugeName; first: StreakResult } | null {
  if (state === null) return null;
  const gauge = state.failing.tripped === true ? 'failing' : 'impaired';
  const first = firstBadOf(state[gauge]);
  return first && { gauge, first };
}

/**
 * Returns the results behind a source's vote: those of the gauge that decides it. If a source changed from down to
 * degraded, those are the degraded ones that ended its being down.
 */
export function decidingResults(state: SourceState | null): readonly StreakResult[] {
  if (state === null) return [];
  const { failing, impaired } = state;
  if (failing.tripped === true) return failing.decidedBy;
  if (impaired.tripped !== true) return impaired.decidedBy;
  const impairedAtMs = impaired.decidedBy.at(-1)?.atMs ?? 0;
  const since = failing.decidedBy.filter(({ verdict, atMs }) => verdict !== 'up' && atMs > impairedAtMs);
  return since.length > 0 ? since : impaired.decidedBy;
}

function stepGauge(gauge: Gauge, observed: { result: StreakResult; bad: boolean }, rule: StreakRule): Gauge {
  if (gauge.tripped === observed.bad) return gauge.streak.length === 0 ? gauge : { ...gauge, streak: [] };
  const streak = [...thinned(continued(gauge.streak, observed.result.atMs, rule), observed.result), observed.result];
  if (streak.length < streakNeeded(gauge, observed.bad, rule)) return { ...gauge, streak };
  // Unsettled gauges count failures only: a single good result settles them.
  return {
    tripped: observed.bad,
    streak: [],
    decidedBy: gauge.tripped === null && !observed.bad ? [observed.result] : streak,
  };
}

/**
 * Removes the reasons that are not needed once this result follows: all but those of the first result and of the newest
 * per verdict. All states of a monitor are read for each of its changes.
 */
function thinned(streak: readonly StreakResult[], next: StreakResult): readonly StreakResult[] {
  return streak.map((one, index) => (index > 0 && one.verdict === next.verdict ? { ...one, reason: null } : one));
}

/** A source that never failed has no recovery to make: its first good result settles it. */
function streakNeeded(gauge: Gauge, bad: boolean, rule: StreakRule): number {
  if (bad) return rule.downAfterFailures;
  return gauge.tripped === null ? 1 : rule.upAfterSuccesses;
}

/** Returns the streak that a result at this time continues: an empty one if the last result is too old. */
function continued(
  streak: readonly StreakResult[],
  atMs: number,
  { intervalSeconds }: StreakRule,
): readonly StreakResult[] {
  const last = streak.at(-1);
  return last !== undefined && atMs - last.atMs > MAX_INTERVALS_APART * intervalSeconds * 1000 ? [] : streak;
}

/** Returns null if the result measured older checks than the state has. */
function withChecksVersion(state: SourceState | null, checksVersion: number): SourceState | null {
  if (state === null || state.checksVersion === checksVersion) return state;
  if (checksVersion < state.checksVersion) return null;
  return {
    ...state,
    checksVersion,
    failing: { ...state.failing, streak: [] },
    impaired: { ...state.impaired, streak: [] },
  };
}

function streakResultOf(result: VotedResult, verdict: Verdict): StreakResult {
  const { dueAtMs, cause, reason, httpStatus, latencyMs } = result;
  return { atMs: dueAtMs, verdict, cause, reason, httpStatus, latencyMs };
}
