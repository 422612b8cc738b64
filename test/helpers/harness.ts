/**
 * Ends everything that was started, in reverse order, even after a failure. A harness belongs to a test (ava's `t`), to
 * the tests of a file, to a benchmark or to a chaos run.
 */
export type Harness = {
  teardown: (end: () => unknown) => void;
  /** For a test, whether it has not failed yet. */
  readonly passed?: boolean;
  /** For a test, adds a text to its result. */
  log?: (text: string) => void;
};

/** Runs a function with a new harness, and ends everything started with it, even after an interruption. */
export type WithHarness = <Result>(work: (harness: Harness) => Promise<Result>) => Promise<Result>;

/** Creates the harnesses of a run; `closeAll` is for signals. */
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

/** Creates one harness; `close` ends everything started with it. */
export function createHarness(): { harness: Harness; close: () => Promise<void> } {
  const ends: (() => unknown)[] = [];
  return {
    harness: { teardown: (end) => void ends.push(end) },
    async close() {
      for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end();
    },
  };
}
