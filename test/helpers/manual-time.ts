import { setImmediate } from 'node:timers/promises';

type Timer = { atMs: number; call: () => void };

/** A simulated time that only the test advances; `wake` schedules calls in it. */
export type ManualTime = {
  now: () => number;
  /** Advances with `pass` only. */
  monotonic: () => number;
  wake: (afterMs: number, call: () => void) => () => void;
  /** Advances the time: each call runs at its due time, followed by the work that it starts. */
  pass: (ms: number) => Promise<void>;
  /** Sets the wall clock, or simulates sleep: timers stay as far in the future as before. */
  jump: (ms: number) => void;
  /** Returns the number of pending calls. */
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
