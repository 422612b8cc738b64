import type { Verdict } from '../../core/checks/verdict.ts';
import type { Change, SourceFailure } from '../../core/incidents/change.ts';
import type { DecidedMonitor } from '../../core/incidents/decided-monitor.ts';
import { toFailureEvidence } from '../../core/incidents/failure-evidence.ts';
import { failuresOf } from '../../core/incidents/monitor-state.ts';
import { firstBadOf, GAUGES, voteOf, type SourceState } from '../../core/incidents/source-state.ts';
import type { MeasuredResult } from '../../models/checks/check-results.ts';
import type { EvaluatedMonitor, FirstFailureEvidence } from '../../models/incidents/evaluation.ts';
import type { NewEvidence } from '../../models/incidents/evidence.ts';

/** A monitor as it was locked and as it is after its results of a batch. */
export type SteppedMonitor = { monitor: EvaluatedMonitor; after: DecidedMonitor; results: readonly MeasuredResult[] };

/** What the results of a source, one monitor's, saw at the first failures that its state knows of. */
export function collectFirstFailureEvidence(
  state: SourceState | null,
  results: readonly MeasuredResult[],
): FirstFailureEvidence {
  const byGauge: FirstFailureEvidence = {};
  let hasFailed = false;
  for (const gauge of GAUGES) {
    const first = state && firstBadOf(state[gauge]);
    if (first === null) continue;
    hasFailed = true;
    const result = results.find(({ dueAtMs }) => dueAtMs === first.atMs);
    const evidence = result && toFailureEvidence(result);
    if (result !== undefined) byGauge[gauge] = evidence ? { atMs: first.atMs, ...evidence } : null;
  }
  return hasFailed ? byGauge : null;
}

/** Failures with what these results, of their monitor, saw at them. */
export function withEvidence(failures: readonly SourceFailure[], results: readonly MeasuredResult[]): SourceFailure[] {
  return failures.map((failure) => {
    const result = results.find(
      ({ agentNo, dueAtMs }) => agentNo === failure.agentNo && dueAtMs === failure.first.atMs,
    );
    return result === undefined ? failure : { ...failure, evidence: toFailureEvidence(result) };
  });
}

/**
 * The first failures of sources that turned bad, or worse, in a batch while their monitor was so already: where an
 * incident is open, it gets them.
 */
export function lateEvidence({
  monitor,
  after,
  results,
  changes,
}: SteppedMonitor & { changes: readonly Change[] }): NewEvidence[] {
  if (after.state === 'up' || after.state === 'pending') return [];
  const alreadyStored = new Set(
    changes.findLast(({ to }) => to === 'down' || to === 'degraded')?.failures.map(({ agentNo }) => agentNo),
  );
  const turned = after.sources.filter(
    (source, index) =>
      badness(source.state) > badness(monitor.sources[index]?.state ?? null) && !alreadyStored.has(source.agentNo),
  );
  return withEvidence(failuresOf(turned), results).map((failure) => ({ ...failure, incidentId: null, monitor }));
}

const BADNESS = { up: 0, degraded: 1, down: 2 } as const satisfies Record<Verdict, number>;

function badness(state: SourceState | null): number {
  return BADNESS[voteOf(state) ?? 'up'];
}
