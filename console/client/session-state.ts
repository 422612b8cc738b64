import { signal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { components } from '../../api/schema.generated.ts';
import type { Role } from '../../core/accounts/roles.ts';
import type { EndReason } from './live-stream.ts';

/** The signed-in user and their account, as `GET /session` returns them. */
export type Session = components['schemas']['SignedIn'];

/** `unknown` until the first response, null without a session. */
export const session = signal<Session | null | 'unknown'>('unknown');

/** Returns the session; null without one, and before the first response. */
export function presentSession(): Session | null {
  return session.value === 'unknown' ? null : session.value;
}

/** Returns the token that every changing request has to carry; null without a session. */
export function csrfToken(): string | null {
  return presentSession()?.csrf_token ?? null;
}

/** Adopts the session as the service has it now; returns true if it is of the same user as before. */
export function adoptSession(present: Session): boolean {
  const before = session.peek();
  // An unchanged session is not redrawn.
  if (JSON.stringify(before) !== JSON.stringify(present)) session.value = present;
  return before !== null && before !== 'unknown' && before.user.id === present.user.id;
}

/** Why the session ended without the user's doing; null if it did not. */
export const lostBy = signal<EndReason | null>(null);

/** Ends the session in this page at the user's request; the sign-in page follows. */
export function endSession(): void {
  drafts.clear();
  lostBy.value = null;
  session.value = null;
}

/**
 * Ends a session that the service no longer accepts. Typed input is stored for the next sign-in, which shows the
 * reason.
 */
export function loseSession(reason: EndReason = 'ended'): void {
  const value = presentSession();
  if (value !== null) {
    if (reason === 'removed') drafts.clear();
    else drafts.store(value.user.id);
    lostBy.value = reason;
  }
  session.value = null;
}

/** Ends the present session after a time, unless something else ended or renewed it by then. */
export function loseSessionAfter(ms: number): void {
  const refused = session.peek();
  setTimeout(() => {
    if (session.peek() === refused) loseSession();
  }, ms);
}

/** Returns the session, for pages that need one; throws without one. */
export function signedIn(): Session {
  const value = presentSession();
  if (value === null) throw new Error('no user is signed in');
  return value;
}

/** Reports whether the user's role allows changes; viewers only read. */
export function canWrite(): boolean {
  return (presentSession()?.user.role ?? 'viewer') !== 'viewer';
}

/** Key in session storage, which a tab keeps to itself and forgets when it is closed. */
const DRAFTS_KEY = 'drafts';

/** Most characters that are stored; browsers allow some five million per site. */
const MAX_CHARACTERS = 1_000_000;

/** Input that was typed when the session of `userId` ended, by the name of the draft. */
type StoredDrafts = { userId: string; drafts: Readonly<Record<string, unknown>> };

/**
 * Input that was typed but not sent when the session ended. It is restored once, for the same user and in the same tab.
 * Forms leave secrets out.
 */
class Drafts {
  readonly #open = new Map<string, () => unknown>();
  #stored: StoredDrafts | null = readStorage();

  /** Whether there is anything to restore. */
  get isAny(): boolean {
    return this.#stored !== null && Object.keys(this.#stored.drafts).length > 0;
  }

  /**
   * Watches the input of an open form until the returned function is called; `read` returns undefined if there is none.
   */
  watch(name: string, read: () => unknown): () => void {
    this.#open.set(name, read);
    return () => {
      if (this.#open.get(name) === read) this.#open.delete(name);
    };
  }

  /** Takes the input typed into a form; undefined if there is none. Discards another user's input. */
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

  /** Discards everything, as when the user signs out. */
  clear(): void {
    this.#store(null);
  }

  #store(stored: StoredDrafts | null): void {
    this.#stored = stored;
    try {
      const text = stored === null ? '' : JSON.stringify(stored);
      if (text === '' || text.length > MAX_CHARACTERS) sessionStorage.removeItem(DRAFTS_KEY);
      else sessionStorage.setItem(DRAFTS_KEY, text);
    } catch {
      // Without storage the input lasts until the tab is reloaded.
    }
  }
}

function readStorage(): StoredDrafts | null {
  try {
    return JSON.parse(sessionStorage.getItem(DRAFTS_KEY) ?? 'null') as StoredDrafts | null;
  } catch {
    return null;
  }
}

/** The drafts of this tab. */
export const drafts = new Drafts();

/** How input is stored without its secrets, and restored into the form's initial value. */
type Storing<T, Kept = T> = { store: (value: T) => Kept; restore: (kept: Kept) => T };

/**
 * Keeps a form's input beyond the end of the session: after the next sign-in the form begins with it. `name` is unique
 * among open forms. Secrets must not be in it, or `storing` leaves them out.
 */
export function useDraft<T, Kept = T>(name: string, initial: T, storing?: Storing<T, Kept>): Signal<T> {
  const value = useMemo(() => {
    const kept = drafts.take(name, signedIn().user.id) as Kept | undefined;
    if (kept === undefined) return signal(initial);
    return signal(storing === undefined ? (kept as unknown as T) : storing.restore(kept));
  }, []);
  useEffect(() => {
    const read = () => {
      const typed = value.peek();
      if (typed === initial) return undefined;
      return storing === undefined ? typed : storing.store(typed);
    };
    return drafts.watch(name, read);
  }, []);
  return value;
}

/**
 * A flag that a browser stores for one account, such as that its checklist was closed. A browser without storage keeps
 * it until the page is closed.
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

  /** Whether the flag is set for the session's account; a signal that components can follow. */
  get holds(): boolean {
    return this.#tenantId.value === signedIn().tenant.id;
  }

  /** Sets the flag for the session's account. */
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

/** The label of each role, and its access. */
export const ROLES = {
  owner: { label: 'Owner', is: 'an owner', access: 'Full access, including members and API tokens' },
  editor: { label: 'Editor', is: 'an editor', access: 'Monitors, channels and agents' },
  viewer: { label: 'Viewer', is: 'a viewer', access: 'Read-only' },
} as const satisfies Record<Role, { label: string; is: string; access: string }>;

export type { Role };

/** Reports whether a text names a role. */
export function isRole(text: string): text is Role {
  return Object.hasOwn(ROLES, text);
}
