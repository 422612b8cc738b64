/**
 * What has an end, after which nothing that was started may be left: a test (ava's `t`), all tests of a file, a
 * benchmark, a chaos run. What is to be done then is done in reverse order, also after a failure.
 */
export type Harness = { teardown: (end: () => unknown) => void };

/** Runs a work with a harness of its own and ends what that started, an interrupted run's as well. */
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

/** Makes one harness, which `close` takes down; what is added meanwhile ends too. */
export function createHarness(): { harness: Harness; close: () => Promise<void> } {
  const ends: (() => unknown)[] = [];
  return {
    harness: { teardown: (end) => void ends.push(end) },
    async close() {
      for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end();
    },
  };
}
