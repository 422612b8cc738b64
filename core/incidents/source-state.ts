import type { StoredAnswers } from '../checks/dns/judge.ts';
import type { Cause, Timings, Verdict, Vote } from '../checks/verdict.ts';
import type { AnswerEvidence } from './evidence.ts';

/**
 * A check result as far as deciding needs it. `dueAtMs` is its scheduled moment: the identity of a result within its
 * source. `phases` are those that are stored, `answer` that of a failure which may be its source's first; neither
 * decides anything.
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
  /** Of dns checks that store them, as timings are stored. */
  dnsAnswers?: StoredAnswers;
};

/** One result of a streak. What its check observed is stored apart, for this is read with every result. */
export type StreakResult = {
  atMs: number;
  verdict: Verdict;
  cause: string | null;
  reason: string | null;
  httpStatus: number | null;
  latencyMs: number | null;
};

/**
 * A two-state switch with hysteresis. `tripped` is null until enough results settled it; `streak` holds the results in
 * a row that contradict it so far; `decidedBy` the streak that made it what it is.
 */
export type Gauge = { tripped: boolean | null; streak: readonly StreakResult[]; decidedBy: readonly StreakResult[] };

/**
 * Why a source measured and came to no vote; what a probe that crashed leaves has no cause. `inARow` counts no further
 * than to where the source falls silent.
 */
export type Abstention = { cause: string | null; reason: string | null; inARow: number };

/**
 * Where one source of a monitor stands (D-40): `failing` looks at down results, `impaired` at down and degraded ones.
 * `newestAtMs` is the due time of the newest result that changed this state; `abstention` is there while its newest
 * result was no vote.
 */
export type SourceState = {
  checksVersion: number;
  newestAtMs: number;
  abstention: Abstention | null;
  failing: Gauge;
  impaired: Gauge;
};

/** How many results in a row change what a source says, and how often it checks. */
export type StreakRule = { downAfterFailures: number; upAfterSuccesses: number; intervalSeconds: number };

/**
 * Results further apart than so many intervals are not in a row. No check was made in between, and what happened then
 * is not known (D-250).
 */
const MAX_INTERVALS_APART = 3;

/**
 * A source that votes goes on with its vote for two results that are none. With the third in a row it says nothing any
 * more (D-42).
 */
const SILENT_AFTER = 3;

const UNSETTLED: Gauge = { tripped: null, streak: [], decidedBy: [] };

/**
 * Applies one result to a source's state and returns the next state. On the steady path that is the very same object,
 * and needs no write. A result that is not newer than the state, or that measured older checks, changes nothing. Newer
 * checks clear the streaks but keep what was decided (D-43). A no vote says nothing for or against: streaks stay, until
 * the gap between two votes is too long for one.
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
 * The state of a source whose newest results lie ahead of a time that was set back. They count as of now, in their
 * order, and the next one is newer.
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
 * The latest moment at which what is known to have begun at `startedAtMs` can have begun, Unix milliseconds: many
 * clocks tell whole seconds only.
 */
export function latestStartMs(startedAtMs: number): number {
  return startedAtMs % 1000 === 0 ? startedAtMs + 999 : startedAtMs;
}

/** True for a source that could not tell three times in a row. */
export function isSilent(state: SourceState | null): boolean {
  return state?.abstention?.inARow === SILENT_AFTER;
}

/** What a source says now; null while it says nothing: unsettled, or silent. */
export function voteOf(state: SourceState | null): Verdict | null {
  return isSilent(state) ? null : lastVoteOf(state);
}

/** What a source says or, where it fell silent, said last; null while it is unsettled. */
export function lastVoteOf(state: SourceState | null): Verdict | null {
  if (state === null) return null;
  if (state.failing.tripped === true) return 'down';
  if (state.failing.tripped === null || state.impaired.tripped === null) return null;
  return state.impaired.tripped ? 'degraded' : 'up';
}

/** The gauges of a source. */
export const GAUGES = ['failing', 'impaired'] as const satisfies readonly (keyof SourceState)[];
export type GaugeName = (typeof GAUGES)[number];

/**
 * The bad result with which it began that a gauge is tripped, or on its way to it; null where the gauge knows of none.
 */
export function firstBadOf({ tripped, streak, decidedBy }: Gauge): StreakResult | null {
  return (tripped === true ? decidedBy[0] : streak[0]) ?? null;
}

/**
 * The first failure of a source, in the streak that its bad vote rests on or else in the one under way. Null where it
 * has none.
 */
export function firstFailureOf(state: SourceState | null): { gauge: GaugeName; first: StreakResult } | null {
  if (state === null) return null;
  const gauge = state.failing.tripped === true ? 'failing' : 'impaired';
  const first = firstBadOf(state[gauge]);
  return first && { gauge, first };
}

/**
 * The results that made the source say what it says: those of the gauge that its vote rests on. Where a source that was
 * down is degraded now, those are the degraded ones that ended its being down.
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
  // Unsettled gauges count failures only: the one good result that settles them stands alone.
  return {
    tripped: observed.bad,
    streak: [],
    decidedBy: gauge.tripped === null && !observed.bad ? [observed.result] : streak,
  };
}

/**
 * A streak without the reasons that no reader needs once this result follows: of all but its first result and the
 * newest of each verdict. All states of a monitor are read for each of its changes.
 */
function thinned(streak: readonly StreakResult[], next: StreakResult): readonly StreakResult[] {
  return streak.map((one, index) => (index > 0 && one.verdict === next.verdict ? { ...one, reason: null } : one));
}

/** A source that never failed has nothing to recover from: its first good result settles it. */
function streakNeeded(gauge: Gauge, bad: boolean, rule: StreakRule): number {
  if (bad) return rule.downAfterFailures;
  return gauge.tripped === null ? 1 : rule.upAfterSuccesses;
}

/** The streak that a result at this time goes on with: none where the last one is too long ago. */
function continued(
  streak: readonly StreakResult[],
  atMs: number,
  { intervalSeconds }: StreakRule,
): readonly StreakResult[] {
  const last = streak.at(-1);
  return last !== undefined && atMs - last.atMs > MAX_INTERVALS_APART * intervalSeconds * 1000 ? [] : streak;
}

/** Null when the result measured older checks than the state already saw. */
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
