/** A tick of a slot when its turn comes: the newest one so far, and how many older ones it replaces. */
export type Tick = { slotBeginsAtMs: number; passedOver: number; hasWaited: boolean };

/** The queue of checks that have been read and wait to begin. */
export type LimiterQueue = { isFull: () => boolean; waitForRoom: () => Promise<void> };

type WaitingTick = { tick: Tick; begin: () => void; read: Promise<void> };

/**
 * Queues ticks that come while more checks are in hand than can begin soon. A waiting tick has read nothing yet, so the
 * queue costs no memory; each slot has one place in it, so that under overload all monitors are checked equally often.
 */
export class TickQueue {
  readonly #limiterQueue: LimiterQueue;
  readonly #waiting = new Map<string, WaitingTick>();
  #isDraining = false;

  constructor(limiterQueue: LimiterQueue) {
    this.#limiterQueue = limiterQueue;
  }

  /**
   * Waits for the turn of a slot's tick, and reads its checks. The tick behind it has its turn once they are read, or
   * could not be. Null where an earlier tick of the slot still waits: that one then takes on the newer time.
   */
  async readInTurn<Checks>(
    slot: string,
    slotBeginsAtMs: number,
    read: (tick: Tick) => Promise<Checks>,
  ): Promise<Checks | null> {
    const before = this.#waiting.get(slot);
    if (before !== undefined) {
      // The one that came last, not the one that is furthest ahead: clocks are set back.
      before.tick.slotBeginsAtMs = slotBeginsAtMs;
      before.tick.passedOver += 1;
      return null;
    }
    if (!this.#isDraining && !this.#limiterQueue.isFull())
      return await read({ slotBeginsAtMs, passedOver: 0, hasWaited: false });
    const [turn, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const tick = { slotBeginsAtMs, passedOver: 0, hasWaited: true };
    this.#waiting.set(slot, { tick, begin: turn.resolve, read: end.promise });
    if (!this.#isDraining) void this.#drain();
    await turn.promise;
    try {
      return await read(tick);
    } finally {
      end.resolve();
    }
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    for (;;) {
      await this.#limiterQueue.waitForRoom();
      const [next] = this.#waiting;
      if (next === undefined) break;
      const [slot, { begin, read }] = next;
      this.#waiting.delete(slot);
      begin();
      await read;
      // Its checks are in the limiter's queue by the next turn of the event loop; only then is it clear whether there
      // is room for more.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    this.#isDraining = false;
  }
}
