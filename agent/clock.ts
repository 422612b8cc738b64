import { agentOffsetMs, nextTickMs } from '../core/agents/ticks.ts';
import { planStart } from '../core/checks/slots.ts';
import type { Assignment } from './assignment.ts';
import type { Wake } from './wake-up.ts';

export type ClockOptions = {
  /** Measures once and hands the result on; never rejects. `plannedAtMs` is the moment it was to begin. */
  run: (assignment: Assignment, plannedAtMs: number) => Promise<void>;
  /** Probes under way at a time; those beyond wait in order. */
  concurrency: number;
  now: () => number;
  wake: Wake;
};

/** Starts the probes of all assignments, each at its own ticks. Times are Unix milliseconds. */
export type Clock = {
  /** Takes over the complete list: what is new or changed is checked at once, what is gone stops. */
  assign: (assignments: readonly Assignment[]) => void;
  /** One probe more at a moment, where that is ahead, before the monitor's next tick and beside no probe of it. */
  recheck: (monitorId: string, atMs: number) => void;
  /** True while this very assignment is in force. */
  isCurrent: (assignment: Assignment) => boolean;
  /** Starts nothing more; resolves when the running probes have ended. */
  stop: () => Promise<void>;
};

type Entry = {
  assignment: Assignment;
  /** Where its ticks lie within the interval; it also stands for the monitor where moments are spread. */
  offsetMs: number;
  dueAtMs: number;
  /** A probe outside the ticks: the first check, a recheck, a tick made up for; null for none. */
  nextCheckAtMs: number | null;
  isBusy: boolean;
};

/** A tick that is nearer than this needs no check before it. */
const NEAR_TICK_MS = 2000;

/** First checks of many monitors follow one another at this distance, so that a start is no storm. */
const FIRST_CHECKS_APART_MS = 20;

/**
 * Timers run on while the wall clock is set, and stand still while the machine sleeps. The clock is read again after
 * this at the latest.
 */
const LONGEST_SLEEP_MS = 5000;

/** Makes the clock of an agent: one timer, for whatever comes next. */
export function createClock({ run, concurrency, now, wake }: ClockOptions): Clock {
  const entries = new Map<string, Entry>();
  const queue: { entry: Entry; plannedAtMs: number }[] = [];
  let running = 0;
  let isStopped = false;
  let cancelWake = () => {};
  const idle = Promise.withResolvers<void>();

  const start = (entry: Entry, plannedAtMs: number): void => {
    entry.isBusy = true;
    if (running >= concurrency) queue.push({ entry, plannedAtMs });
    else void launch(entry, plannedAtMs);
  };

  const launch = async (entry: Entry, plannedAtMs: number): Promise<void> => {
    running += 1;
    try {
      await run(entry.assignment, plannedAtMs);
    } finally {
      running -= 1;
      entry.isBusy = false;
      launchNext();
    }
    if (isStopped && running === 0) idle.resolve();
    // A check of changed work waits for the probe of the old.
    if (entry.nextCheckAtMs !== null) runDue();
  };

  const launchNext = (): void => {
    let next = queue.shift();
    while (next !== undefined && !isHeld(next.entry)) next = queue.shift();
    if (next !== undefined) void launch(next.entry, next.plannedAtMs);
  };

  const isHeld = (entry: Entry): boolean => entries.get(entry.assignment.monitorId) === entry;

  const runDue = (): void => {
    cancelWake();
    if (isStopped) return;
    const nowMs = now();
    let nextMs = nowMs + LONGEST_SLEEP_MS;
    for (const entry of entries.values()) {
      const plannedAtMs = takeDue(entry, nowMs);
      if (plannedAtMs !== null) start(entry, plannedAtMs);
      nextMs = Math.min(
        nextMs,
        entry.dueAtMs,
        entry.isBusy ? Number.POSITIVE_INFINITY : (entry.nextCheckAtMs ?? Number.POSITIVE_INFINITY),
      );
    }
    cancelWake = wake(Math.max(0, nextMs - nowMs), runDue);
  };

  return {
    assign(assignments) {
      const nowMs = now();
      const wanted = new Set(assignments.map(({ monitorId }) => monitorId));
      for (const monitorId of entries.keys()) if (!wanted.has(monitorId)) entries.delete(monitorId);
      let firstChecks = 0;
      for (const assignment of assignments) {
        const known = entries.get(assignment.monitorId);
        if (known?.assignment.identity === assignment.identity) continue;
        const offsetMs = agentOffsetMs(assignment);
        const dueAtMs = nextTickMs({ offsetMs, intervalSeconds: assignment.intervalSeconds }, nowMs);
        const nextCheckAtMs = dueAtMs - nowMs > NEAR_TICK_MS ? nowMs + firstChecks * FIRST_CHECKS_APART_MS : null;
        if (nextCheckAtMs !== null) firstChecks += 1;
        if (known === undefined)
          entries.set(assignment.monitorId, { assignment, offsetMs, dueAtMs, nextCheckAtMs, isBusy: false });
        else Object.assign(known, { assignment, offsetMs, dueAtMs, nextCheckAtMs });
      }
      runDue();
    },
    recheck(monitorId, atMs) {
      const entry = entries.get(monitorId);
      if (entry === undefined || entry.isBusy || entry.nextCheckAtMs !== null || atMs <= now() || atMs >= entry.dueAtMs)
        return;
      entry.nextCheckAtMs = atMs;
      runDue();
    },
    isCurrent: (assignment) => entries.get(assignment.monitorId)?.assignment === assignment,
    stop() {
      isStopped = true;
      cancelWake();
      queue.length = 0;
      if (running === 0) idle.resolve();
      return idle.promise;
    },
  };
}

/**
 * The moment at which a probe of an entry was to begin, where it has come, taken from the entry. Null where there is
 * none, or a probe of it runs.
 */
function takeDue(entry: Entry, nowMs: number): number | null {
  const tickMs = takeTick(entry, nowMs);
  if (entry.isBusy) return null;
  const nextCheckAtMs = entry.nextCheckAtMs !== null && entry.nextCheckAtMs <= nowMs ? entry.nextCheckAtMs : null;
  if (tickMs !== null || nextCheckAtMs !== null) entry.nextCheckAtMs = null;
  return tickMs ?? nextCheckAtMs;
}

/**
 * Plans a tick that came much too late, because the machine slept or its clock was set forward. It runs at a moment of
 * its own before the next one, or is dropped when the next is nearer: missed ticks never run all at once. After a clock
 * was set back ticks are planned anew.
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
