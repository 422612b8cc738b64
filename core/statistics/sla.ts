import type { MonitorState } from '../incidents/state.ts';
import { toUnixSeconds } from '../time.ts';
import type { Stretch } from './service-gaps.ts';

export type { Stretch };

/** A state in the accounting of time: no transition has maintenance as its state, since checks go on during it. */
export type CountedState = MonitorState | 'maintenance';

/**
 * Whole seconds of a window in each state; together at most the window, which excludes time before the monitor's
 * creation.
 */
export type StateSeconds = Record<CountedState, number>;

/** A change of state as the SLA needs it; `atMs` is a transition's `at` (D-43), in Unix milliseconds. */
export type StateChange = { atMs: number; to: MonitorState };

/**
 * History of one monitor: its changes in the order in which they were written, and its creation. It includes the last
 * change before the requested time, the stretches in which the service itself stood still, and those of maintenance
 * that is excluded from the SLA.
 */
export type StateHistory = {
  transitions: readonly StateChange[];
  createdAtMs: number;
  gaps: readonly Stretch[];
  maintenance: readonly Stretch[];
};

/** A stretch of one state, in whole Unix seconds, excluding the end. */
type StatePeriod = { state: CountedState; fromSecond: number; toSecond: number };

/** Seconds that may be missed under a target; `left` is negative if more were. All whole, floored. */
type ErrorBudget = { totalSeconds: number; usedSeconds: number; leftSeconds: number };

/** Verdict on a window's seconds against a target (D-61). */
type SlaJudgement = {
  /** Floored to three decimals; null if no time is counted. */
  uptimePercent: number | null;
  /** Null without a target, or if no time is counted. */
  slaMet: boolean | null;
  /** Null in the same cases. */
  budget: ErrorBudget | null;
};

/** A target of 100 % in millionths of a percent, the unit of comparisons: doubles such as 99.95 are exact in it. */
const WHOLE = 100_000_000n;

/**
 * Lists the states of a window `[fromMs, toMs)`, without holes, from the monitor's creation on. A second has the state
 * after the last change in or before it (D-61); before the first change a monitor is pending. A stretch in which the
 * service stood still is unknown, unless the monitor was paused; one of maintenance is maintenance, unless it was
 * paused or pending (D-503). Adjacent ones may have the same state: one maintenance has as many as changes in it.
 */
export function listPeriods({
  transitions,
  createdAtMs,
  gaps,
  maintenance,
  fromMs,
  toMs,
}: StateHistory & { fromMs: number; toMs: number }): Iterable<StatePeriod> {
  const window = { from: Math.max(toUnixSeconds(fromMs), toUnixSeconds(createdAtMs)), to: toUnixSeconds(toMs) };
  const known = overlay(ownPeriods(transitions, window), gaps, { state: 'unknown', except: ['paused'] });
  return overlay(known, maintenance, { state: 'maintenance', except: ['paused', 'pending'] });
}

/** Number of periods that are measured in one turn of the event loop: a few milliseconds. */
const PERIODS_AT_ONCE = 10_000;

/**
 * Lists the same in parts, between which the event loop gets a turn: 300,000 changes take a tenth of a second,
 * also inside one maintenance. The turn of the first part also puts all changes in order.
 */
export async function* listInParts(
  history: StateHistory & { fromMs: number; toMs: number },
): AsyncGenerator<StatePeriod[]> {
  let part: StatePeriod[] = [];
  for (const period of listPeriods(history)) {
    part.push(period);
    if (part.length < PERIODS_AT_ONCE) continue;
    yield part;
    part = [];
    await new Promise<void>((resolve) => void setTimeout(resolve));
  }
  yield part;
}

/**
 * Measures how long each state lasted in a window `[fromMs, toMs)`; the caller ends the window at now. Nothing before
 * the monitor's creation is counted. It takes one turn of the event loop, so it is for histories of 10,000 changes.
 */
export function measureStates(history: StateHistory & { fromMs: number; toMs: number }): StateSeconds {
  const seconds = noSeconds();
  for (const { state, fromSecond, toSecond } of listPeriods(history)) seconds[state] += toSecond - fromSecond;
  return seconds;
}

/**
 * The same for adjacent windows: one between each two of `edgesMs`, which ascend. Takes one pass over the history, in
 * turns.
 */
export async function measureSteps(history: StateHistory, edgesMs: readonly number[]): Promise<StateSeconds[]> {
  const edges = edgesMs.map(toUnixSeconds);
  const steps = edges.slice(1).map(noSeconds);
  let step = 0;
  for await (const part of listInParts({ ...history, fromMs: edgesMs[0] ?? 0, toMs: edgesMs.at(-1) ?? 0 }))
    for (const { state, fromSecond, toSecond } of part) {
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

/** Measures each of several windows, which may overlap, likewise. */
export async function measureWindows(
  history: StateHistory,
  windows: readonly { fromMs: number; toMs: number }[],
): Promise<StateSeconds[]> {
  const edges = [...new Set(windows.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))].toSorted((a, b) => a - b);
  const steps = await measureSteps(history, edges);
  const indexOf = new Map(edges.map((edge, index) => [edge, index]));
  return windows.map(({ fromMs, toMs }) => sumSeconds(steps.slice(indexOf.get(fromMs), indexOf.get(toMs))));
}

/**
 * Compares the counted time (up, degraded, down) with a target in percent (null = none), exactly: percentages are
 * floored only for display (D-61).
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
 * Returns how many times faster than allowed a window used its budget up: 1 = exactly as fast. Null without a target,
 * with one of 100, which allows nothing, and if no time is counted.
 */
export function burnRate(seconds: StateSeconds, slaTarget: number | null): number | null {
  const counted = countedSeconds(seconds);
  const allowed = slaTarget === null ? 0n : WHOLE - exactTarget(slaTarget);
  if (counted === 0 || allowed <= 0n) return null;
  return Number(BigInt(seconds.down) * WHOLE) / Number(BigInt(counted) * allowed);
}

/** Adds up the seconds of several windows or monitors. */
export function sumSeconds(all: readonly StateSeconds[]): StateSeconds {
  const sum = noSeconds();
  for (const seconds of all)
    for (const state of Object.keys(sum) as (keyof StateSeconds)[]) sum[state] += seconds[state];
  return sum;
}

/** The worst state first: a single second of it decides how a day is shown. */
const WORST_FIRST = [
  'down',
  'degraded',
  'unknown',
  'up',
  'maintenance',
  'pending',
  'paused',
] as const satisfies readonly CountedState[];

/** Returns the worst state with any second in a window; null if there is none. */
export function worstStateOf(seconds: StateSeconds): CountedState | null {
  return WORST_FIRST.find((state) => seconds[state] > 0) ?? null;
}

/**
 * Returns the seconds that count for or against a target: paused, pending, unknown and maintenance do neither (D-61).
 */
function countedSeconds(seconds: StateSeconds): number {
  return seconds.up + seconds.degraded + seconds.down;
}

/**
 * Returns the periods of the changes alone, pending until the first. A change superseded by a later one of its second,
 * or by one that dates earlier, has none.
 */
function* ownPeriods(
  transitions: readonly StateChange[],
  { from, to }: { from: number; to: number },
): Generator<StatePeriod> {
  const effective: { second: number; state: MonitorState }[] = [{ second: Number.NEGATIVE_INFINITY, state: 'pending' }];
  for (const { atMs, to: state } of transitions) {
    const second = toUnixSeconds(atMs);
    while ((effective.at(-1)?.second ?? Number.NEGATIVE_INFINITY) >= second) effective.pop();
    effective.push({ second, state });
  }
  for (const [index, { second, state }] of effective.entries()) {
    const fromSecond = Math.max(second, from);
    const toSecond = Math.min(effective[index + 1]?.second ?? to, to);
    if (fromSecond < toSecond) yield { state, fromSecond, toSecond };
  }
}

/** Replaces the state of periods inside these stretches, except for the excepted states. */
function* overlay(
  periods: Iterable<StatePeriod>,
  stretches: readonly Stretch[],
  { state, except }: { state: CountedState; except: readonly CountedState[] },
): Generator<StatePeriod> {
  const merged = mergeStretches(stretches);
  let next = 0;
  for (const period of periods) {
    let at = period.fromSecond;
    while (at < period.toSecond) {
      while ((merged[next]?.to ?? Number.POSITIVE_INFINITY) <= at) next += 1;
      const stretch = merged[next];
      const isInside = stretch !== undefined && stretch.from <= at;
      const edge = stretch === undefined ? period.toSecond : isInside ? stretch.to : stretch.from;
      const toSecond = Math.min(period.toSecond, edge);
      const counted: CountedState = isInside && !except.includes(period.state) ? state : period.state;
      yield { state: counted, fromSecond: at, toSecond };
      at = toSecond;
    }
  }
}

/** Merges stretches into ordered, disjoint ones in whole seconds. One that begins and ends within a second has none. */
function mergeStretches(stretches: readonly Stretch[]): { from: number; to: number }[] {
  const merged: { from: number; to: number }[] = [];
  const ordered = stretches
    .map(({ startMs, endMs }) => ({ from: toUnixSeconds(startMs), to: toUnixSeconds(endMs) }))
    .filter(({ from, to }) => from < to);
  for (const stretch of ordered.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last !== undefined && stretch.from <= last.to) last.to = Math.max(last.to, stretch.to);
    else merged.push(stretch);
  }
  return merged;
}

function exactTarget(slaTarget: number): bigint {
  return BigInt(Math.round(slaTarget * 1_000_000));
}

/** Returns zero seconds for each state. */
export function noSeconds(): StateSeconds {
  return { up: 0, degraded: 0, down: 0, unknown: 0, paused: 0, pending: 0, maintenance: 0 };
}
