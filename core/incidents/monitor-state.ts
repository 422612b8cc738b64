import { findSourceStatus } from '../monitors/source-status.ts';
import { changedAt, explain, explainOverload, type Change, type SourceFailure } from './change.ts';
import {
  decide,
  isDecided,
  isFresh,
  isRecent,
  undecidedMs,
  type DecidedMonitor,
  type Source,
  type SourceVote,
} from './quorum.ts';
import {
  decidingResults,
  firstFailureOf,
  isSilent,
  lastVoteOf,
  stepSource,
  voteOf,
  type Gauge,
  type VotedResult,
} from './source-state.ts';
import type { MonitorState } from './state.ts';

/**
 * Applies one result of one source. Returns the monitor with that source's next state, and the change that follows
 * (null where it stays as it is).
 */
export function applyResult(
  monitor: DecidedMonitor,
  result: VotedResult & { agentNo: number },
  nowMs: number,
): { monitor: DecidedMonitor; change: Change | null } {
  const source = monitor.sources.find((candidate) => candidate.agentNo === result.agentNo);
  if (source === undefined) return { monitor, change: null };
  const state = stepSource(source.state, result, monitor);
  const newestAtMs = Math.max(result.dueAtMs, source.newestAtMs ?? 0);
  const sources = monitor.sources.map((other) => (other === source ? { ...source, state, newestAtMs } : other));
  const next = { ...monitor, sources };
  if (state === source.state && !mayEndState(monitor.state, result)) return { monitor: next, change: null };
  const change = reconsider(next, { nowMs, silenceCounts: false, isByResult: true });
  // An edit may have decided it already, before this result came.
  const before = change === null ? null : reconsider(monitor, { nowMs, silenceCounts: false });
  return withChange(next, change !== null && before?.to === change.to ? { ...change, atMs: before.atMs } : change);
}

/**
 * Whether a vote that is merely repeated may end a monitor's state. It can end the silence that made it undecided, or
 * bear witness that the target works while those that saw it fail are silent.
 */
export function mayEndState(state: MonitorState, { verdict }: Pick<VotedResult, 'verdict'>): boolean {
  return !isDecided(state) || (verdict !== 'none' && isWorse(state, verdict));
}

/**
 * When a monitor is decided, and what silence is worth then. `overloaded` names the locations that are silent because
 * they had more checks than they could run. `isByResult`: a result came; otherwise time went by, or settings changed.
 */
export type Occasion = {
  nowMs: number;
  silenceCounts: boolean;
  overloaded?: readonly string[];
  isByResult?: boolean;
};

/**
 * Decides again from what is stored: after a change of sources or quorum, and when time alone may have made votes
 * stale. Only a sweep that knows that we watched throughout (`silenceCounts`) may call a decided monitor better, or
 * unknown, for lack of results. Otherwise that takes agents that are gone or offline, or sources that report that they
 * cannot tell. Where overloaded locations are silent, the monitor becomes unknown as our own fault, without an alert;
 * once the fault is no longer ours, channels are notified as of any other silence.
 */
export function reconsider(monitor: DecidedMonitor, when: Occasion): Change | null {
  if (monitor.state === 'paused') return null;
  const votes = monitor.sources.map((source) => ({
    vote: voteOf(source.state),
    fresh: isFresh(source, monitor, when.nowMs),
  }));
  const { decision, tally } = decide(votes, monitor.quorum);
  if (decision === monitor.state && !(decision === 'unknown' && isUnchecked(monitor) && when.silenceCounts))
    return null;
  const overloaded = when.overloaded ?? [];
  const isOurs =
    decision === 'unknown' &&
    overloaded.length > 0 &&
    !mayBeUnknown(monitor, votes, when) &&
    isSilentForLong(monitor, when.nowMs);
  if (decision === 'unknown' && !isOurs && !mayBeUnknown(monitor, votes, when)) return null;
  if (isWorse(monitor.state, decision) && !mayBeBetter(monitor, votes, when)) return null;
  const { cause, reason } = isOurs ? explainOverload(overloaded) : explain(monitor, { decision, tally }, when.nowMs);
  return {
    from: monitor.state,
    to: decision,
    atMs: changedAt(monitor, decision, when),
    detectedAtMs: when.nowMs,
    cause,
    reason,
    evidence: { tally, quorum: monitor.quorum, sources: sourcesAsCounted(monitor, votes, when.nowMs) },
    failures: failuresOf(monitor.sources),
    ...(isOurs && { isOurs }),
  };
}

/** The sources of a monitor as they stood when it was decided, which its transition keeps. */
function sourcesAsCounted(
  monitor: DecidedMonitor,
  votes: readonly SourceVote[],
  nowMs: number,
): Change['evidence']['sources'] {
  return monitor.sources.map((source, index) => ({
    agentNo: source.agentNo,
    name: source.name,
    standing: findSourceStatus(source, isRecent(source, monitor, nowMs)),
    vote: votes[index]?.vote ?? null,
    fresh: votes[index]?.fresh ?? false,
    newestAtMs: source.newestAtMs,
    decidedBy: decidingResults(source.state),
    streak: source.state?.failing.streak ?? [],
  }));
}

/** Whether a monitor is unknown, and through our overload. */
function isUnchecked({ state, uncheckedFrom = null }: DecidedMonitor): boolean {
  return state === 'unknown' && uncheckedFrom !== null;
}

/** The first failures of those sources that are failing, or on their way to it. */
export function failuresOf(sources: readonly Source[]): SourceFailure[] {
  return sources.flatMap(({ agentNo, state }) => {
    const found = firstFailureOf(state);
    return found === null ? [] : [{ agentNo, gauge: found.gauge, first: found.first, evidence: null }];
  });
}

/** The monitor after a change; the change is passed through. */
export function withChange(
  monitor: DecidedMonitor,
  change: Change | null,
): { monitor: DecidedMonitor; change: Change | null } {
  if (change === null) return { monitor, change };
  return { monitor: { ...monitor, state: change.to, stateSinceMs: change.atMs, uncheckedFrom: null }, change };
}

function mayBeUnknown(
  monitor: DecidedMonitor,
  votes: readonly SourceVote[],
  when: { nowMs: number; silenceCounts: boolean },
): boolean {
  if (when.silenceCounts) return isSilentForLong(monitor, when.nowMs);
  if (isDecided(monitor.state) && isLeftAlone(monitor)) return true;
  const isEveryVoteKnown = monitor.sources.every(
    (source, index) => votes[index]?.fresh === true && (votes[index].vote !== null || isSilent(source.state)),
  );
  return isEveryVoteKnown && monitor.sources.length > 0 && isDecided(monitor.state);
}

/**
 * Whether too few votes would be left if everyone who is online and able had one. An agent's silence was measured when
 * it was called offline, and needs no patience here.
 */
function isLeftAlone(monitor: DecidedMonitor): boolean {
  const votes = monitor.sources.map(({ online, state }) => ({
    vote: isSilent(state) ? null : (voteOf(state) ?? 'up'),
    fresh: online,
  }));
  return decide(votes, monitor.quorum).decision === 'unknown';
}

const BADNESS: Partial<Record<MonitorState, number>> = { up: 0, degraded: 1, down: 2 };

/** Whether state `a` is worse than state `b`; false where either is none that votes decide. */
export function isWorse(a: MonitorState, b: MonitorState): boolean {
  const [ofA, ofB] = [BADNESS[a], BADNESS[b]];
  return ofA !== undefined && ofB !== undefined && ofA > ofB;
}

/**
 * Whether sources are better, and not only silent. A source that has begun to fail again is no witness of a recovery.
 * Where those that saw the target fail are silent or gone, neither is one whose newest result came to no vote, or is
 * older than the state that it would end.
 */
function mayBeBetter(monitor: DecidedMonitor, votes: readonly SourceVote[], when: { silenceCounts: boolean }): boolean {
  const gauge = monitor.state === 'down' ? 'failing' : 'impaired';
  const isBetter = (those: readonly SourceVote[]): boolean =>
    isWorse(monitor.state, decide(those, monitor.quorum).decision);
  const spoken = monitor.sources.map(({ state }) => ({ vote: lastVoteOf(state), fresh: true }));
  const isBySilence = !isBetter(spoken);
  const isWitness = ({ state, newestAtMs }: Source): boolean =>
    !isTurning(state?.[gauge]) &&
    (!isBySilence || (state?.abstention === null && (newestAtMs ?? 0) > monitor.stateSinceMs));
  const sure = monitor.sources.map((source, index) => ({
    vote: isWitness(source) ? (votes[index]?.vote ?? null) : null,
    fresh: votes[index]?.fresh === true,
  }));
  const lastVotes = monitor.sources.map(({ online, state }) => ({ vote: voteOf(state), fresh: online }));
  return isBetter(sure) && (when.silenceCounts || isBetter(lastVotes));
}

/** True for a good gauge that has begun to count bad results. */
function isTurning(gauge: Gauge | undefined): boolean {
  return gauge?.tripped === false && gauge.streak.length > 0;
}

/**
 * A monitor that never got decided has its own patience; one that was decided has spent it in its sources' freshness.
 */
function isSilentForLong(monitor: DecidedMonitor, nowMs: number): boolean {
  return monitor.state !== 'pending' || nowMs - monitor.stateSinceMs >= undecidedMs(monitor.intervalSeconds);
}
