import { agentOffsetMs, nextTickMs } from '../core/agents/ticks.ts';
import { planStart } from '../core/checks/slots.ts';
import type { Assignment } from './work.ts';

type ClockOptions = {
  /** Measures once and passes the result on; never rejects. `plannedAtMs` is the planned start. */
  run: (assignment: Assignment, plannedAtMs: number) => Promise<void>;
  /** Maximum simultaneous probes; others wait in order. */
  concurrency: number;
  now: () => number;
  wake: Wake;
};

type Entry = {
  assignment: Assignment;
  /** Offset of its ticks within the interval, which also represents the monitor when start times are spread. */
  offsetMs: number;
  dueAtMs: number;
  /** Time of a probe outside the ticks: the first check, a recheck or a delayed tick; null if there is none. */
  nextCheckAtMs: number | null;
  isBusy: boolean;
};

/** A new or changed monitor is not checked at once if its next tick is nearer than this, in milliseconds. */
const NEAR_TICK_MS = 2000;

/** Interval between first checks of many monitors, in milliseconds, so that a start causes no burst. */
const FIRST_CHECKS_APART_MS = 20;

/**
 * Maximum time until the clock is read again, in milliseconds: timers ignore changes of the wall clock, and pause while
 * the machine sleeps.
 */
const LONGEST_SLEEP_MS = 5000;

/**
 * Starts the probes of all assignments, each at its own ticks, with one timer for the next event. Times are Unix
 * milliseconds.
 */
export class Clock {
  readonly #options: ClockOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #queue: { entry: Entry; plannedAtMs: number }[] = [];
  readonly #idle = Promise.withResolvers<void>();
  #running = 0;
  #isStopped = false;
  #cancelWake = () => {};

  constructor(options: ClockOptions) {
    this.#options = options;
  }

  /** Applies the complete list: new or changed assignments are checked at once, missing ones stop. */
  assign(assignments: readonly Assignment[]): void {
    const nowMs = this.#options.now();
    const wanted = new Set(assignments.map(({ monitorId }) => monitorId));
    for (const monitorId of this.#entries.keys()) if (!wanted.has(monitorId)) this.#entries.delete(monitorId);
    let firstChecks = 0;
    for (const assignment of assignments) {
      const known = this.#entries.get(assignment.monitorId);
      if (known?.assignment.identity === assignment.identity) continue;
      const offsetMs = agentOffsetMs(assignment);
      const dueAtMs = nextTickMs({ offsetMs, intervalSeconds: assignment.intervalSeconds }, nowMs);
      const nextCheckAtMs = dueAtMs - nowMs > NEAR_TICK_MS ? nowMs + firstChecks * FIRST_CHECKS_APART_MS : null;
      if (nextCheckAtMs !== null) firstChecks += 1;
      if (known === undefined)
        this.#entries.set(assignment.monitorId, { assignment, offsetMs, dueAtMs, nextCheckAtMs, isBusy: false });
      else Object.assign(known, { assignment, offsetMs, dueAtMs, nextCheckAtMs });
    }
    this.#runDue();
  }

  /**
   * Adds a probe at `atMs`. That must be in the future and before the monitor's next tick, with no other probe of it
   * running or planned.
   */
  recheck(monitorId: string, atMs: number): void {
    const entry = this.#entries.get(monitorId);
    if (entry === undefined || entry.isBusy || entry.nextCheckAtMs !== null) return;
    if (atMs <= this.#options.now() || atMs >= entry.dueAtMs) return;
    entry.nextCheckAtMs = atMs;
    this.#runDue();
  }

  /** Reports whether exactly this assignment is in force. */
  isCurrent(assignment: Assignment): boolean {
    return this.#entries.get(assignment.monitorId)?.assignment === assignment;
  }

  /** Starts no further probe; resolves when the running ones have ended. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelWake();
    this.#queue.length = 0;
    if (this.#running === 0) this.#idle.resolve();
    return this.#idle.promise;
  }

  #runDue(): void {
    this.#cancelWake();
    if (this.#isStopped) return;
    const nowMs = this.#options.now();
    let nextMs = nowMs + LONGEST_SLEEP_MS;
    for (const entry of this.#entries.values()) {
      const plannedAtMs = takeDue(entry, nowMs);
      if (plannedAtMs !== null) this.#start(entry, plannedAtMs);
      nextMs = Math.min(
        nextMs,
        entry.dueAtMs,
        entry.isBusy ? Number.POSITIVE_INFINITY : (entry.nextCheckAtMs ?? Number.POSITIVE_INFINITY),
      );
    }
    this.#cancelWake = this.#options.wake(Math.max(0, nextMs - nowMs), () => this.#runDue());
  }

  #start(entry: Entry, plannedAtMs: number): void {
    entry.isBusy = true;
    if (this.#running >= this.#options.concurrency) this.#queue.push({ entry, plannedAtMs });
    else void this.#launch(entry, plannedAtMs);
  }

  async #launch(entry: Entry, plannedAtMs: number): Promise<void> {
    this.#running += 1;
    try {
      await this.#options.run(entry.assignment, plannedAtMs);
    } finally {
      this.#running -= 1;
      entry.isBusy = false;
      this.#launchNext();
    }
    if (this.#isStopped && this.#running === 0) this.#idle.resolve();
    // A check of changed work waits for the probe of the old work.
    if (entry.nextCheckAtMs !== null) this.#runDue();
  }

  #launchNext(): void {
    let next = this.#queue.shift();
    while (next !== undefined && !this.#isHeld(next.entry)) next = this.#queue.shift();
    if (next !== undefined) void this.#launch(next.entry, next.plannedAtMs);
  }

  #isHeld(entry: Entry): boolean {
    return this.#entries.get(entry.assignment.monitorId) === entry;
  }
}

/**
 * Returns the planned start of a due probe, and removes it from the entry. Null if none is due, or a probe of the entry
 * runs.
 */
function takeDue(entry: Entry, nowMs: number): number | null {
  const tickMs = takeTick(entry, nowMs);
  if (entry.isBusy) return null;
  const nextCheckAtMs = entry.nextCheckAtMs !== null && entry.nextCheckAtMs <= nowMs ? entry.nextCheckAtMs : null;
  if (tickMs !== null || nextCheckAtMs !== null) entry.nextCheckAtMs = null;
  return tickMs ?? nextCheckAtMs;
}

/**
 * Returns the time of a due tick, and plans one that is much too late because the machine slept or its clock was set
 * forward. That one runs at its own time before the next tick, or is dropped if the next is nearer: missed ticks never
 * run all at once. After the clock was set back, ticks are planned anew.
 */
function takeTick(entry: Entry, nowMs: number): number | null {
  const { offsetMs, dueAtMs } = entry;
  const { intervalSeconds } = entry.assignment;
  const intervalMs = intervalSeconds * 1000;
  if (dueAtMs > nowMs && dueAtMs - nowMs <= intervalMs) return null;
  entry.dueAtMs = nextTickMs({ offsetMs, intervalSeconds }, nowMs);
  const startAtMs = dueAtMs > nowMs ? null : planStart({ dueAtMs, intervalMs, monitorNo: offsetMs }, nowMs);
  if (startAtMs !== null && startAtMs <= nowMs) return dueAtMs;
  entry.nextCheckAtMs ??= startAtMs;
  return null;
}

/** Calls back once after the given milliseconds, unless the returned function is called first. */
export type Wake = (afterMs: number, call: () => void) => () => void;

/** At most one pending call, at the earliest of the requested times, in Unix milliseconds. */
export type WakeUp = { at: (atMs: number) => void; cancel: () => void };

/** Creates a wake-up for one task. */
export function createWakeUp({ now, wake }: { now: () => number; wake: Wake }, call: () => void): WakeUp {
  let pending: { atMs: number; cancel: () => void } | null = null;
  return {
    at(atMs) {
      if (pending !== null && pending.atMs <= atMs) return;
      pending?.cancel();
      const mine = {
        atMs,
        cancel: wake(Math.max(0, atMs - now()), () => {
          pending = null;
          call();
        }),
      };
      pending = mine;
    },
    cancel() {
      pending?.cancel();
      pending = null;
    },
  };
}
