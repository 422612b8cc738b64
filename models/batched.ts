import { within } from '../core/time.ts';
/** A call whose statement is shared with the calls that come meanwhile; rejects with the statement's failure. */
export type Batched<Item, Result> = (item: Item) => Promise<Result>;

type Waiting<Item, Result> = { item: Item; settled: PromiseWithResolvers<Result> };

/** More than a statement takes at a time. */
const MOST_ITEMS = 200;

/**
 * Calls wait no longer than this for a statement that is under way, in milliseconds. It may wait for a lock that is
 * none of theirs.
 */
const PATIENCE_MS = 100;

/**
 * Makes one call of many: what is asked for while a statement is under way goes out together after it. Nothing waits on
 * purpose: a call that comes alone goes out at once, and the busier the process, the less each one costs. `run` answers
 * its items in order.
 */
export function createBatched<Item, Result>(run: (items: Item[]) => Promise<readonly Result[]>): Batched<Item, Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let isBusy = false;

  const send = async (): Promise<void> => {
    isBusy = true;
    await within(PATIENCE_MS, settle(waiting.splice(0, MOST_ITEMS)), null);
    isBusy = false;
    if (waiting.length > 0) void send();
  };

  const settle = async (batch: readonly Waiting<Item, Result>[]): Promise<void> => {
    try {
      const results = await run(batch.map(({ item }) => item));
      batch.forEach(({ settled }, index) => settled.resolve(results[index] as Result));
    } catch (error) {
      for (const { settled } of batch) settled.reject(error);
    }
  };

  return (item) => {
    const settled = Promise.withResolvers<Result>();
    waiting.push({ item, settled });
    if (!isBusy) void send();
    return settled.promise;
  };
}
