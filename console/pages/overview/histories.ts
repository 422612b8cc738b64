import { signal, type Signal } from '@preact/signals';
import { api, type Schemas } from '../../client/api.ts';

/** The past of a monitor, as a row shows it. */
export type History = Schemas['OverviewHistory'];

/** A history with the time of its last request, and the number of the request that it came from. */
type CachedHistory = { history: Signal<History | null>; requestedAtMs: number; knownFrom: number };

/** Age at which the history of a row that becomes visible is reloaded, in milliseconds. */
const FRESH_MS = 15_000;
/** Delay that skips rows which are only scrolled past, in milliseconds. */
const SETTLE_MS = 90;
/** Most ids that the API takes at a time. */
const BATCH = 50;

/** The histories of visible monitors, loaded when they become visible and cached while the page is open. */
export class Histories {
  /** Last load of the visible rows: its failure, null once all of them are loaded. */
  readonly load = { error: signal<unknown>(null), isBusy: signal(false), reload: () => this.refresh() };
  #cached = new Map<string, CachedHistory>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wanted: readonly string[] = [];
  /** Loads under way. */
  #underWay = 0;
  #requests = 0;

  /** Returns the history of a monitor; null until it is loaded. */
  of(id: string): Signal<History | null> {
    return this.#entryOf(id).history;
  }

  /** Sets the visible rows. */
  want(ids: readonly string[]): void {
    this.#wanted = ids;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(), SETTLE_MS);
  }

  /** Reloads the histories of the visible rows, however new they are. */
  async refresh(): Promise<void> {
    await this.#ask(0);
  }

  /** Cancels the pending load. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  async #ask(freshMs = FRESH_MS): Promise<void> {
    const nowMs = Date.now();
    this.#underWay += 1;
    this.load.isBusy.value = true;
    const stale = this.#wanted.filter((id) => nowMs - this.#entryOf(id).requestedAtMs >= freshMs);
    for (let start = 0; start < stale.length; start += BATCH)
      await this.#askFor(stale.slice(start, start + BATCH), nowMs);
    this.#underWay -= 1;
    this.load.isBusy.value = this.#underWay > 0;
    // In this case the rows that failed have been loaded since, or are no longer visible.
    if (this.#wanted.every((id) => this.#entryOf(id).requestedAtMs > 0)) this.load.error.value = null;
  }

  async #askFor(ids: readonly string[], nowMs: number): Promise<void> {
    for (const id of ids) this.#entryOf(id).requestedAtMs = nowMs;
    this.#requests += 1;
    const number = this.#requests;
    try {
      const { histories } = await api.get('/overview/history', { query: { ids: ids.join(',') } });
      for (const history of histories) {
        const entry = this.#entryOf(history.id);
        // A later request may have been answered first.
        if (entry.knownFrom > number) continue;
        entry.knownFrom = number;
        entry.history.value = history;
      }
    } catch (error) {
      // Rows keep their data; the history is requested again when they become visible, unless it was meanwhile.
      for (const entry of ids.map((id) => this.#entryOf(id)).filter(({ requestedAtMs }) => requestedAtMs === nowMs)) {
        entry.requestedAtMs = 0;
        this.load.error.value = error;
      }
    }
  }

  #entryOf(id: string): CachedHistory {
    const known = this.#cached.get(id);
    if (known !== undefined) return known;
    const cached = { history: signal<History | null>(null), requestedAtMs: 0, knownFrom: 0 };
    this.#cached.set(id, cached);
    return cached;
  }
}
