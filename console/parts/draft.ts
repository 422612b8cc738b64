import { signal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { drafts } from '../client/drafts.ts';
import { signedIn } from '../client/session-state.ts';

/** How input is stored: without its secrets, and restored into what the form begins with. */
export type Storing<T, Kept = T> = { store: (value: T) => Kept; restore: (kept: Kept) => T };

/**
 * The state of a form's input, which the end of the session does not lose: after the next sign-in the form begins with
 * it. `name` is unique among open forms. Secrets must not be in it, or `storing` leaves them out.
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
