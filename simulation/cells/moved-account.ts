import { EARLY_MS, slotStartMs } from '../../core/checks/slots.ts';
import { stepSource, type SourceState, type StreakRule, type VotedResult } from '../../core/incidents/source-state.ts';
import type { ResultPayload } from '../../queues/payloads.ts';
import type { Scheduled } from './plan.ts';

/** Where the monitors of an account are in the schedule of the cell that they leave, in the account's own order. */
export type Arriving = { slots: number[]; oldOffsetsMs: number[] };

/** A result of the account's monitor with that index, which waits for its decision. */
type Waiting = { index: number; result: ResultPayload };

/** What goes from one cell to the other: at the flip the schedule, and once all is over what the streaks are. */
export type Leaving =
  | ({ kind: 'schedule' } & Arriving)
  | { kind: 'states'; states: (SourceState | null)[]; waiting: Waiting[] };

/** A source became bad or good, by the result that was due then. */
export type Decision = { index: number; isDown: boolean; dueAtMs: number };

/** Of every hundred monitors one goes down in the freeze, one comes up after it, and one is down within it only. */
const SCRIPT_EVERY = 100;

type FreezeTimes = { freezeMs: number; flipMs: number };

/** What a monitor of the account shows by script at a time. */
export function scriptedVerdict(index: number, atMs: number, { freezeMs, flipMs }: FreezeTimes): 'up' | 'down' {
  const isDown = [atMs >= (freezeMs + flipMs) / 2, atMs < flipMs, atMs >= freezeMs && atMs < flipMs];
  return isDown[index % SCRIPT_EVERY] === true ? 'down' : 'up';
}

function ruleOf(intervalSeconds: number): StreakRule {
  return { downAfterFailures: 1, upAfterSuccesses: 1, intervalSeconds };
}

/** A result that reached a cell: when it was due, and when it came. */
export type Taken = Pick<ResultPayload, 'dueAtMs' | 'finishedAtMs'>;

/** The decisions on results as they came, in an account that stays where it is. */
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

  /** Null where the result changes nothing. */
  take(index: number, result: Result): Decision | null {
    const before = this.state?.failing.tripped ?? null;
    this.state = stepSource(this.state, { ...result, checksVersion: 1 }, this.#rule);
    const after = this.state.failing.tripped;
    return after === null || after === before ? null : { index, isDown: after, dueAtMs: result.dueAtMs };
  }
}

/**
 * An account that moves, in the cell that it leaves or in the one to which it comes. From the freeze on the old cell
 * decides nothing and keeps results; the new one decides once it has them.
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
  /** Checks that were started and whose results did not come yet. */
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
   * Adds a monitor that comes from another cell, whose results wait until its state is there. Returns when it needs a
   * recheck, in Unix milliseconds; null where its next tick here is at most an interval after its last one there.
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

  /** Decides on what waited in both cells, in the order in which it came. */
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

  /** What the script says of a monitor; null where it is not the account's. */
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
