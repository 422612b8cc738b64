/**
 * A tick of a slot as its turn comes: the newest one that has come meanwhile, and for how many older ones it stands.
 */
export type Tick = { slotBeginsAtMs: number; passedOver: number; hasWaited: boolean };

/** The queue of checks that have been read and wait to begin. */
export type LimiterQueue = { isFull: () => boolean; waitForRoom: () => Promise<void> };

type WaitingTick = { tick: Tick; begin: (tick: Tick) => void };

/**
 * Queues ticks that come while more checks are in hand than can begin soon. A tick that waits has read nothing yet, so
 * that the queue costs no memory; each slot has one place in it, so that with too much to do all monitors are checked
 * equally often.
 */
export class TickQueue {
  readonly #limiterQueue: LimiterQueue;
  readonly #waiting = new Map<string, WaitingTick>();
  #isDraining = false;
  /** The tick that had its turn last, until it leaves. */
  #begun: { tick: Tick; leave: () => void } | null = null;

  constructor(limiterQueue: LimiterQueue) {
    this.#limiterQueue = limiterQueue;
  }

  /**
   * Waits for the turn of a slot's tick; null where an earlier tick of the slot still waits, which becomes this one.
   * A tick that has its turn must `leave` when its checks are read, or could not be.
   */
  async enter(slot: string, slotBeginsAtMs: number): Promise<Tick | null> {
    const before = this.#waiting.get(slot);
    if (before !== undefined) {
      Object.assign(before.tick, { slotBeginsAtMs, passedOver: before.tick.passedOver + 1 });
      return null;
    }
    if (!this.#isDraining && !this.#limiterQueue.isFull()) return { slotBeginsAtMs, passedOver: 0, hasWaited: false };
    const { promise: turn, resolve: begin } = Promise.withResolvers<Tick>();
    this.#waiting.set(slot, { tick: { slotBeginsAtMs, passedOver: 0, hasWaited: true }, begin });
    if (!this.#isDraining) void this.#drain();
    return await turn;
  }

  /** Lets the tick behind this one have its turn. */
  leave(tick: Tick): void {
    if (this.#begun?.tick === tick) this.#begun.leave();
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    for (;;) {
      await this.#limiterQueue.waitForRoom();
      const [next] = this.#waiting;
      if (next === undefined) break;
      const [slot, { tick, begin }] = next;
      this.#waiting.delete(slot);
      const { promise: left, resolve: leave } = Promise.withResolvers<void>();
      this.#begun = { tick, leave };
      begin(tick);
      await left;
      // Its checks are in the limiter's queue by the next turn of the event loop, and only then it can be seen whether
      // there is room for more.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    this.#isDraining = false;
  }
}
