import { freshnessMs } from './quorum.ts';
import type { SourceState, StreakRule } from './source-state.ts';
import type { MonitorState } from './state.ts';

/** One assigned source: its streaks, and when its newest result, of whatever verdict, was due (null = none). */
export type Source = {
  agentNo: number;
  name: string;
  online: boolean;
  newestAtMs: number | null;
  state: SourceState | null;
};

/** Everything that deciding needs to know of a monitor. */
export type DecidedMonitor = StreakRule & {
  state: MonitorState;
  stateSinceMs: number;
  /** True where silence has a deadline of its own: then what a source said last holds until it says something else. */
  waitsForPings: boolean;
  quorum: number;
  sources: readonly Source[];
  /** What it was before it became unknown through our overload; null where it is not, or for another reason. */
  uncheckedFrom?: MonitorState | null;
};

/** True for states that sources decided; false where any vote may change the state. */
export function isDecided(state: MonitorState): boolean {
  return state === 'up' || state === 'degraded' || state === 'down';
}

/**
 * Whether a source's vote counts, where it has one (D-41): its agent is online, and its newest result recent enough.
 */
export function isFresh(
  source: Source,
  monitor: Pick<DecidedMonitor, 'intervalSeconds' | 'waitsForPings'>,
  nowMs: number,
): boolean {
  return source.online && isRecent(source, monitor, nowMs);
}

/** Whether a source's newest result is recent enough, whatever it said. */
export function isRecent(
  { newestAtMs }: Source,
  { intervalSeconds, waitsForPings }: Pick<DecidedMonitor, 'intervalSeconds' | 'waitsForPings'>,
  nowMs: number,
): boolean {
  return waitsForPings || (newestAtMs !== null && nowMs - newestAtMs <= freshnessMs(intervalSeconds));
}
