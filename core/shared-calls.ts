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
