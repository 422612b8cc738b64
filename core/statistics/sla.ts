import type { MonitorState } from '../incidents/state.ts';
import type { Stretch } from './service-gaps.ts';

export type { Stretch };

/** A state as time is accounted for: maintenance is none that transitions know, since checks go on during it. */
export type CountedState = MonitorState | 'maintenance';

/**
 * How many whole seconds of a window each state had; together at most the window, which leaves out what lies before the
 * monitor's creation.
 */
export type StateSeconds = Record<CountedState, number>;

/** A change of state as the SLA needs it; `atMs` is a transition's `at` (D-43), Unix milliseconds. */
export type StateChange = { atMs: number; to: MonitorState };

/**
 * What is known of one monitor: its changes in the order in which they were written, and when it was created. The last
 * change before the time asked about is among them, and beside them the stretches in which the service itself stood
 * still, and those of maintenance that is excluded from the SLA.
 */
export type StateHistory = {
  transitions: readonly StateChange[];
  createdAtMs: number;
  gaps: readonly Stretch[];
  maintenance: readonly Stretch[];
};

/** A stretch of one state, in whole Unix seconds, the end excluded. */
export type StatePeriod = { state: CountedState; fromSecond: number; toSecond: number };

/** Seconds that may be missed under a target; `left` is negative where more were. All whole, floored. */
export type ErrorBudget = { totalSeconds: number; usedSeconds: number; leftSeconds: number };

/** What a window's seconds say of a target (D-61). */
export type SlaJudgement = {
  /** Floored to three decimals; null where no time is counted. */
  uptimePercent: number | null;
  /** Null without a target, and where no time is counted. */
  slaMet: boolean | null;
  /** Null in the same cases. */
  budget: ErrorBudget | null;
};

/**
 * A target of 100 % in the millionths of a percent that targets are compared in: doubles such as 99.95 are exact there.
 */
const WHOLE = 100_000_000n;

/**
 * The states of a window `[fromMs, toMs)`, one after the other without holes, from the monitor's creation on. A second
 * belongs to the state after the last change of that second or before it (D-61); before the first change a monitor is
 * pending. A stretch in which we stood still is unknown, where the monitor was not paused; one of maintenance is
 * maintenance, where it was neither paused nor pending (D-503).
 */
export function listPeriods({
  transitions,
  createdAtMs,
  gaps,
  maintenance,
  fromMs,
  toMs,
}: StateHistory & { fromMs: number; toMs: number }): StatePeriod[] {
  const window = { from: Math.max(secondOf(fromMs), secondOf(createdAtMs)), to: secondOf(toMs) };
  const known = overlay(ownPeriods(transitions, window), gaps, { state: 'unknown', except: ['paused'] });
  return overlay(known, maintenance, { state: 'maintenance', except: ['paused', 'pending'] });
}

/**
 * How long each state lasted in a window `[fromMs, toMs)`; the caller ends the window at now. Nothing before the
 * monitor's creation is counted.
 */
export function measureStates(history: StateHistory & { fromMs: number; toMs: number }): StateSeconds {
  const seconds = noSeconds();
  for (const { state, fromSecond, toSecond } of listPeriods(history)) seconds[state] += toSecond - fromSecond;
  return seconds;
}

/**
 * The same for windows that follow each other: one for each step between two of `edgesMs`, which ascend; in one go over
 * the history.
 */
export function measureSteps(history: StateHistory, edgesMs: readonly number[]): StateSeconds[] {
  const edges = edgesMs.map(secondOf);
  const steps = edges.slice(1).map(noSeconds);
  let step = 0;
  for (const { state, fromSecond, toSecond } of listPeriods({
    ...history,
    fromMs: edgesMs[0] ?? 0,
    toMs: edgesMs.at(-1) ?? 0,
  })) {
    let at = fromSecond;
    while (at < toSecond) {
      while ((edges[step + 1] ?? toSecond) <= at) step += 1;
      const end = Math.min(toSecond, edges[step + 1] ?? toSecond);
      const seconds = steps[step];
      if (seconds !== undefined) seconds[state] += end - at;
      at = end;
    }
  }
  return steps;
}

/** What `measureStates` says of each of several windows, which may overlap; in one go over the history. */
export function measureWindows(
  history: StateHistory,
  windows: readonly { fromMs: number; toMs: number }[],
): StateSeconds[] {
  const edges = [...new Set(windows.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))].toSorted((a, b) => a - b);
  const steps = measureSteps(history, edges);
  const indexOf = new Map(edges.map((edge, index) => [edge, index]));
  return windows.map(({ fromMs, toMs }) => sumSeconds(steps.slice(indexOf.get(fromMs), indexOf.get(toMs))));
}

/**
 * Holds what was counted (up, degraded, down) against a target in percent (null = none), exactly: percentages are
 * floored for show only (D-61).
 */
export function judgeSla(seconds: StateSeconds, slaTarget: number | null): SlaJudgement {
  const counted = countedSeconds(seconds);
  if (counted === 0) return { uptimePercent: null, slaMet: null, budget: null };
  const uptimePercent = Number((BigInt(counted - seconds.down) * 100_000n) / BigInt(counted)) / 1000;
  if (slaTarget === null) return { uptimePercent, slaMet: null, budget: null };
  const totalSeconds = Number((BigInt(counted) * (WHOLE - exactTarget(slaTarget))) / WHOLE);
  const leftSeconds = totalSeconds - seconds.down;
  return { uptimePercent, slaMet: leftSeconds >= 0, budget: { totalSeconds, usedSeconds: seconds.down, leftSeconds } };
}

/**
 * How many times faster than the target allows a window used its budget up: 1 = exactly as fast. Null without a target,
 * with one of 100, which allows nothing, and where no time is counted.
 */
export function burnRate(seconds: StateSeconds, slaTarget: number | null): number | null {
  const counted = countedSeconds(seconds);
  const allowed = slaTarget === null ? 0n : WHOLE - exactTarget(slaTarget);
  if (counted === 0 || allowed <= 0n) return null;
  return Number(BigInt(seconds.down) * WHOLE) / Number(BigInt(counted) * allowed);
}

/** The seconds of several windows or monitors together. */
export function sumSeconds(all: readonly StateSeconds[]): StateSeconds {
  const sum = noSeconds();
  for (const seconds of all)
    for (const state of Object.keys(sum) as (keyof StateSeconds)[]) sum[state] += seconds[state];
  return sum;
}

/** The worst first: a second of an earlier one decides what a day is shown as. */
const WORST_FIRST = [
  'down',
  'degraded',
  'unknown',
  'up',
  'maintenance',
  'pending',
  'paused',
] as const satisfies readonly CountedState[];

/** The worst state that a window had any second of; null where it had none. */
export function worstStateOf(seconds: StateSeconds): CountedState | null {
  return WORST_FIRST.find((state) => seconds[state] > 0) ?? null;
}

/** The seconds that count for or against a target: paused, pending, unknown and maintenance do neither (D-61). */
function countedSeconds(seconds: StateSeconds): number {
  return seconds.up + seconds.degraded + seconds.down;
}

/**
 * The periods of the changes alone, pending until the first. A change that a later one of its second or an earlier one
 * overtakes has none.
 */
function ownPeriods(transitions: readonly StateChange[], { from, to }: { from: number; to: number }): StatePeriod[] {
  const effective: { second: number; state: MonitorState }[] = [{ second: Number.NEGATIVE_INFINITY, state: 'pending' }];
  for (const { atMs, to: state } of transitions) {
    const second = secondOf(atMs);
    while ((effective.at(-1)?.second ?? Number.NEGATIVE_INFINITY) >= second) effective.pop();
    effective.push({ second, state });
  }
  return effective
    .map(({ second, state }, index) => ({
      state,
      fromSecond: Math.max(second, from),
      toSecond: Math.min(effective[index + 1]?.second ?? to, to),
    }))
    .filter(({ fromSecond, toSecond }) => fromSecond < toSecond);
}

/** The periods with another state in these stretches, but for the states that are excepted. */
function overlay(
  periods: readonly StatePeriod[],
  stretches: readonly Stretch[],
  { state, except }: { state: CountedState; except: readonly CountedState[] },
): StatePeriod[] {
  const merged = mergeStretches(stretches);
  let next = 0;
  const result: StatePeriod[] = [];
  for (const period of periods) {
    let at = period.fromSecond;
    while (at < period.toSecond) {
      while ((merged[next]?.to ?? Number.POSITIVE_INFINITY) <= at) next += 1;
      const stretch = merged[next];
      const isInside = stretch !== undefined && stretch.from <= at;
      const edge = stretch === undefined ? period.toSecond : isInside ? stretch.to : stretch.from;
      const toSecond = Math.min(period.toSecond, edge);
      append(result, {
        state: isInside && !except.includes(period.state) ? state : period.state,
        fromSecond: at,
        toSecond,
      });
      at = toSecond;
    }
  }
  return result;
}

/** In order and apart from each other, in whole seconds. One that begins and ends within a second has none. */
function mergeStretches(stretches: readonly Stretch[]): { from: number; to: number }[] {
  const merged: { from: number; to: number }[] = [];
  const ordered = stretches
    .map(({ startMs, endMs }) => ({ from: secondOf(startMs), to: secondOf(endMs) }))
    .filter(({ from, to }) => from < to);
  for (const stretch of ordered.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last !== undefined && stretch.from <= last.to) last.to = Math.max(last.to, stretch.to);
    else merged.push(stretch);
  }
  return merged;
}

/** How many whole seconds of a window `[fromMs, toMs)` lie in any of these stretches. */
export function secondsWithin(
  stretches: readonly Stretch[],
  { fromMs, toMs }: { fromMs: number; toMs: number },
): number {
  const [first, end] = [secondOf(fromMs), secondOf(toMs)];
  return mergeStretches(stretches).reduce(
    (sum, { from, to }) => sum + Math.max(0, Math.min(to, end) - Math.max(from, first)),
    0,
  );
}

function append(periods: StatePeriod[], period: StatePeriod): void {
  const last = periods.at(-1);
  if (last?.state === period.state && last.toSecond === period.fromSecond) last.toSecond = period.toSecond;
  else periods.push(period);
}

function exactTarget(slaTarget: number): bigint {
  return BigInt(Math.round(slaTarget * 1_000_000));
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1000);
}

/** No second of any state. */
export function noSeconds(): StateSeconds {
  return { up: 0, degraded: 0, down: 0, unknown: 0, paused: 0, pending: 0, maintenance: 0 };
}
