/** Ends everything that a benchmark started, in reverse order, also after a failure. */
export type Harness = { defer: (end: () => Promise<unknown>) => void };

/** Runs a function with its own harness, and ends what it started, also after an interruption. */
export type WithHarness = <Result>(work: (harness: Harness) => Promise<Result>) => Promise<Result>;

/** Makes the harnesses of a run; `closeAll` is for signals. */
export function createHarnesses(): { withHarness: WithHarness; closeAll: () => Promise<void> } {
  const open = new Set<() => Promise<void>>();
  return {
    async withHarness(work) {
      const ends: (() => Promise<unknown>)[] = [];
      const close = async () => {
        for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end();
        open.delete(close);
      };
      open.add(close);
      try {
        return await work({ defer: (end) => void ends.push(end) });
      } finally {
        await close();
      }
    },
    async closeAll() {
      for (const close of [...open].toReversed()) await close();
    },
  };
}
