/**
 * A tick of a slot as its turn comes: the newest one that has come meanwhile, and for how many older ones it stands.
 */
export type Tick = { slotBeginsAtMs: number; passedOver: number; hasWaited: boolean };

/** The queue of checks that have been read and wait to begin. */
export type LimiterQueue = { isFull: () => boolean; waitForRoom: () => Promise<void> };

type WaitingTick = { tick: Tick; begin: (tick: Tick) => Promise<void> };

/**
 * Queues ticks that come while more checks are in hand than can begin soon. A tick that waits has read nothing yet, so
 * that the queue costs no memory; each slot has one place in it, so that with too much to do all monitors are checked
 * equally often.
 */
export class TickQueue {
  readonly #limiterQueue: LimiterQueue;
  readonly #waiting = new Map<string, WaitingTick>();
  #isDraining = false;

  constructor(limiterQueue: LimiterQueue) {
    this.#limiterQueue = limiterQueue;
  }

  /**
   * Waits for the turn of a slot's tick and does the first part of its work; null where an earlier tick of the slot
   * still waits, which becomes this one.
   */
  async run<Begun>(slot: string, slotBeginsAtMs: number, begin: (tick: Tick) => Promise<Begun>): Promise<Begun | null> {
    const before = this.#waiting.get(slot);
    if (before !== undefined) {
      Object.assign(before.tick, { slotBeginsAtMs, passedOver: before.tick.passedOver + 1 });
      return null;
    }
    if (!this.#isDraining && !this.#limiterQueue.isFull())
      return await begin({ slotBeginsAtMs, passedOver: 0, hasWaited: false });
    return await this.#queueUp(slot, { slotBeginsAtMs, passedOver: 0, hasWaited: true }, begin);
  }

  #queueUp<Begun>(slot: string, tick: Tick, begin: (tick: Tick) => Promise<Begun>): Promise<Begun> {
    const { promise, resolve } = Promise.withResolvers<Begun>();
    this.#waiting.set(slot, {
      tick,
      begin(newest) {
        const begun = begin(newest);
        resolve(begun);
        // The caller gets a failure; the ticks behind this one begin all the same.
        return begun.then(
          () => undefined,
          () => undefined,
        );
      },
    });
    if (!this.#isDraining) void this.#drain();
    return promise;
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    for (;;) {
      await this.#limiterQueue.waitForRoom();
      const [next] = this.#waiting;
      if (next === undefined) break;
      const [slot, { tick, begin }] = next;
      this.#waiting.delete(slot);
      await begin(tick);
      // Its checks are in the limiter's queue by the next turn of the event loop, and only then it can be seen whether
      // there is room for more.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    this.#isDraining = false;
  }
}
