import { signal, type Signal } from '@preact/signals';
import { api, type Schemas } from '../../client/api.ts';

/** What a row shows of a monitor's past. */
export type History = Schemas['OverviewHistory'];

type Kept = { history: Signal<History | null>; askedAtMs: number };

/** What was asked for is good for so long, in milliseconds: a day of ninety changes slowly. */
const FRESH_MS = 5 * 60_000;
/** Who scrolls past is not asked for. */
const SETTLE_MS = 90;
/** The API takes as many at a time. */
const BATCH = 50;

/** The pasts of the monitors in sight: asked for when they come into sight, and kept while the page is there. */
export class Histories {
  #kept = new Map<string, Kept>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wanted: readonly string[] = [];

  /** The past of a monitor; null until it is there. */
  of(id: string): Signal<History | null> {
    return this.#keep(id).history;
  }

  /** These are in sight. */
  want(ids: readonly string[]): void {
    this.#wanted = ids;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(), SETTLE_MS);
  }

  /** Nothing is in sight any more. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  async #ask(): Promise<void> {
    const nowMs = Date.now();
    const stale = this.#wanted.filter((id) => nowMs - this.#keep(id).askedAtMs > FRESH_MS);
    for (let start = 0; start < stale.length; start += BATCH)
      await this.#askFor(stale.slice(start, start + BATCH), nowMs);
  }

  async #askFor(ids: readonly string[], nowMs: number): Promise<void> {
    for (const id of ids) this.#keep(id).askedAtMs = nowMs;
    try {
      const { histories } = await api.get('/overview/history', { query: { ids: ids.join(',') } });
      for (const history of histories) this.#keep(history.id).history.value = history;
    } catch {
      // The rows say what they know without; what comes into sight next asks again.
      for (const id of ids) this.#keep(id).askedAtMs = 0;
    }
  }

  #keep(id: string): Kept {
    const known = this.#kept.get(id);
    if (known !== undefined) return known;
    const kept = { history: signal<History | null>(null), askedAtMs: 0 };
    this.#kept.set(id, kept);
    return kept;
  }
}
