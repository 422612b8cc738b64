import type { Hall } from './tick-line.ts';

/** Lets so many pass at once; the others wait in order. Before it is a hall: `room` resolves when it is not full. */
export type Gate = Hall & { pass: <Result>(work: () => Promise<Result>) => Promise<Result> };

/**
 * `width` is how many are inside at a time, `perTurn` how many begin in one turn of the event loop: when more is due
 * than can be done, turns would otherwise take seconds, and everything that needs several of them, as fetching the next
 * job does, would come to a standstill. The hall is full when as many wait as are inside.
 */
export type GateSize = { width: number; perTurn: number };

/**
 * Whoever waits knows who comes after: taking the first of an array costs as much as the array is long, and after an
 * outage that is everybody.
 */
type Waiter = { pass: () => void; next: Waiter | null };

/** Makes a gate; nobody passes those who wait. */
export function createGate({ width, perTurn }: GateSize): Gate {
  let first: Waiter | null = null;
  let last: Waiter | null = null;
  let inside = 0;
  let begun = 0;
  let waiting = 0;
  const onRoom: (() => void)[] = [];

  const isFull = () => waiting >= width;
  const hasRoom = () => inside < width && begun < perTurn;
  const enter = () => {
    inside += 1;
    begun += 1;
    if (begun === 1) setImmediate(beginTurn);
  };
  const queueUp = (pass: () => void) => {
    const waiter: Waiter = { pass, next: null };
    if (last === null) first = waiter;
    else last.next = waiter;
    last = waiter;
    waiting += 1;
  };
  const letIn = () => {
    while (first !== null && hasRoom()) {
      const { pass, next }: Waiter = first;
      first = next;
      if (next === null) last = null;
      waiting -= 1;
      enter();
      pass();
    }
    if (isFull()) return;
    for (const tell of onRoom.splice(0)) tell();
  };
  const beginTurn = () => {
    begun = 0;
    letIn();
  };

  return {
    isFull,
    room: () => (isFull() ? new Promise((resolve) => onRoom.push(resolve)) : Promise.resolve()),
    async pass(work) {
      if (first === null && hasRoom()) enter();
      else await new Promise<void>(queueUp);
      try {
        return await work();
      } finally {
        inside -= 1;
        letIn();
      }
    },
  };
}
