import { signedIn } from '../../client/session-state.ts';
import type { Schemas } from '../../client/shapes.ts';
import { ButtonLink } from '../../parts/button.tsx';

type ChangesLinkProps = { kind: Schemas['AuditObjectKind']; id: string };

/** A link for owners to the audit log's entries about one object; other roles may not read that log. */
export function ChangesLink({ kind, id }: ChangesLinkProps) {
  if (signedIn().user.role !== 'owner') return null;
  return (
    <ButtonLink size="small" href={`/settings/audit-log?kind=${kind}&object=${id}`}>
      History
    </ButtonLink>
  );
}
