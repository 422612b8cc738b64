/** What a benchmark has started: everything is ended in reverse order, whatever happened in between. */
export type Stand = { defer: (end: () => Promise<unknown>) => void };

/** Runs some work on a stand of its own and ends what it started, an interrupted run's as well. */
export type WithStand = <Result>(work: (stand: Stand) => Promise<Result>) => Promise<Result>;

/** Makes the stands of a run; `closeAll` is for signals. */
export function createStands(): { withStand: WithStand; closeAll: () => Promise<void> } {
  const open = new Set<() => Promise<void>>();
  return {
    async withStand(work) {
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
