import type { Invitation } from '../../models/accounts/invitations.ts';
import type { User } from '../../models/accounts/user-row.ts';
import type { components } from '../schema.generated.ts';

type Schemas = components['schemas'];

export function presentMember(
  { id, email, name, role, totpConfirmedAt, lastSignedInAt, createdAt }: User,
  ownId: string,
): Schemas['Member'] {
  return {
    id,
    email,
    name,
    role,
    totp_enabled: totpConfirmedAt !== null,
    last_signed_in_at: lastSignedInAt,
    created_at: createdAt,
    is_you: id === ownId,
  };
}

export function presentInvitation({
  id,
  email,
  role,
  invitedBy,
  createdAt,
  expiresAt,
}: Invitation): Schemas['Invitation'] {
  return { id, email, role, invited_by: invitedBy, created_at: createdAt, expires_at: expiresAt };
}
