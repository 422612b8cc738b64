import { recheckAfterMs, recheckAtMs } from '../../core/checks/recheck.ts';
import type { Verdict } from '../../core/checks/verdict.ts';
import type { Change } from '../../core/incidents/change.ts';
import { applyResult, mayEndState, reconsider, withChange } from '../../core/incidents/monitor-state.ts';
import { isDecided, type DecidedMonitor, type Source } from '../../core/incidents/quorum.ts';
import { stepSource, type SourceState, type StreakRule, type VotedResult } from '../../core/incidents/source-state.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import { createLocations, createMonitor, listSweptStretches, type History } from './beginning.ts';
import { isOnline, makeCheck, nextChangeMs, nextCheckMs, passRun, type Check, type Location } from './location.ts';
import type { Random } from './random.ts';
import type { Setting } from './setting.ts';

/** A change of state, reduced to the counted fields. */
export type Notified = { from: MonitorState; to: MonitorState; atMs: number; detectedAtMs: number };

/**
 * Options of a simulation. `everyStep`: skips no steady result or sweep, which costs many times as much with the same
 * outcome.
 */
type SimulationOptions = { setting: Setting; random: Random; everyStep: boolean };

/**
 * Time from the end of a check to its decision in milliseconds: a possible change waits for others for at most this
 * long.
 */
const DECIDE_MS = 150;

/** Interval at which the sweep polls for silence, in milliseconds (D-92). */
const SWEEP_MS = 10_000;

/** A location in the simulation; `isSteady` returns which verdicts would change nothing. */
type Seat = { location: Location; index: number; isSteady: (monitor: DecidedMonitor) => (verdict: Verdict) => boolean };

type Arriving = Check & { seat: Seat; decidedAtMs: number };

/**
 * Simulates one monitor's history by the rules of core, as the evaluator and the sweep apply them, rechecks included.
 * Returns every change. Results that change nothing according to core are skipped in whole runs; only the due time of
 * the newest one is stored.
 */
export function simulateMonitor(history: History, { setting, random, everyStep }: SimulationOptions): Notified[] {
  const { startMs, endMs } = history;
  const seats = createLocations(history, setting, random).map((location, index) =>
    createSeat(location, { index, setting, everyStep }),
  );
  const stretches = everyStep
    ? [{ startMs, endMs }]
    : listSweptStretches(
        seats.map(({ location }) => location),
        setting,
      );
  const arriving: Arriving[] = [];
  const notified: Notified[] = [];
  let monitor = createMonitor(setting, startMs);
  let sweepMs = startMs + random.below(SWEEP_MS);

  const onGrid = (aheadMs: number): number => sweepMs + Math.max(0, Math.ceil(aheadMs / SWEEP_MS)) * SWEEP_MS;
  const nextSweepMs = (): number => {
    if (!isDecided(monitor.state)) return sweepMs;
    while (stretches[0] !== undefined && stretches[0].endMs < sweepMs) stretches.shift();
    return onGrid((stretches[0]?.startMs ?? Number.POSITIVE_INFINITY) - sweepMs);
  };

  /** Applies the skipped results to the source, as if each had been processed. */
  const catchUp = ({ location, index, isSteady }: Seat, nowMs: number): void => {
    const source = sourceAt(monitor, index);
    const passedMs = passRun(location, isSteady(monitor), { nowMs, decideMs: DECIDE_MS });
    if (passedMs !== null) source.newestAtMs = Math.max(passedMs, source.newestAtMs ?? 0);
    source.online = isOnline(location, nowMs);
  };

  const check = (seat: Seat, nowMs: number): void => {
    catchUp(seat, nowMs);
    while (nextCheckMs(seat.location) <= nowMs) {
      const made = makeCheck(seat.location);
      if (made !== null) arriving.push({ ...made, seat, decidedAtMs: made.finishedAtMs + DECIDE_MS });
    }
    arriving.sort((a, b) => a.decidedAtMs - b.decidedAtMs || a.seat.index - b.seat.index);
  };

  const decide = ({ seat: { location, index }, dueAtMs, verdict, decidedAtMs: nowMs }: Arriving): void => {
    const result = resultOf(dueAtMs, verdict);
    const { state } = sourceAt(monitor, index);
    const afterMs = recheckAfterMs({ state, rule: setting }, result);
    const checkMs = afterMs === null ? null : recheckAtMs({ dueAtMs, afterMs, nowMs }, location.tick);
    if (checkMs !== null) location.checkMs = Math.min(location.checkMs, checkMs);
    apply(applyResult(monitor, { ...result, agentNo: index }, nowMs));
  };

  const apply = (next: { monitor: DecidedMonitor; change: Change | null }): void => {
    monitor = next.monitor;
    if (next.change === null) return;
    const { from, to, atMs, detectedAtMs } = next.change;
    notified.push({ from, to, atMs, detectedAtMs });
  };

  for (;;) {
    const { seat, changeMs } = firstChange(seats, monitor);
    const [arrival] = arriving;
    const arrivalMs = arrival?.decidedAtMs ?? Number.POSITIVE_INFINITY;
    const nowMs = Math.min(changeMs, arrivalMs, nextSweepMs());
    if (nowMs >= endMs) return notified;
    if (seat !== null && changeMs === nowMs) {
      check(seat, nowMs);
      continue;
    }
    for (const each of seats) catchUp(each, nowMs);
    sweepMs = onGrid(nowMs - sweepMs);
    if (arrival !== undefined && arrivalMs === nowMs) {
      arriving.shift();
      decide(arrival);
    } else {
      apply(withChange(monitor, reconsider(monitor, { nowMs, silenceCounts: true })));
      sweepMs = nowMs + SWEEP_MS;
    }
  }
}

function createSeat(
  location: Location,
  { index, setting, everyStep }: { index: number; setting: Setting; everyStep: boolean },
): Seat {
  const leaves = createSteadiness(setting);
  const isSteady = (monitor: DecidedMonitor) => (verdict: Verdict) =>
    !everyStep && !mayEndState(monitor.state, { verdict }) && leaves(sourceAt(monitor, index).state, verdict);
  return { location, index, isSteady };
}

/** Returns the location with the next check that may be a change; null if there is none. */
function firstChange(seats: readonly Seat[], monitor: DecidedMonitor): { seat: Seat | null; changeMs: number } {
  let first: { seat: Seat | null; changeMs: number } = { seat: null, changeMs: Number.POSITIVE_INFINITY };
  for (const seat of seats) {
    const changeMs = nextChangeMs(seat.location, seat.isSteady(monitor));
    if (changeMs < first.changeMs) first = { seat, changeMs };
  }
  return first;
}

function sourceAt(monitor: DecidedMonitor, index: number): Source {
  const source = monitor.sources[index];
  if (source === undefined) throw new Error(`the monitor has no location ${index}`);
  return source;
}

/**
 * Returns a function that reports whether a result would leave a source unchanged; core decides once for each state and
 * verdict.
 */
function createSteadiness(rule: StreakRule): (state: SourceState | null, verdict: Verdict) => boolean {
  let known: SourceState | null = null;
  let answers: Partial<Record<Verdict, boolean>> = {};
  return (state, verdict) => {
    if (state === null) return false;
    if (state !== known) [known, answers] = [state, {}];
    return (answers[verdict] ??= stepSource(state, resultOf(state.newestAtMs + 1, verdict), rule) === state);
  };
}

function resultOf(dueAtMs: number, verdict: Verdict): VotedResult {
  const cause = verdict === 'up' ? null : 'timeout';
  return {
    dueAtMs,
    checksVersion: 1,
    verdict,
    cause,
    reason: cause,
    httpStatus: null,
    latencyMs: null,
    phases: null,
    answer: null,
  };
}
