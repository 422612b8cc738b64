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
   * Set where the monitor became unknown only because our own locations had more checks than they could run: no channel
   * is notified.
   */
  isOurs?: true;
};

/**
 * The first failure of a source that is failing, or on its way to it, and the gauge whose streak it began. What it saw
 * is null where only the source's row may know it.
 */
export type SourceFailure = {
  agentNo: number;
  gauge: GaugeName;
  first: StreakResult;
  evidence: FailureEvidence | null;
};

/** What every source said at the moment of a decision, and what made it say so. */
export type DecisionRecord = { tally: Tally; quorum: number; sources: SourceInDecision[] };

/** One source in it: what it says, whether that counted (`standing` says why not), and the results behind it. */
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

/** The characters that the results in a stored evidence take at most, about. */
const MAX_STORED = 16_384;

/** What a result takes beside its cause and reason: names of fields, moments and numbers. */
const RESULT_FRAME = 150;

/** The characters of a reason in an evidence that is cut. */
const CUT_REASON = 100;

/**
 * Fits evidence into what is stored of it (D-710). Where it is too long, a source keeps the moment of the first result
 * behind its vote and the last one, with its reason cut; where there are too many sources, those that count come first,
 * and the others keep their votes alone.
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
  const last = results.at(-1);
  const first = results.slice(0, -1).slice(0, 1);
  if (last === undefined) return [];
  return [
    ...first.map((result) => ({ ...result, reason: null })),
    { ...last, reason: last.reason && cleanText(last.reason, CUT_REASON) },
  ];
}

/** The names of the sources that say down at a change, or down or degraded where no place says down; sorted. */
export function sourcesAgainst(evidence: DecisionRecord): string[] {
  const counted = evidence.sources.filter((source) => source.fresh);
  const down = counted.filter((source) => source.vote === 'down');
  const against = down.length > 0 ? down : counted.filter((source) => source.vote === 'degraded');
  return against.map((source) => source.name).toSorted();
}

/** The names of the sources that had no fresh vote at a change, whatever the reason (D-41); sorted. */
export function sourcesSilent(evidence: DecisionRecord): string[] {
  return evidence.sources
    .filter((source) => !source.fresh || source.vote === null)
    .map((source) => source.name)
    .toSorted();
}

/** The cause and the sentence that go with a decision. */
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

/** The sentence of a monitor that is unknown because these locations of ours had more checks than they could run. */
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

/** Whether a vote speaks for a bad decision; a source that is down also speaks for degraded. */
function isAgainst(vote: Verdict | null, decision: Decision): boolean {
  return vote === 'down' || (decision === 'degraded' && vote === 'degraded');
}

/** Where a source came to no vote, what it says of that tells more than that votes are missing. */
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

/** Which sources do not vote, and why. */
function describeSourcesNotCounted(monitor: DecidedMonitor, nowMs: number): string {
  return describeNotCounted(
    monitor.sources.map((source) => ({
      name: source.name,
      status: findSourceStatus(source, isRecent(source, monitor, nowMs)),
    })),
  );
}

/**
 * When the decision became true in the world (D-43). The start of the streak that completed it, which is the earliest
 * moment at which enough sources were in the streak their vote rests on. Where no result decided but that a source fell
 * away, it is now; where an edit did, such as of the quorum, the moment of that. Leaving unknown it is the newest
 * result, for silence has no streak; now, where an older one counts again because its agent is back. Never after now,
 * and never before the state that it ends, not even where the clock that dated that one is ahead of ours: transitions
 * in their order are in the order of their moments.
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
  const isKnown = start !== undefined && !isByFallingAway(monitor, decision, nowMs);
  const atMs =
    !isByResult && isByEdit(monitor, decision, nowMs) ? Math.max(start ?? 0, monitor.updatedAtMs ?? 0) : start;
  return Math.max(isKnown && atMs !== undefined ? Math.min(atMs, nowMs) : nowMs, monitor.stateSinceMs);
}

/** Whether all that decides a decided monitor was there when its settings were changed: without that it would stay. */
function isByEdit(monitor: DecidedMonitor, decision: Decision, nowMs: number): boolean {
  if (!isDecided(monitor.state) || monitor.updatedAtMs === undefined) return false;
  return (quorumMoment(monitor, { decision, nowMs, momentOf: voteEnd }) ?? Infinity) <= monitor.updatedAtMs;
}

/**
 * Whether a decided monitor turned because a source fell away, and not by what the others saw. So it did if it would
 * stay as it is with everyone saying what it said last, and those that decide now had said so already when a source
 * that is left out last reported.
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

/** When enough sources were in the streaks that their votes rest on; undefined for unknown, which has none. */
function quorumStart(monitor: DecidedMonitor, decision: Decision, nowMs: number): number | undefined {
  return quorumMoment(monitor, { decision, nowMs, momentOf: voteStart });
}

type MomentOfVote = (source: Source, vote: { decision: Decision; worsens: boolean }) => number;

/** The earliest moment at which, going by `momentOf` a source's vote, enough sources had the vote that decides. */
function quorumMoment(
  monitor: DecidedMonitor,
  { decision, nowMs, momentOf }: { decision: Decision; nowMs: number; momentOf: MomentOfVote },
): number | undefined {
  if (decision === 'unknown') return undefined;
  const voters = votersOf(monitor, nowMs);
  const needed = Math.min(monitor.quorum, voters.length);
  const worsens = decision === 'down' || (decision === 'degraded' && monitor.state !== 'down');
  // A quorum of sources makes a state worse; it gets better as soon as so few are left that they are no quorum any
  // more.
  const enough = worsens ? needed : voters.length - needed + 1;
  const supporters = voters.filter((source) => supports(voteOf(source.state), decision, monitor.state));
  const moments = supporters.map((source) => momentOf(source, { decision, worsens })).toSorted((a, b) => a - b);
  return moments[Math.min(enough, supporters.length) - 1];
}

function supports(vote: Verdict | null, decision: Decision, from: MonitorState): boolean {
  if (decision === 'degraded') return from === 'down' ? vote !== 'down' : vote !== 'up';
  return vote === decision;
}

/** When the results began that a source's vote rests on, Unix milliseconds. */
function voteStart(...[source, vote]: Parameters<MomentOfVote>): number {
  return Math.max(...gaugesOf(source, vote).map(({ decidedBy }) => decidedBy[0]?.atMs ?? 0), 0);
}

/** When the results were complete that a source's vote rests on, Unix milliseconds. */
function voteEnd(...[source, vote]: Parameters<MomentOfVote>): number {
  return Math.max(...gaugesOf(source, vote).map(({ decidedBy }) => decidedBy.at(-1)?.atMs ?? 0), 0);
}

/** The gauges that a source's vote rests on. One that is down was impaired before, and supports degraded since then. */
function gaugesOf({ state }: Source, { decision, worsens }: Parameters<MomentOfVote>[1]): Gauge[] {
  if (state === null) return [];
  const { failing, impaired } = state;
  if (decision === 'degraded' && worsens && impaired.tripped) return [impaired];
  return failing.tripped ? [failing] : [failing, impaired];
}

function newestAfter(sinceMs: number, sources: readonly Source[]): number | undefined {
  const newestAtMs = Math.max(0, ...sources.map((source) => source.newestAtMs ?? 0));
  return newestAtMs > sinceMs ? newestAtMs : undefined;
}
