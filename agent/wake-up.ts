/** Calls back once after the given milliseconds, unless what it returns is called before. */
export type Wake = (afterMs: number, call: () => void) => () => void;

/** One pending call at the most: asked for twice, it comes at the earlier moment. Moments are Unix milliseconds. */
export type WakeUp = { at: (atMs: number) => void; cancel: () => void };

/** Makes a wake-up for one duty. */
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
