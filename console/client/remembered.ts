import { signal } from '@preact/signals';
import { signedIn } from './session-state.ts';

/**
 * Something that a browser remembers of one account, such as that its checklist was closed. A browser that stores
 * nothing remembers it until the page is closed.
 */
export class Remembered {
  readonly #key: string;
  readonly #tenantId = signal<string | null>(null);

  /** `name` is the name of the entry in the browser's storage. */
  constructor(name: string) {
    this.#key = `spotcheck:${name}`;
    try {
      this.#tenantId.value = window.localStorage.getItem(this.#key);
    } catch {
      // Storage is forbidden here.
    }
  }

  /** Whether it holds for the account of the session; a signal, for components to follow. */
  get holds(): boolean {
    return this.#tenantId.value === signedIn().tenant.id;
  }

  /** Remembers it for the account of the session. */
  set(): void {
    const { id } = signedIn().tenant;
    this.#tenantId.value = id;
    try {
      window.localStorage.setItem(this.#key, id);
    } catch {
      // Storage is forbidden here, or full.
    }
  }
}
