import { recheckAfterMs, recheckAtMs } from '../../core/checks/recheck.ts';
import { tickMoment } from '../../core/checks/slots.ts';
import { isBad, type Verdict } from '../../core/checks/verdict.ts';
import type { Change, SourceFailure } from '../../core/incidents/change.ts';
import { toFailureEvidence } from '../../core/incidents/evidence.ts';
import { applyResult, failuresOf, isWorse } from '../../core/incidents/monitor-state.ts';
import { isFresh, type DecidedMonitor } from '../../core/incidents/quorum.ts';
import { GAUGES, firstBadOf, voteOf, type GaugeName, type SourceState } from '../../core/incidents/source-state.ts';
import { talksToTarget } from '../../core/monitors/monitor.ts';
import type { MeasuredResult } from '../../models/checks/check-results.ts';
import type { PlannedRecheck } from '../../models/checks/schedule.ts';
import { sourceKey, type EvaluatedMonitor, type FirstFailureEvidence } from '../../models/incidents/evaluation.ts';
import type { NewEvidence } from '../../models/incidents/incidents.ts';

/** A monitor before its results of a batch, after them, and the changes in between. */
export type SteppedMonitor = {
  monitor: EvaluatedMonitor;
  results: readonly MeasuredResult[];
  after: DecidedMonitor;
  changes: readonly Change[];
  rechecks: readonly PlannedRecheck[];
};

/** The results of a monitor, and the due time of each source's newest one before them, by `sourceKey`. */
type MonitorResults = { results: readonly MeasuredResult[]; newest: ReadonlyMap<string, number>; nowMs: number };

/** Applies the results of a locked monitor, which are in time order. */
export function stepMonitor(locked: EvaluatedMonitor, given: MonitorResults): SteppedMonitor {
  const { results, nowMs } = given;
  const monitor = asBefore(locked, given);
  const changes: Change[] = [];
  // Of several results of a source the last one decides whether it needs a recheck.
  const rechecks = new Map<number, PlannedRecheck | null>();
  let after: DecidedMonitor = monitor;
  for (const result of results) {
    rechecks.set(result.agentNo, planRecheck({ monitor, before: after }, result, nowMs));
    const applied = applyResult(after, result, nowMs);
    if (applied.change !== null)
      changes.push({ ...applied.change, failures: withEvidence(applied.change.failures, results) });
    after = applied.monitor;
  }
  const planned = [...rechecks.values()].filter((recheck) => recheck !== null);
  return { monitor, results, after, changes, rechecks: planned };
}

/**
 * Returns a monitor as it was before the batch, whose results are already stored. An old result of a long backlog must
 * not count as recent because of the newest one.
 */
function asBefore(monitor: EvaluatedMonitor, { results, newest }: MonitorResults): EvaluatedMonitor {
  const sources = monitor.sources.map((source) => {
    if (!results.some(({ agentNo }) => agentNo === source.agentNo)) return source;
    const key = sourceKey({ monitorNo: monitor.no, agentNo: source.agentNo });
    return { ...source, newestAtMs: newest.get(key) ?? null };
  });
  return { ...monitor, sources };
}

/**
 * Plans a recheck; null if the result needs none (D-47), or its source is a customer's agent, which is notified when it
 * submits its results.
 */
function planRecheck(
  { monitor, before }: { monitor: EvaluatedMonitor; before: DecidedMonitor },
  result: MeasuredResult,
  nowMs: number,
): PlannedRecheck | null {
  const { monitorNo, agentNo, dueAtMs } = result;
  const { type, intervalSeconds } = monitor;
  const slot = monitor.sources.find((source) => source.agentNo === agentNo)?.slot ?? null;
  if (slot === null || !talksToTarget(type)) return null;
  const state = before.sources.find((source) => source.agentNo === agentNo)?.state ?? null;
  const afterMs = recheckAfterMs({ state, rule: monitor }, result);
  const atMs =
    afterMs === null
      ? null
      : recheckAtMs({ dueAtMs, afterMs, nowMs }, tickMoment({ intervalSeconds, slot }, monitorNo));
  return atMs === null ? null : { monitorNo, agentNo, atMs };
}

/** Reports whether a source failed that was well before: it is down, degraded, or on its way there. */
export function hasFirstFailure({ monitor, after }: SteppedMonitor): boolean {
  return after.sources.some(({ state }, index) =>
    GAUGES.some((gauge) => isFailing(state, gauge) && !isFailing(monitor.sources[index]?.state ?? null, gauge)),
  );
}

function isFailing(state: SourceState | null, gauge: GaugeName): boolean {
  return state !== null && firstBadOf(state[gauge]) !== null;
}

/** Returns the sources whose states differ after the batch, in stored form. */
export function changedSources({ monitor, after, results }: SteppedMonitor, nowMs: number) {
  return after.sources
    .filter((source, index) => source.state !== monitor.sources[index]?.state)
    .map((source) => ({
      monitorNo: monitor.no,
      agentNo: source.agentNo,
      state: source.state,
      firstFailureEvidence: collectFirstFailureEvidence(
        source.state,
        results.filter(({ agentNo }) => agentNo === source.agentNo),
      ),
      isNotCounted: !isFresh(source, after, nowMs),
    }));
}

/** Collects the evidence, among a source's results of one monitor, of the first failures in its state. */
function collectFirstFailureEvidence(
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

/** Adds the evidence of these results, of the same monitor, to failures. */
function withEvidence(failures: readonly SourceFailure[], results: readonly MeasuredResult[]): SourceFailure[] {
  return failures.map((failure) => {
    const result = results.find(
      ({ agentNo, dueAtMs }) => agentNo === failure.agentNo && dueAtMs === failure.first.atMs,
    );
    return result === undefined ? failure : { ...failure, evidence: toFailureEvidence(result) };
  });
}

/**
 * Returns the first failures of sources that turned bad, or worse, in a batch while their monitor already was. If an
 * incident is open, they are added to it.
 */
export function lateEvidence({ monitor, after, results, changes }: SteppedMonitor): NewEvidence[] {
  if (after.state === 'up' || after.state === 'pending') return [];
  const alreadyStored = new Set(changes.findLast(({ to }) => isBad(to))?.failures.map(({ agentNo }) => agentNo));
  const turned = after.sources.filter(
    (source, index) =>
      isWorse(lastVote(source.state), lastVote(monitor.sources[index]?.state ?? null)) &&
      !alreadyStored.has(source.agentNo),
  );
  return withEvidence(failuresOf(turned), results).map((failure) => ({ ...failure, incidentId: null, monitor }));
}

function lastVote(state: SourceState | null): Verdict {
  return voteOf(state) ?? 'up';
}
