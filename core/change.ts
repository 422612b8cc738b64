import type { FailureEvidence } from './failure-evidence.ts';
import type { Tally } from './quorum.ts';
import type { Evidence, GaugeName } from './source-state.ts';
import type { SourceStatus } from './source-status.ts';
import type { MonitorState } from './state.ts';
import type { Verdict } from './verdict.ts';

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
  /**
   * Set where the monitor became unknown only because our own locations had more checks than they could run: no channel
   * is notified.
   */
  isOurs?: true;
};

/**
 * The first failure of a source that is failing, or on its way to it, and the gauge whose streak it began. What it saw
 * is null where only the source's row may know it.
 */
export type SourceFailure = { agentNo: number; gauge: GaugeName; first: Evidence; evidence: FailureEvidence | null };

/** What every source said at the moment of a decision, and what made it say so. */
export type ChangeEvidence = { tally: Tally; quorum: number; sources: SourceEvidence[] };

/** One source in it: what it says, whether that counted (`standing` says why not), and the results behind it. */
export type SourceEvidence = {
  agentNo: number;
  name: string;
  standing: SourceStatus;
  vote: Verdict | null;
  fresh: boolean;
  newestAtMs: number | null;
  decidedBy: readonly Evidence[];
  streak: readonly Evidence[];
};

/** The names of the sources that say down at a change, or down or degraded where no place says down; sorted. */
export function sourcesAgainst(evidence: ChangeEvidence): string[] {
  const counted = evidence.sources.filter((source) => source.fresh);
  const down = counted.filter((source) => source.vote === 'down');
  const against = down.length > 0 ? down : counted.filter((source) => source.vote === 'degraded');
  return against.map((source) => source.name).toSorted();
}

/** The names of the sources that had no fresh vote at a change, whatever the reason (D-41); sorted. */
export function sourcesSilent(evidence: ChangeEvidence): string[] {
  return evidence.sources
    .filter((source) => !source.fresh || source.vote === null)
    .map((source) => source.name)
    .toSorted();
}
