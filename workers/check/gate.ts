/** Lets so many pass at once; the others wait in order. */
export type Gate = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Makes a gate for at most `width` pieces of work at a time. */
export function createGate(width: number): Gate {
  const waiting: (() => void)[] = [];
  let inside = 0;
  return async (work) => {
    if (inside >= width) await new Promise<void>((resolve) => waiting.push(resolve));
    else inside += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      // A place is handed over, not given back: nobody can slip in between.
      if (next === undefined) inside -= 1;
      else next();
    }
  };
}
