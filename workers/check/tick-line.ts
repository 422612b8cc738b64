/**
 * A tick of a slot as its turn comes: the newest one that has come meanwhile, and for how many older ones it stands.
 */
export type Tick = { slotBeginsAtMs: number; passedOver: number; hasWaited: boolean };

/**
 * Waits for the turn of a slot's tick and does the first part of its work; null where an earlier tick of the slot
 * still waits, which becomes this one.
 */
export type TickLine = <Begun>(
  slot: string,
  slotBeginsAtMs: number,
  begin: (tick: Tick) => Promise<Begun>,
) => Promise<Begun | null>;

/** Where checks wait that are in hand already. */
export type Hall = { isFull: () => boolean; room: () => Promise<void> };

type Waiting = { tick: Tick; begin: (tick: Tick) => Promise<void> };

/**
 * Makes the line of ticks that come while more checks are in hand than can begin soon. A tick that waits has read
 * nothing yet, so that the line costs no memory; each slot has one place in it, so that with too much to do all
 * monitors come to their turns equally often.
 */
export function createTickLine(hall: Hall): TickLine {
  const waiting = new Map<string, Waiting>();
  let isLetting = false;

  const letIn = async (): Promise<void> => {
    isLetting = true;
    for (;;) {
      await hall.room();
      const [next] = waiting;
      if (next === undefined) break;
      const [slot, { tick, begin }] = next;
      waiting.delete(slot);
      await begin(tick);
      // Its checks stand in the hall by the next turn of the event loop, and only then it can be seen whether there is
      // room for more.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    isLetting = false;
  };

  return (slot, slotBeginsAtMs, begin) => {
    const before = waiting.get(slot);
    if (before !== undefined) {
      Object.assign(before.tick, { slotBeginsAtMs, passedOver: before.tick.passedOver + 1 });
      return Promise.resolve(null);
    }
    if (!isLetting && !hall.isFull()) return begin({ slotBeginsAtMs, passedOver: 0, hasWaited: false });
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
      if (!isLetting) void letIn();
    });
  };
}
