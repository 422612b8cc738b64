/** Milliseconds between two records of an activity by a process: readers need minutes, not moments. */
const RECORD_EVERY_MS = 10_000;

export type ThrottledRecorderParts<Name> = {
  store: (name: Name, nowMs: number) => Promise<void>;
  onFailure: (error: unknown) => void;
};

/** Records what this process has completed, or could not. Most calls do nothing. */
export class ThrottledRecorder<Name> {
  readonly #parts: ThrottledRecorderParts<Name>;
  readonly #recordedAtMs = new Map<Name, number>();

  constructor(parts: ThrottledRecorderParts<Name>) {
    this.#parts = parts;
  }

  /** Never rejects: a call that fails is made up for by the next. */
  async record(name: Name, nowMs: number): Promise<void> {
    // A clock that was set back records anew at once.
    if (Math.abs(nowMs - (this.#recordedAtMs.get(name) ?? 0)) < RECORD_EVERY_MS) return;
    this.#recordedAtMs.set(name, nowMs);
    try {
      await this.#parts.store(name, nowMs);
    } catch (error) {
      this.#recordedAtMs.delete(name);
      this.#parts.onFailure(error);
    }
  }
}
