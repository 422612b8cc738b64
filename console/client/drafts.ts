/** The key in session storage, which a tab keeps to itself and forgets when it is closed. */
const KEY = 'drafts';

/** The most characters that are stored; browsers allow some five million per site. */
const MOST_CHARACTERS = 1_000_000;

/** What was typed when the session of `userId` ended, by the name of the draft. */
type Stored = { userId: string; drafts: Readonly<Record<string, unknown>> };

/**
 * Input that was typed but not sent when the session ended. It is restored once, for the same user and in the same tab.
 * Forms leave secrets out.
 */
class Drafts {
  readonly #open = new Map<string, () => unknown>();
  #stored: Stored | null = readStorage();

  /** Whether there is anything to restore. */
  get isAny(): boolean {
    return this.#stored !== null && Object.keys(this.#stored.drafts).length > 0;
  }

  /** Watches the input of an open form until the returned function is called; `read` returns undefined without any. */
  watch(name: string, read: () => unknown): () => void {
    this.#open.set(name, read);
    return () => {
      if (this.#open.get(name) === read) this.#open.delete(name);
    };
  }

  /** Takes what was typed into a form; undefined if there is nothing. What another user typed is dropped. */
  take(name: string, userId: string): unknown {
    if (this.#stored === null) return undefined;
    if (this.#stored.userId !== userId) {
      this.clear();
      return undefined;
    }
    const { [name]: taken, ...drafts } = this.#stored.drafts;
    if (taken !== undefined) this.#store({ userId, drafts });
    return taken;
  }

  /** Stores the input of all open forms, because the session of `userId` has ended. */
  store(userId: string): void {
    const before = this.#stored?.userId === userId ? this.#stored.drafts : {};
    const drafts = [...this.#open].map(([name, read]) => [name, read()] as const);
    this.#store({
      userId,
      drafts: { ...before, ...Object.fromEntries(drafts.filter(([, value]) => value !== undefined)) },
    });
  }

  /** Drops everything, as when the user signs out. */
  clear(): void {
    this.#store(null);
  }

  #store(stored: Stored | null): void {
    this.#stored = stored;
    try {
      const text = stored === null ? '' : JSON.stringify(stored);
      if (text === '' || text.length > MOST_CHARACTERS) sessionStorage.removeItem(KEY);
      else sessionStorage.setItem(KEY, text);
    } catch {
      // Without storage the input lasts until the tab is reloaded.
    }
  }
}

function readStorage(): Stored | null {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Stored | null;
  } catch {
    return null;
  }
}

/** The drafts of this tab. */
export const drafts = new Drafts();
