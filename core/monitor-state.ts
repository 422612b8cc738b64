import { decide, freshnessMs, undecidedMs, type Decision, type SourceVote, type Tally } from './quorum.ts';
import type { SeenFailure } from './seen-failure.ts';
import type { MonitorState } from './state.ts';
import { evidenceFor, firstFailureOf, isSilent, stepSource, voteOf, type Evidence, type GaugeName, type SourceState, type StreakRule, type VotedResult } from './source-state.ts';
import { standingOf, tellUnheard, type SourceStanding } from './source-standing.ts';
import type { Verdict } from './verdict.ts';

/** One assigned source: its streaks, and when its newest result, of whatever verdict, was due (null = none). */
export type Source = { agentNo: number; name: string; online: boolean; newestAtMs: number | null; state: SourceState | null };

/** Everything that deciding needs to know of a monitor. */
export type DecidedMonitor = StreakRule & {
  state: MonitorState;
  stateSinceMs: number;
  /** True where silence has a deadline of its own: then what a source said last holds until it says something else. */
  waitsForPings: boolean;
  quorum: number;
  sources: readonly Source[];
};

/** A change of a monitor's state (D-43), before it has a sequence number. */
export type Change = {
  from: MonitorState;
  to: MonitorState;
  atMs: number;
  detectedAtMs: number;
  cause: string | null;
  reason: string | null;
  evidence: ChangeEvidence;
  failures: SourceFailure[];
};

/** The first failure of a source that is failing, or on its way to it, and the gauge whose streak it began. What it saw is null where only the source's row may know it. */
export type SourceFailure = { agentNo: number; gauge: GaugeName; first: Evidence; seen: SeenFailure | null };

/** What every source said at the moment of a decision, and what made it say so. */
export type ChangeEvidence = { tally: Tally; quorum: number; sources: SourceEvidence[] };

/** One source in it: what it says, whether that counted (`standing`: and why not), and the results behind it. */
export type SourceEvidence = {
  agentNo: number;
  name: string;
  standing: SourceStanding;
  vote: Verdict | null;
  fresh: boolean;
  newestAtMs: number | null;
  decidedBy: readonly Evidence[];
  streak: readonly Evidence[];
};

/** Applies one result of one source; returns the monitor with that source's next state, and the change that follows (null where it stays as it is). */
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
  // A vote that is merely repeated can still end the silence that made the monitor undecided.
  if (state === source.state && isDecided(monitor.state)) return { monitor: next, change: null };
  return withChange(next, reconsider(next, { nowMs, mayBecomeUnknown: false }));
}

/**
 * Decides again from what is stored: after a change of sources or quorum, and when time alone may have made votes stale. That a decided
 * monitor became unknown for lack of results is for a sweep to say that knows that we ourselves were watching all the while
 * (`mayBecomeUnknown`); without that it is said only where agents are gone or offline, or every source reports that it cannot tell.
 */
export function reconsider(monitor: DecidedMonitor, when: { nowMs: number; mayBecomeUnknown: boolean }): Change | null {
  if (monitor.state === 'paused') return null;
  const votes = monitor.sources.map((source) => ({ vote: voteOf(source.state), fresh: isFresh(source, monitor, when.nowMs) }));
  const { decision, tally } = decide(votes, monitor.quorum);
  if (decision === monitor.state) return null;
  if (decision === 'unknown' && !mayBeUnknown(monitor, votes, when)) return null;
  const { cause, reason } = explain(monitor, { decision, tally }, when.nowMs);
  return {
    from: monitor.state,
    to: decision,
    atMs: changedAt(monitor, decision, when.nowMs),
    detectedAtMs: when.nowMs,
    cause,
    reason,
    evidence: {
      tally,
      quorum: monitor.quorum,
      sources: monitor.sources.map((source, index) => ({
        agentNo: source.agentNo,
        name: source.name,
        standing: standingOf(source, isRecent(source, monitor, when.nowMs)),
        vote: votes[index]?.vote ?? null,
        fresh: votes[index]?.fresh ?? false,
        newestAtMs: source.newestAtMs,
        decidedBy: evidenceFor(source.state),
        streak: source.state?.failing.streak ?? [],
      })),
    },
    failures: failuresOf(monitor.sources),
  };
}

/** The first failures of those sources that are failing, or on their way to it. */
export function failuresOf(sources: readonly Source[]): SourceFailure[] {
  return sources.flatMap(({ agentNo, state }) => {
    const found = firstFailureOf(state);
    return found === null ? [] : [{ agentNo, gauge: found.gauge, first: found.evidence, seen: null }];
  });
}

/** The monitor after a change; the change is passed through. */
export function withChange(monitor: DecidedMonitor, change: Change | null): { monitor: DecidedMonitor; change: Change | null } {
  if (change === null) return { monitor, change };
  return { monitor: { ...monitor, state: change.to, stateSinceMs: change.atMs }, change };
}

/** The names of the places that say down at a change, or down or degraded where nobody says down; sorted. */
export function sourcesAgainst(evidence: ChangeEvidence): string[] {
  const counted = evidence.sources.filter((source) => source.fresh);
  const down = counted.filter((source) => source.vote === 'down');
  const against = down.length > 0 ? down : counted.filter((source) => source.vote === 'degraded');
  return against.map((source) => source.name).toSorted();
}

/** The names of the places that had no fresh vote at a change, whatever the reason (D-41); sorted. */
export function sourcesSilent(evidence: ChangeEvidence): string[] {
  return evidence.sources.filter((source) => !source.fresh || source.vote === null).map((source) => source.name).toSorted();
}

/** True for states that sources decided; false where any vote may change the state. */
export function isDecided(state: MonitorState): boolean {
  return state === 'up' || state === 'degraded' || state === 'down';
}

/** Whether a source's vote counts, where it has one (D-41): its agent is online, and its newest result recent enough. */
export function isFresh(source: Source, monitor: Pick<DecidedMonitor, 'intervalSeconds' | 'waitsForPings'>, nowMs: number): boolean {
  return source.online && isRecent(source, monitor, nowMs);
}

function isRecent({ newestAtMs }: Source, { intervalSeconds, waitsForPings }: Pick<DecidedMonitor, 'intervalSeconds' | 'waitsForPings'>, nowMs: number): boolean {
  return waitsForPings || (newestAtMs !== null && nowMs - newestAtMs <= freshnessMs(intervalSeconds));
}

function mayBeUnknown(monitor: DecidedMonitor, votes: readonly SourceVote[], when: { nowMs: number; mayBecomeUnknown: boolean }): boolean {
  if (when.mayBecomeUnknown) return isSilentForLong(monitor, when.nowMs);
  if (isDecided(monitor.state) && isLeftAlone(monitor)) return true;
  const isHeard = monitor.sources.every((source, index) => votes[index]?.fresh === true && (votes[index].vote !== null || isSilent(source.state)));
  return isHeard && monitor.sources.length > 0 && isDecided(monitor.state);
}

/** Whether too few votes would be left if everyone who is online and able had one: an agent's silence was measured when it was called offline, and needs no patience here. */
function isLeftAlone(monitor: DecidedMonitor): boolean {
  const votes = monitor.sources.map(({ online, state }) => ({ vote: isSilent(state) ? null : (voteOf(state) ?? 'up'), fresh: online }));
  return decide(votes, monitor.quorum).decision === 'unknown';
}

/** A monitor that never got decided has its own patience; one that was decided has spent it in its sources' freshness. */
function isSilentForLong(monitor: DecidedMonitor, nowMs: number): boolean {
  return monitor.state !== 'pending' || nowMs - monitor.stateSinceMs >= undecidedMs(monitor.intervalSeconds);
}

/**
 * When the decision became true in the world (D-43): the start of the streak that completed it, which is the earliest moment at which
 * enough sources were in the streak their vote rests on. Leaving unknown it is the newest result, for silence has no streak; now, where
 * an older one counts again because its agent is back. Never after now, and never before the state that it ends, not even where the
 * clock that dated that one is ahead of ours: transitions in their order are in the order of their moments.
 */
function changedAt(monitor: DecidedMonitor, decision: Decision, nowMs: number): number {
  const fresh = monitor.sources.filter((source) => isFresh(source, monitor, nowMs) && voteOf(source.state) !== null);
  const start = monitor.state === 'unknown' ? newestAfter(monitor.stateSinceMs, fresh) : quorumStart(monitor, decision, fresh);
  return Math.max(Math.min(start ?? nowMs, nowMs), monitor.stateSinceMs);
}

/** Undefined where no streak explains the decision (unknown; a changed quorum). */
function quorumStart(monitor: DecidedMonitor, decision: Decision, fresh: readonly Source[]): number | undefined {
  if (decision === 'unknown') return undefined;
  const needed = Math.min(monitor.quorum, fresh.length);
  const worsens = decision === 'down' || (decision === 'degraded' && monitor.state !== 'down');
  // A quorum of sources makes a state worse; it gets better as soon as so few are left that they are no quorum any more.
  const enough = worsens ? needed : fresh.length - needed + 1;
  const supporters = fresh.filter((source) => supports(voteOf(source.state), decision, monitor.state));
  return supporters.map(voteStart).toSorted((a, b) => a - b)[Math.min(enough, supporters.length) - 1];
}

function supports(vote: Verdict | null, decision: Decision, from: MonitorState): boolean {
  if (decision === 'degraded') return from === 'down' ? vote !== 'down' : vote !== 'up';
  return vote === decision;
}

/** When the results began that a source's vote rests on, Unix milliseconds. */
function voteStart(source: Source): number {
  const failing = source.state?.failing;
  if (failing?.tripped === true) return failing.decidedBy[0]?.atMs ?? 0;
  return Math.max(failing?.decidedBy[0]?.atMs ?? 0, source.state?.impaired.decidedBy[0]?.atMs ?? 0);
}

function newestAfter(sinceMs: number, sources: readonly Source[]): number | undefined {
  const newestAtMs = Math.max(0, ...sources.map((source) => source.newestAtMs ?? 0));
  return newestAtMs > sinceMs ? newestAtMs : undefined;
}

function explain(monitor: DecidedMonitor, { decision, tally }: { decision: Decision; tally: Tally }, nowMs: number): { cause: string | null; reason: string | null } {
  if (decision === 'up') return { cause: null, reason: monitor.state === 'pending' ? 'Working' : 'Working again' };
  if (decision === 'unknown') return explainUnknown(monitor, tally, nowMs);
  const evidence = monitor.sources
    .filter((source) => isFresh(source, monitor, nowMs) && isAgainst(voteOf(source.state), decision))
    .flatMap((source) => evidenceFor(source.state).slice(-1))
    .filter((result) => decision === 'degraded' || result.verdict === 'down')
    .toSorted((a, b) => b.atMs - a.atMs)[0];
  const agreeing = decision === 'down' ? tally.down : tally.impaired;
  const places = tally.sources > 1 ? ` (seen from ${agreeing} of ${tally.sources} places)` : '';
  return { cause: evidence?.cause ?? null, reason: `${evidence?.reason ?? `Reported ${decision}`}${places}` };
}

/** Whether a vote speaks for a bad decision; a source that is down also speaks for degraded. */
function isAgainst(vote: Verdict | null, decision: Decision): boolean {
  return vote === 'down' || (decision === 'degraded' && vote === 'degraded');
}

/** Where a source came to no vote, what it says of that tells more than that votes are missing. */
function explainUnknown(monitor: DecidedMonitor, tally: Tally, nowMs: number): { cause: string | null; reason: string } {
  const fresh = monitor.sources.filter((source) => isFresh(source, monitor, nowMs));
  const [abstention] = fresh.flatMap((source) => source.state?.abstention ?? []);
  if (tally.votes > 0 || abstention === undefined) return { cause: null, reason: unknownReason(monitor, tally, nowMs) };
  return { cause: abstention.cause, reason: abstention.reason ?? unknownReason(monitor, tally, nowMs) };
}

function unknownReason(monitor: DecidedMonitor, tally: Tally, nowMs: number): string {
  if (tally.sources === 0) return 'No location watches this monitor';
  const unheard = tellUnheard(monitor.sources.map((source) => ({ name: source.name, standing: standingOf(source, isRecent(source, monitor, nowMs)) })));
  if (tally.votes === 0) return `No location has reported in time: ${unheard}`;
  return `Only ${tally.votes} of ${tally.sources} locations have reported in time: ${unheard}`;
}
