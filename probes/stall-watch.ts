/** Does some work, and says besides for how many milliseconds this process stood still meanwhile. Rejects as the work does. */
export type StallWatch = <Result>(work: () => Promise<Result>) => Promise<{ result: Result; stalledMs: number }>;

/** How often the watch expects to be called while something is under way, and what it may be late without being a stand-still, in milliseconds. */
const EVERY_MS = 50;
const TOLERANCE_MS = 10;

/** Watches the event loop of this process for as long as anything is under way: otherwise it costs nothing. */
export function createStallWatch(): StallWatch {
  let underWay = 0;
  let stalledMs = 0;
  let calledAtMs = 0;
  let timer: NodeJS.Timeout | undefined;

  /** How late the next call is already: work may go on before it comes. */
  const lateness = (): number => {
    const lateMs = performance.now() - calledAtMs - EVERY_MS;
    return lateMs > TOLERANCE_MS ? lateMs : 0;
  };
  const look = (): void => {
    stalledMs += lateness();
    calledAtMs = performance.now();
  };

  return async (work) => {
    if (underWay === 0) {
      calledAtMs = performance.now();
      timer = setInterval(look, EVERY_MS);
    }
    underWay += 1;
    const beganMs = stalledMs + lateness();
    try {
      const result = await work();
      return { result, stalledMs: stalledMs + lateness() - beganMs };
    } finally {
      underWay -= 1;
      if (underWay === 0) clearInterval(timer);
    }
  };
}
