import { forgetOldest } from './bounded-map.ts';

/**
 * Shares a call among those who ask for the same while it is under way. All settle as it does, and the first one after
 * it calls anew. What is asked for goes by the call's first parameter; without `keyOf` all ask for the same.
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

  /** Calls, or joins the call under way for the same key. */
  run(...parameters: Parameters): Promise<Result> {
    const key = this.#keyOf(parameters[0]);
    const shared = this.#underWay.get(key) ?? this.#call(...parameters).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, shared);
    return shared;
  }

  /** Resolves when every call that is under way now has settled, whatever came of it. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }
}

/** A result, and how long it may be kept, in milliseconds. */
type KeptResult<Result> = { result: Result; keptMs: number };

/**
 * Keeps the result of a call for each key for as long as the call says, and shares the call that is under way. Of more
 * than `most` keys the oldest results go.
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

  /** The kept result of a key, or that of a call. */
  async get(key: string): Promise<Result> {
    const kept = this.#kept.get(key);
    if (kept === undefined) return await this.#calls.run(key);
    // Negative after a clock was set back: nothing is kept for longer than it may be.
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
