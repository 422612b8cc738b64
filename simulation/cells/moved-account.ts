import { EARLY_MS, slotStartMs } from '../../core/checks/slots.ts';
import { stepSource, type SourceState, type StreakRule, type VotedResult } from '../../core/incidents/source-state.ts';
import type { ResultPayload } from '../../queues/payloads.ts';
import type { Scheduled } from './plan.ts';

/**
 * Slots and offsets of an account's monitors in the schedule of the cell that they leave, in the account's own order.
 */
export type Arriving = { slots: number[]; oldOffsetsMs: number[] };

/** A result of the account's monitor with that index, waiting for its decision. */
type Waiting = { index: number; result: ResultPayload };

/** Data that move from one cell to the other: the schedule at the flip, and the streaks once all checks have ended. */
export type Leaving =
  | ({ kind: 'schedule' } & Arriving)
  | { kind: 'states'; states: (SourceState | null)[]; waiting: Waiting[] };

/** A source became bad or good because of the result that was due then. */
export type Decision = { index: number; isDown: boolean; dueAtMs: number };

/** Of every hundred monitors one goes down in the freeze, one comes up after it, and one is down only during it. */
const SCRIPT_EVERY = 100;

type FreezeTimes = { freezeMs: number; flipMs: number };

/** Returns the scripted verdict of a monitor of the account at a time. */
export function scriptedVerdict(index: number, atMs: number, { freezeMs, flipMs }: FreezeTimes): 'up' | 'down' {
  const isDown = [atMs >= (freezeMs + flipMs) / 2, atMs < flipMs, atMs >= freezeMs && atMs < flipMs];
  return isDown[index % SCRIPT_EVERY] === true ? 'down' : 'up';
}

function ruleOf(intervalSeconds: number): StreakRule {
  return { downAfterFailures: 1, upAfterSuccesses: 1, intervalSeconds };
}

/** A result that reached a cell: when it was due, and when it arrived. */
export type Taken = Pick<ResultPayload, 'dueAtMs' | 'finishedAtMs'>;

/** Returns the decisions on results in order of arrival, as in an account that does not move. */
export function decideInOrder(
  taken: readonly (readonly Taken[])[],
  { intervalSeconds, times }: { intervalSeconds: number; times: FreezeTimes },
): Decision[] {
  return taken.flatMap((results, index) => {
    const stream = new DecisionStream(ruleOf(intervalSeconds));
    const sorted = results.toSorted((a, b) => a.finishedAtMs - b.finishedAtMs);
    return sorted.flatMap(
      ({ dueAtMs }) => stream.take(index, resultOf(dueAtMs, scriptedVerdict(index, dueAtMs, times))) ?? [],
    );
  });
}

type Result = Omit<VotedResult, 'checksVersion'>;

function resultOf(dueAtMs: number, verdict: 'up' | 'down'): Result {
  return { dueAtMs, verdict, latencyMs: null, reason: null, cause: null, httpStatus: null, phases: null, answer: null };
}

/** The streak of one source, as the evaluator keeps it. */
class DecisionStream {
  readonly #rule: StreakRule;
  state: SourceState | null = null;

  constructor(rule: StreakRule) {
    this.#rule = rule;
  }

  /** Decides on a result; returns null if it changes nothing. */
  take(index: number, result: Result): Decision | null {
    const before = this.state?.failing.tripped ?? null;
    this.state = stepSource(this.state, { ...result, checksVersion: 1 }, this.#rule);
    const after = this.state.failing.tripped;
    return after === null || after === before ? null : { index, isDown: after, dueAtMs: result.dueAtMs };
  }
}

/**
 * An account that moves, in the cell that it leaves or in the one that it joins. From the freeze on the old cell stores
 * results without deciding; the new one decides once it has them.
 */
export class MovedAccount {
  readonly #intervalSeconds: number;
  readonly #monitors: Scheduled[] = [];
  readonly #indexes = new Map<number, number>();
  readonly #startsMs: number[][] = [];
  readonly #taken: Taken[][] = [];
  readonly #streams: DecisionStream[] = [];
  readonly #decisions: Decision[] = [];
  /** Null while results are decided as they come. */
  #waiting: Waiting[] | null = null;
  #rechecks = 0;
  /** Checks that were started and whose results have not arrived yet. */
  underWay = 0;

  constructor(intervalSeconds: number) {
    this.#intervalSeconds = intervalSeconds;
  }

  add(scheduled: Scheduled): void {
    this.#indexes.set(scheduled.no, this.#monitors.length);
    this.#monitors.push(scheduled);
    this.#startsMs.push([]);
    this.#taken.push([]);
    this.#streams.push(new DecisionStream(ruleOf(this.#intervalSeconds)));
  }

  has({ no }: Scheduled): boolean {
    return this.#indexes.has(no);
  }

  list(): readonly Scheduled[] {
    return this.#monitors;
  }

  /**
   * Adds a monitor from another cell, whose results wait until its state arrives. Returns when it needs a recheck, in
   * Unix milliseconds; null if its next tick here is at most an interval after its last one there.
   */
  arrive(scheduled: Scheduled, { oldOffsetMs, flipMs }: { oldOffsetMs: number; flipMs: number }): number | null {
    this.#waiting ??= [];
    this.add(scheduled);
    const everyMs = this.#intervalSeconds * 1000;
    const slotMs = slotStartMs(this.#intervalSeconds, scheduled.slot);
    const lastMs = flipMs - 1 - ((flipMs - 1 - slotMs - oldOffsetMs) % everyMs);
    const unreadMs = Date.now() + EARLY_MS;
    const nextMs = (Math.floor((unreadMs - slotMs) / everyMs) + 1) * everyMs + slotMs + scheduled.offsetMs;
    if (nextMs - lastMs <= everyMs) return null;
    this.#rechecks += 1;
    return lastMs + everyMs;
  }

  freeze(): void {
    this.#waiting ??= [];
  }

  leave(): Arriving {
    return {
      slots: this.#monitors.map(({ slot }) => slot),
      oldOffsetsMs: this.#monitors.map(({ offsetMs }) => offsetMs),
    };
  }

  takeLeaving(): { states: (SourceState | null)[]; waiting: Waiting[] } {
    return { states: this.#streams.map(({ state }) => state), waiting: this.#waiting ?? [] };
  }

  /** Decides on the results that waited in both cells, in order of arrival. */
  takeStates({ states, waiting }: { states: (SourceState | null)[]; waiting: Waiting[] }): void {
    for (const [index, state] of states.entries()) {
      const stream = this.#streams[index];
      if (stream !== undefined) stream.state = state;
    }
    const all = [...waiting, ...(this.#waiting ?? [])];
    this.#waiting = null;
    for (const { index, result } of all.toSorted((a, b) => a.result.finishedAtMs - b.result.finishedAtMs))
      this.#decide(index, result);
  }

  recordStart({ no }: Scheduled, atMs: number): void {
    const index = this.#indexes.get(no);
    if (index === undefined) return;
    this.underWay += 1;
    this.#startsMs[index]?.push(atMs);
  }

  /** Returns the scripted verdict of a monitor; null if it is not the account's. */
  scriptedVerdict({ no }: Scheduled, { dueAtMs, ...times }: FreezeTimes & { dueAtMs: number }): 'up' | 'down' | null {
    const index = this.#indexes.get(no);
    return index === undefined ? null : scriptedVerdict(index, dueAtMs, times);
  }

  take(result: ResultPayload): void {
    const index = this.#indexes.get(result.monitorNo);
    if (index === undefined) return;
    this.underWay -= 1;
    this.#taken[index]?.push({ dueAtMs: result.dueAtMs, finishedAtMs: result.finishedAtMs });
    if (this.#waiting === null) this.#decide(index, result);
    else this.#waiting.push({ index, result });
  }

  #decide(index: number, result: ResultPayload): void {
    const decision = this.#streams[index]?.take(index, result) ?? null;
    if (decision !== null) this.#decisions.push(decision);
  }

  figures(): { startsMs: number[][]; taken: Taken[][]; rechecks: number; decisions: Decision[] } {
    return {
      startsMs: this.#startsMs,
      taken: this.#taken,
      rechecks: this.#rechecks,
      decisions: this.#decisions,
    };
  }
}
