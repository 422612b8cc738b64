import { setImmediate } from 'node:timers/promises';

type Timer = { atMs: number; call: () => void };

/** A time that only moves when a test says so; `wake` calls back in it. */
export type ManualTime = {
  now: () => number;
  /** Moves on with `pass` alone. */
  monotonic: () => number;
  wake: (afterMs: number, call: () => void) => () => void;
  /**
   * Moves on by so much: whatever is due on the way is called at its own moment, and what follows from it gets its
   * turn.
   */
  pass: (ms: number) => Promise<void>;
  /** The wall clock is set, or the machine slept: timers stay as far ahead as they were. */
  jump: (ms: number) => void;
  /** How many calls are pending. */
  pending: () => number;
};

export function manualTime(startMs = 1_800_000_000_000): ManualTime {
  let nowMs = startMs;
  let jumpedMs = 0;
  let timers: Timer[] = [];
  return {
    now: () => nowMs,
    monotonic: () => nowMs - jumpedMs,
    wake(afterMs, call) {
      const timer = { atMs: nowMs + afterMs, call };
      timers.push(timer);
      return () => void (timers = timers.filter((other) => other !== timer));
    },
    async pass(ms) {
      const endMs = nowMs + ms;
      for (;;) {
        const [next] = timers.filter(({ atMs }) => atMs <= endMs).toSorted((a, b) => a.atMs - b.atMs);
        if (next === undefined) break;
        timers = timers.filter((timer) => timer !== next);
        nowMs = Math.max(nowMs, next.atMs);
        next.call();
        await setImmediate();
      }
      nowMs = endMs;
      await setImmediate();
    },
    jump(ms) {
      nowMs += ms;
      jumpedMs += ms;
      for (const timer of timers) timer.atMs += ms;
    },
    pending: () => timers.length,
  };
}
