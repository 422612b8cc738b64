import type { Verdict } from '../checks/verdict.ts';
import type { SourceState, StreakRule } from './source-state.ts';
import type { MonitorState } from './state.ts';

/** Vote of one source (null = none), and whether its newest result is recent enough to count. */
export type SourceVote = { vote: Verdict | null; fresh: boolean };

export type Decision = 'up' | 'degraded' | 'down' | 'unknown';

/** Counts behind a decision: assigned sources, fresh votes, and how many sources must agree. */
export type Tally = { sources: number; votes: number; needed: number; down: number; impaired: number };

/**
 * Decides a monitor's state from its sources (D-41). With n sources, f fresh votes and quorum c: unknown when f <
 * min(c, ceil(n / 2)), so that one surviving location of many never decides alone; otherwise min(c, f) sources must
 * vote down (or down-or-degraded), so that silence never counts as agreement. Without sources it is unknown.
 */
export function decide(votes: readonly SourceVote[], quorum: number): { decision: Decision; tally: Tally } {
  const fresh = votes.filter((source) => source.fresh && source.vote !== null);
  const down = fresh.filter((source) => source.vote === 'down').length;
  const impaired = fresh.filter((source) => source.vote !== 'up').length;
  const needed = Math.min(quorum, fresh.length);
  const tally = { sources: votes.length, votes: fresh.length, needed, down, impaired };
  return { decision: decisionOf(tally, quorum), tally };
}

function decisionOf(tally: Tally, quorum: number): Decision {
  if (tally.votes === 0 || hasTooFewVotes(tally, quorum)) return 'unknown';
  if (tally.down >= tally.needed) return 'down';
  return tally.impaired >= tally.needed ? 'degraded' : 'up';
}

function hasTooFewVotes({ votes, sources }: Pick<Tally, 'votes' | 'sources'>, quorum: number): boolean {
  return votes < Math.min(quorum, Math.ceil(sources / 2));
}

/**
 * Describes the failures that take a monitor down now, given the number of counted locations. It has no full stop:
 * `Down when 2 of 3 locations fail`.
 */
export function describeQuorum(tally: Pick<Tally, 'votes' | 'sources'>, quorum: number): string {
  const { votes, sources } = tally;
  if (sources === 0) return 'No location checks this monitor';
  if (votes === 0) return 'No location is reporting';
  if (hasTooFewVotes(tally, quorum)) return `Status unknown: only ${votes} of ${sources} locations are reporting`;
  if (sources === 1) return 'Down when this location fails';
  const needed = Math.min(quorum, votes);
  const remaining = votes < sources ? 'remaining ' : '';
  if (votes === 1) return 'Down when the 1 remaining location fails';
  if (needed === votes) return `Down when ${votes === 2 ? 'both' : `all ${votes}`} ${remaining}locations fail`;
  const locations = remaining === '' ? `${votes} locations` : `the ${votes} remaining locations`;
  return `Down when ${needed} of ${locations} ${needed === 1 ? 'fails' : 'fail'}`;
}

/** Returns how long a source's newest result counts, in milliseconds: max(3 x interval, interval + 60 s). */
export function freshnessMs(intervalSeconds: number): number {
  return Math.max(3 * intervalSeconds, intervalSeconds + 60) * 1000;
}

/**
 * Returns how long a new or resumed monitor may stay undecided before its owner is notified, in milliseconds: 3
 * intervals + 60 s (D-42). `selectStale` in models/incidents/evaluation.ts has the same in SQL.
 */
export function undecidedMs(intervalSeconds: number): number {
  return (3 * intervalSeconds + 60) * 1000;
}

/** One assigned source: its streaks, and when its newest result, of any verdict, was due (null = none). */
export type Source = {
  agentNo: number;
  name: string;
  online: boolean;
  newestAtMs: number | null;
  state: SourceState | null;
};

/** All data needed to decide a monitor. */
export type DecidedMonitor = StreakRule & {
  state: MonitorState;
  stateSinceMs: number;
  /** True if silence has its own deadline: the source's last vote then holds until the next one. */
  waitsForPings: boolean;
  quorum: number;
  /** When its settings, including its locations, last changed; absent = long ago. */
  updatedAtMs?: number;
  sources: readonly Source[];
  /** Its state before it became unknown through the service's overload; null otherwise. */
  uncheckedFrom?: MonitorState | null;
};

/** Returns true for states that sources decided; false if any vote may change the state. */
export function isDecided(state: MonitorState): boolean {
  return state === 'up' || state === 'degraded' || state === 'down';
}

/**
 * Reports whether a source's vote counts, if it has one (D-41): its agent is online, and its newest result recent
 * enough.
 */
export function isFresh(
  source: Source,
  monitor: Pick<DecidedMonitor, 'intervalSeconds' | 'waitsForPings'>,
  nowMs: number,
): boolean {
  return source.online && isRecent(source, monitor, nowMs);
}

/** Reports whether a source's newest result, of any verdict, is recent enough. */
export function isRecent(
  { newestAtMs }: Source,
  { intervalSeconds, waitsForPings }: Pick<DecidedMonitor, 'intervalSeconds' | 'waitsForPings'>,
  nowMs: number,
): boolean {
  return waitsForPings || (newestAtMs !== null && nowMs - newestAtMs <= freshnessMs(intervalSeconds));
}
