import type { Verdict } from '../checks/verdict.ts';
import { findSourceStatus } from '../monitors/source-status.ts';
import {
  changedAt,
  explain,
  explainOverload,
  type Change,
  type SourceFailure,
  type SourceInDecision,
} from './change.ts';
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
 * Applies one result of one source. Returns the monitor with that source's next state, and the resulting change (null
 * if there is none).
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
  // An edit may have decided the change already, before this result arrived.
  const before = change === null ? null : reconsider(monitor, { nowMs, silenceCounts: false });
  return withChange(next, change !== null && before?.to === change.to ? { ...change, atMs: before.atMs } : change);
}

/**
 * Reports whether a merely repeated vote may end a monitor's state. It can end the silence that made the state
 * undecided, or show that the target works while the sources that reported its failure are silent.
 */
export function mayEndState(state: MonitorState, { verdict }: Pick<VotedResult, 'verdict'>): boolean {
  return !isDecided(state) || (verdict !== 'none' && isWorse(state, verdict));
}

/**
 * When a monitor is decided, and whether silence counts. `overloaded` names the locations that are silent because they
 * had more checks than they could run. `isByResult`: a result arrived; otherwise time passed, or settings changed.
 */
type Occasion = {
  nowMs: number;
  silenceCounts: boolean;
  overloaded?: readonly string[];
  isByResult?: boolean;
};

/**
 * Decides again from stored data: after a change of sources or quorum, and when time alone may have made votes stale.
 * Only a sweep after uninterrupted operation (`silenceCounts`) may improve a decided monitor, or make it unknown, for
 * lack of results. Otherwise that takes agents that are gone or offline, or sources that report inconclusive checks. If
 * overloaded locations are silent, the monitor becomes unknown through the service's own fault, without an alert; once
 * that fault is over, channels are notified as of any other silence.
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
  const isUnproven = decision === 'unknown' && !mayBeUnknown(monitor, votes, when);
  const isOurs = isUnproven && overloaded.length > 0 && isSilentForLong(monitor, when.nowMs);
  if (isUnproven && !isOurs) return null;
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

/** Returns the sources of a monitor as counted in a decision, for its transition. */
function sourcesAsCounted(monitor: DecidedMonitor, votes: readonly SourceVote[], nowMs: number): SourceInDecision[] {
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

/** Reports whether a monitor is unknown through the service's own overload. */
function isUnchecked({ state, uncheckedFrom = null }: DecidedMonitor): boolean {
  return state === 'unknown' && uncheckedFrom !== null;
}

/** Returns the first failures of the sources that are failing, or on their way to it. */
export function failuresOf(sources: readonly Source[]): SourceFailure[] {
  return sources.flatMap(({ agentNo, state }) => {
    const found = firstFailureOf(state);
    return found === null ? [] : [{ agentNo, gauge: found.gauge, first: found.first, evidence: null }];
  });
}

/** Returns the monitor after a change, with the change itself. */
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
 * Reports whether too few votes would be left even if all able online sources voted. An agent's silence was measured
 * before it was marked offline, and is not waited for again.
 */
function isLeftAlone(monitor: DecidedMonitor): boolean {
  const votes = monitor.sources.map(({ online, state }) => ({
    vote: isSilent(state) ? null : (voteOf(state) ?? 'up'),
    fresh: online,
  }));
  return decide(votes, monitor.quorum).decision === 'unknown';
}

const BADNESS: Partial<Record<MonitorState, number>> = { up: 0, degraded: 1, down: 2 };

/** Reports whether state `a` is worse than state `b`; false if votes do not decide one of them. */
export function isWorse(a: MonitorState, b: MonitorState): boolean {
  const [ofA, ofB] = [BADNESS[a], BADNESS[b]];
  return ofA !== undefined && ofB !== undefined && ofA > ofB;
}

/**
 * Reports whether sources are better, and not only silent. A source that has begun to fail again does not prove a
 * recovery, nor does one whose newest result is older than the state to be ended: its results may be late. While the
 * sources that reported the failure are silent or gone, neither does one whose newest result was no vote.
 */
function mayBeBetter(monitor: DecidedMonitor, votes: readonly SourceVote[], when: { silenceCounts: boolean }): boolean {
  const gauge = monitor.state === 'down' ? 'failing' : 'impaired';
  const isBetter = (those: readonly SourceVote[]): boolean =>
    isWorse(monitor.state, decide(those, monitor.quorum).decision);
  const spoken = monitor.sources.map(({ state }) => ({ vote: lastVoteOf(state), fresh: true }));
  const isBySilence = !isBetter(spoken);
  const isWitness = ({ state, newestAtMs }: Source, vote: Verdict): boolean => {
    if (isTurning(state?.[gauge])) return false;
    const isOld = (newestAtMs ?? 0) <= monitor.stateSinceMs;
    if (isBySilence) return !isOld && state?.abstention === null;
    return !isOld || !isWorse(monitor.state, vote);
  };
  const sure = monitor.sources.map((source, index) => {
    const vote = votes[index]?.vote ?? null;
    return { vote: vote !== null && isWitness(source, vote) ? vote : null, fresh: votes[index]?.fresh === true };
  });
  const lastVotes = monitor.sources.map(({ online, state }) => ({ vote: voteOf(state), fresh: online }));
  return isBetter(sure) && (when.silenceCounts || isBetter(lastVotes));
}

/** Reports whether a good gauge has begun to count bad results. */
function isTurning(gauge: Gauge | undefined): boolean {
  return gauge?.tripped === false && gauge.streak.length > 0;
}

/** An undecided monitor has a patience of its own; for a decided one it is part of its sources' freshness. */
function isSilentForLong(monitor: DecidedMonitor, nowMs: number): boolean {
  return monitor.state !== 'pending' || nowMs - monitor.stateSinceMs >= undecidedMs(monitor.intervalSeconds);
}
