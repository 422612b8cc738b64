/** Lets so many pass at once; the others wait in order. */
export type Gate = <Result>(work: () => Promise<Result>) => Promise<Result>;

/**
 * `width` is how many are inside at a time, `perTurn` how many begin in one turn of the event loop: when more is due than can be done, turns
 * would otherwise take seconds, and everything that needs several of them, as fetching the next job does, would come to a standstill.
 */
export type GateSize = { width: number; perTurn: number };

/** Whoever waits knows who comes after: taking the first of an array costs as much as the array is long, and after an outage that is everybody. */
type Waiter = { pass: () => void; next: Waiter | null };

/** Makes a gate; nobody passes those who wait. */
export function createGate({ width, perTurn }: GateSize): Gate {
  let first: Waiter | null = null;
  let last: Waiter | null = null;
  let inside = 0;
  let begun = 0;

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
  };
  const letIn = () => {
    while (first !== null && hasRoom()) {
      const { pass, next }: Waiter = first;
      first = next;
      if (next === null) last = null;
      enter();
      pass();
    }
  };
  const beginTurn = () => {
    begun = 0;
    letIn();
  };

  return async (work) => {
    if (first === null && hasRoom()) enter();
    else await new Promise<void>(queueUp);
    try {
      return await work();
    } finally {
      inside -= 1;
      letIn();
    }
  };
}
