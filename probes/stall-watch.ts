/**
 * How a piece of work fared in this process, in milliseconds: how long it took, for how much of that the process stood
 * still, and for how long at most at a time.
 */
export type OwnTime = { tookMs: number; stalledMs: number; longestStallMs: number };

/** Does some work, and says besides how this process itself fared meanwhile. Rejects as the work does. */
export type StallWatch = <Result>(work: () => Promise<Result>) => Promise<{ result: Result; ownTime: OwnTime }>;

/**
 * How often the watch expects to be called while something is under way, and what it may be late without being a
 * stand-still, in milliseconds.
 */
const EVERY_MS = 50;
const TOLERANCE_MS = 10;

/** Watches the event loop of this process for as long as anything is under way: otherwise it costs nothing. */
export function createStallWatch(): StallWatch {
  const underWay = new Set<Omit<OwnTime, 'tookMs'>>();
  let expectedAtMs = 0;
  let timer: NodeJS.Timeout | undefined;

  /**
   * Work under way has stood still since the call that is late by now; work may begin and end before it comes.
   */
  const countStall = (): void => {
    const nowMs = performance.now();
    const lateMs = nowMs - expectedAtMs;
    if (lateMs <= TOLERANCE_MS) return;
    expectedAtMs = nowMs + EVERY_MS;
    for (const stood of underWay) {
      stood.stalledMs += lateMs;
      stood.longestStallMs = Math.max(stood.longestStallMs, lateMs);
    }
  };
  const expectNext = (): void => {
    countStall();
    expectedAtMs = performance.now() + EVERY_MS;
  };

  return async (work) => {
    if (underWay.size === 0) {
      expectedAtMs = performance.now() + EVERY_MS;
      timer = setInterval(expectNext, EVERY_MS);
    }
    countStall();
    const stood = { stalledMs: 0, longestStallMs: 0 };
    underWay.add(stood);
    const beganMs = performance.now();
    try {
      const result = await work();
      countStall();
      return { result, ownTime: { tookMs: performance.now() - beganMs, ...stood } };
    } finally {
      underWay.delete(stood);
      if (underWay.size === 0) clearInterval(timer);
    }
  };
}
