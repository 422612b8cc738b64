import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../api-error.ts';

/**
 * How long the first ping of a batch waits for others, in milliseconds; while one batch is committed the next gathers.
 */
const GATHER_MS = 10;

/** Pings of one transaction. */
const MOST_A_BATCH = 500;

/** How many pings wait in memory while PostgreSQL is slow; beyond it callers are asked to come back. */
const MOST_WAITING = 5000;

type Waiting<Item, Outcome> = { item: Item; settled: PromiseWithResolvers<Outcome> };

/**
 * Makes the function that stores pings, or what they make, many in one transaction and one transaction after the other.
 * This keeps the pings of a job in order. The returned function resolves once its item is committed, and rejects where
 * the database is away or cannot keep up (503). `take` returns the outcomes of its items in order.
 */
export function createBatches<Item, Outcome>(
  take: (items: readonly Item[]) => Promise<readonly Outcome[]>,
): (item: Item) => Promise<Outcome> {
  const waiting: Waiting<Item, Outcome>[] = [];
  let isWorking = false;

  const work = async () => {
    isWorking = true;
    await delay(GATHER_MS);
    while (waiting.length > 0) await takeOne(waiting.splice(0, MOST_A_BATCH), take);
    isWorking = false;
  };

  return (item) => {
    if (waiting.length >= MOST_WAITING)
      return Promise.reject(
        new ApiError(503, 'too many pings are waiting for the database: try again in a few seconds', {
          'Retry-After': '5',
        }),
      );
    const settled = Promise.withResolvers<Outcome>();
    waiting.push({ item, settled });
    if (!isWorking) void work();
    return settled.promise;
  };
}

/** Takes one batch. Never rejects: each item gets its own outcome. */
async function takeOne<Item, Outcome>(
  batch: readonly Waiting<Item, Outcome>[],
  take: (items: readonly Item[]) => Promise<readonly Outcome[]>,
): Promise<void> {
  try {
    const outcomes = await take(batch.map(({ item }) => item));
    batch.forEach(({ settled }, index) => settled.resolve(outcomes[index] as Outcome));
  } catch (error) {
    for (const { settled } of batch) settled.reject(error);
  }
}
