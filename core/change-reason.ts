import { isByFallingAway } from './change-moment.ts';
import { isFresh, isRecent, type DecidedMonitor } from './decided-monitor.ts';
import type { Decision, Tally } from './quorum.ts';
import { evidenceFor, voteOf } from './source-state.ts';
import { enumerate, findSourceStatus, describeNotCounted } from './source-status.ts';
import type { Verdict } from './verdict.ts';

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
    .flatMap((source) => evidenceFor(source.state).slice(-1))
    .filter((result) => decision === 'degraded' || result.verdict === 'down')
    .toSorted((a, b) => b.atMs - a.atMs)[0];
  const agreeing = decision === 'down' ? tally.down : tally.impaired;
  const seenFrom = tally.sources > 1 ? ` (seen from ${agreeing} of ${tally.sources} locations)` : '';
  return { cause: evidence?.cause ?? null, reason: `${evidence?.reason ?? `Reported ${decision}`}${seenFrom}` };
}

/** The sentence of a monitor that is unknown because these locations of ours had more checks than they could run. */
export function explainOverload(locations: readonly string[]): { cause: null; reason: string } {
  return {
    cause: null,
    reason: `Not checked in time: ${enumerate(locations)} had more checks than could be run. The fault is ours`,
  };
}

function workingReason(monitor: DecidedMonitor, nowMs: number): string {
  if (isByFallingAway(monitor, 'up', nowMs))
    return `Working as far as is known: ${describeSourcesNotCounted(monitor, nowMs)}`;
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
  if (tally.sources === 0) return 'No location watches this monitor';
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
