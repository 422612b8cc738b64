import type { Verdict } from '../checks/verdict.ts';
import { cleanText } from '../foreign-text.ts';
import { describeNotCounted, enumerate, findSourceStatus, type SourceStatus } from '../monitors/source-status.ts';
import type { FailureEvidence } from './evidence.ts';
import {
  decide,
  freshnessMs,
  isDecided,
  isFresh,
  isRecent,
  type DecidedMonitor,
  type Decision,
  type Source,
  type Tally,
} from './quorum.ts';
import { decidingResults, lastVoteOf, voteOf, type StreakResult, type Gauge, type GaugeName } from './source-state.ts';
import type { MonitorState } from './state.ts';

/** A change of a monitor's state (D-43), before it has a sequence number. */
export type Change = {
  from: MonitorState;
  to: MonitorState;
  atMs: number;
  detectedAtMs: number;
  cause: string | null;
  reason: string | null;
  evidence: DecisionRecord;
  failures: SourceFailure[];
  /**
   * Set if the monitor became unknown only because shared locations had more checks than they could run: no channel is
   * notified.
   */
  isOurs?: true;
};

/**
 * First failure of a source that is failing, or on its way to it, and the gauge whose streak it began. `evidence` is
 * null if only the source's row may contain it.
 */
export type SourceFailure = {
  agentNo: number;
  gauge: GaugeName;
  first: StreakResult;
  evidence: FailureEvidence | null;
};

/** The votes of all sources at the moment of a decision, and the results behind them. */
export type DecisionRecord = { tally: Tally; quorum: number; sources: SourceInDecision[] };

/** One of these sources: its vote, whether that counted (`standing` explains why not), and the results behind it. */
export type SourceInDecision = {
  agentNo: number;
  name: string;
  standing: SourceStatus;
  vote: Verdict | null;
  fresh: boolean;
  newestAtMs: number | null;
  decidedBy: readonly StreakResult[];
  streak: readonly StreakResult[];
};

/** Approximate maximum size of the results in a stored record, in characters. */
const MAX_STORED = 16_384;

/** Characters of a result without its cause and reason: field names, moments and numbers. */
const RESULT_FRAME = 150;

/** Length of a reason in a cut record, in characters. */
const CUT_REASON = 100;

/**
 * Cuts a decision record to the size that is stored (D-710). If it is too long, a source keeps the moment of the first
 * result behind its vote and the last one, with its reason cut; with too many sources, counted ones come first, and the
 * others keep only their votes.
 */
export function fitEvidence(evidence: DecisionRecord): DecisionRecord {
  const { sources } = evidence;
  if (sources.reduce((size, source) => size + sizeOf(source), 0) <= MAX_STORED) return evidence;
  const fitted = new Map<SourceInDecision, SourceInDecision>();
  let left = MAX_STORED;
  for (const source of sources.toSorted((a, b) => Number(b.fresh) - Number(a.fresh))) {
    const cut = { ...source, decidedBy: cutResults(source.decidedBy), streak: [] };
    left -= sizeOf(cut);
    fitted.set(source, left >= 0 ? cut : { ...cut, decidedBy: [] });
  }
  return { ...evidence, sources: sources.map((source) => fitted.get(source) ?? source) };
}

function sizeOf({ decidedBy, streak }: SourceInDecision): number {
  return [...decidedBy, ...streak].reduce(
    (size, { cause, reason }) => size + RESULT_FRAME + (cause?.length ?? 0) + (reason?.length ?? 0),
    0,
  );
}

function cutResults(results: readonly StreakResult[]): StreakResult[] {
  const [first] = results;
  const last = results.at(-1);
  if (first === undefined || last === undefined) return [];
  const cut = { ...last, reason: last.reason && cleanText(last.reason, CUT_REASON) };
  return results.length === 1 ? [cut] : [{ ...first, reason: null }, cut];
}

/** Returns the names of the sources that vote down at a change, or degraded if none votes down; sorted. */
export function sourcesAgainst(evidence: DecisionRecord): string[] {
  const counted = evidence.sources.filter((source) => source.fresh);
  const down = counted.filter((source) => source.vote === 'down');
  const against = down.length > 0 ? down : counted.filter((source) => source.vote === 'degraded');
  return against.map((source) => source.name).toSorted();
}

/** Returns the names of the sources without a fresh vote at a change, for any reason (D-41); sorted. */
export function sourcesSilent(evidence: DecisionRecord): string[] {
  return evidence.sources
    .filter((source) => !source.fresh || source.vote === null)
    .map((source) => source.name)
    .toSorted();
}

/** Returns the cause and the sentence of a decision. */
export function explain(
  monitor: DecidedMonitor,
  { decision, tally }: { decision: Decision; tally: Tally },
  nowMs: number,
): { cause: string | null; reason: string | null } {
  if (decision === 'up') return { cause: null, reason: workingReason(monitor, nowMs) };
  if (decision === 'unknown') return explainUnknown(monitor, tally, nowMs);
  const evidence = monitor.sources
    .filter((source) => isFresh(source, monitor, nowMs) && isAgainst(voteOf(source.state), decision))
    .flatMap((source) => decidingResults(source.state).slice(-1))
    .filter((result) => decision === 'degraded' || result.verdict === 'down')
    .toSorted((a, b) => b.atMs - a.atMs)[0];
  const agreeing = decision === 'down' ? tally.down : tally.impaired;
  const agreement = tally.sources > 1 ? ` (seen from ${agreeing} of ${tally.sources} locations)` : '';
  return { cause: evidence?.cause ?? null, reason: `${evidence?.reason ?? `Reported ${decision}`}${agreement}` };
}

/**
 * Returns the sentence of a monitor that is unknown because these shared locations had more checks than they could run.
 */
export function explainOverload(locations: readonly string[]): { cause: null; reason: string } {
  return {
    cause: null,
    reason: `Not checked in time: ${enumerate(locations)} had too many checks. The target is not at fault`,
  };
}

function workingReason(monitor: DecidedMonitor, nowMs: number): string {
  if (isByFallingAway(monitor, 'up', nowMs))
    return `Working as far as we know: ${describeSourcesNotCounted(monitor, nowMs)}`;
  return monitor.state === 'pending' ? 'Working' : 'Working again';
}

/** Reports whether a vote supports a bad decision; a source that is down also supports degraded. */
function isAgainst(vote: Verdict | null, decision: Decision): boolean {
  return vote === 'down' || (decision === 'degraded' && vote === 'degraded');
}

/** The reason for a source's abstention explains more than that votes are missing. */
function explainUnknown(
  monitor: DecidedMonitor,
  tally: Tally,
  nowMs: number,
): { cause: string | null; reason: string } {
  const fresh = monitor.sources.filter((source) => isFresh(source, monitor, nowMs));
  const [abstention] = fresh.flatMap((source) => source.state?.abstention ?? []);
  if (tally.votes > 0 || abstention === undefined) return { cause: null, reason: unknownReason(monitor, tally, nowMs) };
  return { cause: abstention.cause, reason: abstention.reason ?? unknownReason(monitor, tally, nowMs) };
}

function unknownReason(monitor: DecidedMonitor, tally: Tally, nowMs: number): string {
  if (tally.sources === 0) return 'No location checks this monitor';
  const notCounted = describeSourcesNotCounted(monitor, nowMs);
  if (tally.votes === 0) return `No location has reported in time: ${notCounted}`;
  return `Only ${tally.votes} of ${tally.sources} locations have reported in time: ${notCounted}`;
}

/** Lists the sources that do not vote, and why. */
function describeSourcesNotCounted(monitor: DecidedMonitor, nowMs: number): string {
  return describeNotCounted(
    monitor.sources.map((source) => ({
      name: source.name,
      status: findSourceStatus(source, isRecent(source, monitor, nowMs)),
    })),
  );
}

/**
 * Returns when the decision became true in the world (D-43). That is the start of the streak that completed it: the
 * earliest moment at which enough sources were in the streak behind their vote. If a source dropped out and no result
 * decided, it is now; after an edit, such as of the quorum, the moment of the edit. For leaving unknown it is the
 * newest result, since silence has no streak; now, if an older one counts again because its agent is back. Never after
 * now, and never before the state that it ends, even if the clock that dated that one is ahead: transitions in order
 * have moments in order.
 */
export function changedAt(
  monitor: DecidedMonitor,
  decision: Decision,
  { nowMs, isByResult = false }: { nowMs: number; isByResult?: boolean },
): number {
  const start =
    monitor.state === 'unknown'
      ? newestAfter(monitor.stateSinceMs, votersOf(monitor, nowMs))
      : quorumStart(monitor, decision, nowMs);
  if (start === undefined || isByFallingAway(monitor, decision, nowMs)) return Math.max(nowMs, monitor.stateSinceMs);
  const editedAtMs = !isByResult && isByEdit(monitor, decision, nowMs) ? (monitor.updatedAtMs ?? 0) : 0;
  return Math.max(Math.min(Math.max(start, editedAtMs), nowMs), monitor.stateSinceMs);
}

/**
 * Reports whether all votes that decide a decided monitor predate the change of its settings: without the edit it would
 * stay.
 */
function isByEdit(monitor: DecidedMonitor, decision: Decision, nowMs: number): boolean {
  if (!isDecided(monitor.state) || monitor.updatedAtMs === undefined) return false;
  return (quorumMoment(monitor, { decision, nowMs, momentOf: voteEnd }) ?? Infinity) <= monitor.updatedAtMs;
}

/**
 * Reports whether a decided monitor changed because a source dropped out, and not by new results of the others. That is
 * so if all last votes together would keep its state, and the streaks that decide now had begun when a source left out
 * last reported.
 */
function isByFallingAway(monitor: DecidedMonitor, decision: Decision, nowMs: number): boolean {
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

/** Returns when enough sources were in the streaks behind their votes; undefined for unknown, which has none. */
function quorumStart(monitor: DecidedMonitor, decision: Decision, nowMs: number): number | undefined {
  return quorumMoment(monitor, { decision, nowMs, momentOf: voteStart });
}

/** The decision that a vote supports, and whether it makes the state worse. */
type DecidingVote = { decision: Decision; worsens: boolean };
type MomentOfVote = (source: Source, vote: DecidingVote) => number;

/** Returns the earliest moment, as `momentOf` dates votes, at which enough sources had the deciding vote. */
function quorumMoment(
  monitor: DecidedMonitor,
  { decision, nowMs, momentOf }: { decision: Decision; nowMs: number; momentOf: MomentOfVote },
): number | undefined {
  if (decision === 'unknown') return undefined;
  const voters = votersOf(monitor, nowMs);
  const needed = Math.min(monitor.quorum, voters.length);
  const worsens = decision === 'down' || (decision === 'degraded' && monitor.state !== 'down');
  // A quorum of sources makes a state worse; it gets better as soon as the sources left are no quorum any more.
  const enough = worsens ? needed : voters.length - needed + 1;
  const supporters = voters.filter((source) => supports(voteOf(source.state), decision, monitor.state));
  const moments = supporters.map((source) => momentOf(source, { decision, worsens })).toSorted((a, b) => a - b);
  return moments[Math.min(enough, supporters.length) - 1];
}

function supports(vote: Verdict | null, decision: Decision, from: MonitorState): boolean {
  if (decision === 'degraded') return from === 'down' ? vote !== 'down' : vote !== 'up';
  return vote === decision;
}

/** Returns when the results behind a source's vote began, in Unix milliseconds. */
function voteStart(source: Source, vote: DecidingVote): number {
  return Math.max(...gaugesOf(source, vote).map(({ decidedBy }) => decidedBy[0]?.atMs ?? 0), 0);
}

/** Returns when the results behind a source's vote were complete, in Unix milliseconds. */
function voteEnd(source: Source, vote: DecidingVote): number {
  return Math.max(...gaugesOf(source, vote).map(({ decidedBy }) => decidedBy.at(-1)?.atMs ?? 0), 0);
}

/**
 * Returns the gauges behind a source's vote. One that is down was impaired before, and supports degraded since then.
 */
function gaugesOf({ state }: Source, { decision, worsens }: DecidingVote): Gauge[] {
  if (state === null) return [];
  const { failing, impaired } = state;
  if (decision === 'degraded' && worsens && impaired.tripped) return [impaired];
  return failing.tripped ? [failing] : [failing, impaired];
}

function newestAfter(sinceMs: number, sources: readonly Source[]): number | undefined {
  const newestAtMs = Math.max(0, ...sources.map((source) => source.newestAtMs ?? 0));
  return newestAtMs > sinceMs ? newestAtMs : undefined;
}
