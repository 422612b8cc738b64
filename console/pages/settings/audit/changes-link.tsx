import { signedIn } from '../../../client/session-state.ts';
import { ButtonLink } from '../../../parts/button.tsx';
import { changesHref, type Entry } from './questions.ts';

/** Leads owners to who changed something, and when; others may not read that. */
export function ChangesLink({ kind, id }: { kind: Entry['object']['kind']; id: string }) {
  if (signedIn().user.role !== 'owner') return null;
  return (
    <ButtonLink size="small" href={changesHref(kind, id)}>
      Changes
    </ButtonLink>
  );
}
