import type { Verdict } from '../checks/verdict.ts';
import { isDecided, isFresh, isRecent, type DecidedMonitor, type Source } from './decided-monitor.ts';
import { decide, freshnessMs, type Decision } from './quorum.ts';
import { lastVoteOf, voteOf } from './source-state.ts';
import type { MonitorState } from './state.ts';

/**
 * When the decision became true in the world (D-43): the start of the streak that completed it, which is the earliest
 * moment at which enough sources were in the streak their vote rests on. Where no result decided but that a source fell
 * away, it is now. Leaving unknown it is the newest result, for silence has no streak; now, where an older one counts
 * again because its agent is back. Never after now, and never before the state that it ends, not even where the clock
 * that dated that one is ahead of ours: transitions in their order are in the order of their moments.
 */
export function changedAt(monitor: DecidedMonitor, decision: Decision, nowMs: number): number {
  const start =
    monitor.state === 'unknown'
      ? newestAfter(monitor.stateSinceMs, votersOf(monitor, nowMs))
      : quorumStart(monitor, decision, nowMs);
  const isKnown = start !== undefined && !isByFallingAway(monitor, decision, nowMs);
  return Math.max(isKnown ? Math.min(start, nowMs) : nowMs, monitor.stateSinceMs);
}

/**
 * Whether a decided monitor turned because a source fell away, and not by what the others saw: it would stay as it is
 * if everyone still said what it said last, and those that decide now had said so already when a source that is left
 * out last reported.
 */
export function isByFallingAway(monitor: DecidedMonitor, decision: Decision, nowMs: number): boolean {
  if (!isDecided(monitor.state)) return false;
  const spoken = monitor.sources.map(({ state }) => ({ vote: lastVoteOf(state), fresh: true }));
  if (decide(spoken, monitor.quorum).decision !== monitor.state) return false;
  const voters = votersOf(monitor, nowMs);
  const fallen = monitor.sources.filter((source) => !voters.includes(source) && lastVoteOf(source.state) !== null);
  const lastReportMs = Math.max(
    0,
    ...fallen.map((source) =>
      isRecent(source, monitor, nowMs) ? (source.newestAtMs ?? 0) : nowMs - freshnessMs(monitor.intervalSeconds),
    ),
  );
  return (quorumStart(monitor, decision, nowMs) ?? 0) <= lastReportMs;
}

function votersOf(monitor: DecidedMonitor, nowMs: number): Source[] {
  return monitor.sources.filter((source) => isFresh(source, monitor, nowMs) && voteOf(source.state) !== null);
}

/** Undefined where no streak explains the decision (unknown; a changed quorum). */
function quorumStart(monitor: DecidedMonitor, decision: Decision, nowMs: number): number | undefined {
  if (decision === 'unknown') return undefined;
  const voters = votersOf(monitor, nowMs);
  const needed = Math.min(monitor.quorum, voters.length);
  const worsens = decision === 'down' || (decision === 'degraded' && monitor.state !== 'down');
  // A quorum of sources makes a state worse; it gets better as soon as so few are left that they are no quorum any
  // more.
  const enough = worsens ? needed : voters.length - needed + 1;
  const supporters = voters.filter((source) => supports(voteOf(source.state), decision, monitor.state));
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
