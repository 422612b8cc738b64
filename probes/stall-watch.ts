/**
 * Timing of work in this process, in milliseconds: its duration, the total time that the process stalled meanwhile, and
 * the longest single stall.
 */
type OwnTime = { tookMs: number; stalledMs: number; longestStallMs: number };

/**
 * Interval at which the timer fires while work is running, and the delay that does not count as a stall, in
 * milliseconds.
 */
const EVERY_MS = 50;
const TOLERANCE_MS = 10;

/** Watches this process's event loop while any work is running; otherwise it costs nothing. */
export class StallWatch {
  readonly #underWay = new Set<Omit<OwnTime, 'tookMs'>>();
  #expectedAtMs = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Runs work, and also returns how this process fared meanwhile. Rejects as the work does. */
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

  /** Adds a stall to all running work as soon as the timer is late; work may begin and end before it fires. */
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
