/**
 * Ends everything that was started, in reverse order, even after a failure. It belongs to a test (ava's `t`), the tests
 * of a file, a benchmark or a chaos run.
 */
export type Harness = {
  teardown: (end: () => unknown) => void;
  /** Of a test: whether nothing has failed yet. */
  readonly passed?: boolean;
  /** Of a test: adds a text to its result. */
  log?: (text: string) => void;
};

/** Runs a function with its own harness, and ends what it started, even after an interruption. */
export type WithHarness = <Result>(work: (harness: Harness) => Promise<Result>) => Promise<Result>;

/** Makes the harnesses of a run; `closeAll` is for signals. */
export function createHarnesses(): { withHarness: WithHarness; closeAll: () => Promise<void> } {
  const open = new Set<() => Promise<void>>();
  return {
    async withHarness(work) {
      const { harness, close: closeOne } = createHarness();
      const close = async () => {
        await closeOne();
        open.delete(close);
      };
      open.add(close);
      try {
        return await work(harness);
      } finally {
        await close();
      }
    },
    async closeAll() {
      for (const close of [...open].toReversed()) await close();
    },
  };
}

/** Makes one harness; `close` ends what was started. */
export function createHarness(): { harness: Harness; close: () => Promise<void> } {
  const ends: (() => unknown)[] = [];
  return {
    harness: { teardown: (end) => void ends.push(end) },
    async close() {
      for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end();
    },
  };
}
