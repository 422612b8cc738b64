/**
 * A tick of a slot as its turn comes: the newest one that has come meanwhile, and for how many older ones it stands.
 */
export type Tick = { slotBeginsAtMs: number; passedOver: number; hasWaited: boolean };

/**
 * Waits for the turn of a slot's tick and does the first part of its work; null where an earlier tick of the slot
 * still waits, which becomes this one.
 */
export type TickQueue = <Begun>(
  slot: string,
  slotBeginsAtMs: number,
  begin: (tick: Tick) => Promise<Begun>,
) => Promise<Begun | null>;

/** The queue of checks that have been read and wait to begin. */
export type LimiterQueue = { isFull: () => boolean; waitForRoom: () => Promise<void> };

type Waiting = { tick: Tick; begin: (tick: Tick) => Promise<void> };

/**
 * Makes the queue of ticks that come while more checks are in hand than can begin soon. A tick that waits has read
 * nothing yet, so that the queue costs no memory; each slot has one place in it, so that with too much to do all
 * monitors are checked equally often.
 */
export function createTickQueue(limiterQueue: LimiterQueue): TickQueue {
  const waiting = new Map<string, Waiting>();
  let isDraining = false;

  const drain = async (): Promise<void> => {
    isDraining = true;
    for (;;) {
      await limiterQueue.waitForRoom();
      const [next] = waiting;
      if (next === undefined) break;
      const [slot, { tick, begin }] = next;
      waiting.delete(slot);
      await begin(tick);
      // Its checks are in the limiter's queue by the next turn of the event loop, and only then it can be seen whether
      // there is room for more.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    isDraining = false;
  };

  return (slot, slotBeginsAtMs, begin) => {
    const before = waiting.get(slot);
    if (before !== undefined) {
      Object.assign(before.tick, { slotBeginsAtMs, passedOver: before.tick.passedOver + 1 });
      return Promise.resolve(null);
    }
    if (!isDraining && !limiterQueue.isFull()) return begin({ slotBeginsAtMs, passedOver: 0, hasWaited: false });
    return new Promise((resolve) => {
      waiting.set(slot, {
        tick: { slotBeginsAtMs, passedOver: 0, hasWaited: true },
        begin(tick) {
          const begun = begin(tick);
          resolve(begun);
          // Whoever waits for the tick gets a failure; those behind it are let in all the same.
          return begun.then(
            () => undefined,
            () => undefined,
          );
        },
      });
      if (!isDraining) void drain();
    });
  };
}
