import { forgetOldest } from './bounded-map.ts';
import { within } from './time.ts';

/**
 * Shares one call among concurrent callers with the same key. All settle as it does, and the first caller after it
 * calls anew. `keyOf` derives the key from the first parameter; without it all callers share one.
 */
export class SharedCalls<Parameters extends readonly unknown[], Result> {
  readonly #call: (...parameters: Parameters) => Promise<Result>;
  readonly #keyOf: (first: Parameters[0]) => string;
  readonly #underWay = new Map<string, Promise<Result>>();

  constructor(
    call: (...parameters: Parameters) => Promise<Result>,
    keyOf: (first: Parameters[0]) => string = () => '',
  ) {
    this.#call = call;
    this.#keyOf = keyOf;
  }

  /** Calls, or joins the running call for the same key. */
  run(...parameters: Parameters): Promise<Result> {
    const key = this.#keyOf(parameters[0]);
    const shared = this.#underWay.get(key) ?? this.#call(...parameters).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, shared);
    return shared;
  }

  /** Resolves once every call that is running now has settled, successfully or not. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }
}

/** A result, and how long to keep it, in milliseconds. */
type KeptResult<Result> = { result: Result; keptMs: number };

/**
 * Caches the result of a call for each key for as long as the call specifies, and shares the running call. Beyond
 * `most` keys the oldest results are dropped.
 */
export class KeptCalls<Result> {
  readonly #kept = new Map<string, { result: Result; atMs: number; keptMs: number }>();
  readonly #calls: SharedCalls<[key: string], Result>;
  readonly #now: () => number;
  readonly #most: number;

  constructor(call: (key: string) => Promise<KeptResult<Result>>, { now, most }: { now: () => number; most: number }) {
    this.#now = now;
    this.#most = most;
    this.#calls = new SharedCalls(
      async (key: string) => this.#keep(key, await call(key)),
      (key) => key,
    );
  }

  /** Returns the cached result of a key, or calls for one. */
  async get(key: string): Promise<Result> {
    const kept = this.#kept.get(key);
    if (kept === undefined) return await this.#calls.run(key);
    // The age is negative after the clock was set back: no result may be kept longer than allowed.
    const ageMs = this.#now() - kept.atMs;
    return ageMs >= 0 && ageMs < kept.keptMs ? kept.result : await this.#calls.run(key);
  }

  #keep(key: string, { result, keptMs }: KeptResult<Result>): Result {
    this.#kept.delete(key);
    this.#kept.set(key, { result, atMs: this.#now(), keptMs });
    forgetOldest(this.#kept, this.#most);
    return result;
  }
}

/** A call that shares a run with concurrent calls; rejects with the run's error. */
export type Batched<Item, Result> = (item: Item) => Promise<Result>;

/** A call that waits for its batch, which settles it. */
export type Waiting<Item, Result> = { item: Item; settled: PromiseWithResolvers<Result> };

/** Maximum number of items of one run. */
const MAX_ITEMS = 200;

/**
 * Time that calls wait for the current run, in milliseconds. Its statement may be waiting for a lock that does not
 * concern them.
 */
const PATIENCE_MS = 100;

/**
 * Combines calls: those made in one turn of the event loop, or during a run, share the next run. A single call waits
 * only for the end of its turn, and the busier the process, the less each one costs. `run` returns the results of its
 * items in order.
 */
export function createBatched<Item, Result>(run: (items: Item[]) => Promise<readonly Result[]>): Batched<Item, Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let isBusy = false;

  const send = async (): Promise<void> => {
    await within(PATIENCE_MS, settleBatch(waiting.splice(0, MAX_ITEMS), run), null);
    isBusy = waiting.length > 0;
    if (isBusy) void send();
  };

  return (item) => {
    const settled = Promise.withResolvers<Result>();
    waiting.push({ item, settled });
    if (!isBusy) setImmediate(() => void send());
    isBusy = true;
    return settled.promise;
  };
}

/** Runs a batch, whose results are in the order of its items, and settles each of its calls. Never rejects. */
export async function settleBatch<Item, Result>(
  batch: readonly Waiting<Item, Result>[],
  run: (items: Item[]) => Promise<readonly Result[]>,
): Promise<void> {
  try {
    const results = await run(batch.map(({ item }) => item));
    batch.forEach(({ settled }, index) => settled.resolve(results[index] as Result));
  } catch (error) {
    for (const { settled } of batch) settled.reject(error);
  }
}

/** Removes the first items and returns them: at least one, and as many more as fit in a total size of `most`. */
export function takeUpTo<Item>(items: Item[], most: number, sizeOf: (item: Item) => number): Item[] {
  let size = 0;
  const next = items.findIndex((item, index) => {
    size += sizeOf(item);
    return index > 0 && size > most;
  });
  return items.splice(0, next === -1 ? items.length : next);
}
