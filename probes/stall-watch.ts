/**
 * How a piece of work fared in this process, in milliseconds. How long it took, for how much of that the process stood
 * still, and for how long at most at a time.
 */
type OwnTime = { tookMs: number; stalledMs: number; longestStallMs: number };

/**
 * How often the watch expects to be called while something is under way, and what it may be late without being a
 * stall, in milliseconds.
 */
const EVERY_MS = 50;
const TOLERANCE_MS = 10;

/** Watches the event loop of this process for as long as anything is under way: otherwise it costs nothing. */
export class StallWatch {
  readonly #underWay = new Set<Omit<OwnTime, 'tookMs'>>();
  #expectedAtMs = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Does some work, and says besides how this process itself fared meanwhile. Rejects as the work does. */
  async watch<Result>(work: () => Promise<Result>): Promise<{ result: Result; ownTime: OwnTime }> {
    if (this.#underWay.size === 0) this.#start();
    this.#countStall();
    const stood = { stalledMs: 0, longestStallMs: 0 };
    this.#underWay.add(stood);
    const beganMs = performance.now();
    try {
      const result = await work();
      this.#countStall();
      return { result, ownTime: { tookMs: performance.now() - beganMs, ...stood } };
    } finally {
      this.#underWay.delete(stood);
      if (this.#underWay.size === 0) clearInterval(this.#timer);
    }
  }

  #start(): void {
    this.#expectedAtMs = performance.now() + EVERY_MS;
    this.#timer = setInterval(() => {
      this.#countStall();
      this.#expectedAtMs = performance.now() + EVERY_MS;
    }, EVERY_MS);
  }

  /** Work under way has been stalled since the call that is late by now; work may begin and end before it comes. */
  #countStall(): void {
    const nowMs = performance.now();
    const lateMs = nowMs - this.#expectedAtMs;
    if (lateMs <= TOLERANCE_MS) return;
    this.#expectedAtMs = nowMs + EVERY_MS;
    for (const stood of this.#underWay) {
      stood.stalledMs += lateMs;
      stood.longestStallMs = Math.max(stood.longestStallMs, lateMs);
    }
  }
}
