import type { Invitation } from '../../models/accounts/invitations.ts';
import { changeRole, listMembers, removeMember } from '../../models/accounts/members.ts';
import type { User } from '../../models/accounts/user-row.ts';
import { ApiError, conflict, notFound } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { authorOf, idOf, personOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { sessionCookie } from './session/cookie.ts';

const LAST_OWNER = 'this is the last owner of the account: make another member an owner first';

/** `GET /members` */
export function listMembersHandler({ database }: Parts<'database'>): Handler<'listMembers'> {
  return async (_request, response) => {
    const { tenantId, user } = personOf(response);
    const members = await listMembers(database, tenantId);
    response.json({ members: members.map((member) => presentMember(member, user.id)) });
  };
}

/** `PATCH /members/{id}` */
export function updateMemberHandler({ database }: Parts<'database'>): Handler<'updateMember'> {
  return async (request, response) => {
    const { tenantId, user, sessionId } = personOf(response);
    const id = idOf(request);
    const { role } = request.body;
    const member = await changeRole(
      database,
      { author: authorOf(response), tenantId, id },
      { role, keepSessionId: id === user.id ? sessionId : null },
    );
    if (member === null) throw notFound('member', id);
    if (member === 'last_owner') throw conflict(LAST_OWNER);
    response.json(presentMember(member, user.id));
  };
}

/** `DELETE /members/{id}`: everybody may go, and owners may send others away. */
export function removeMemberHandler({ database, config }: Parts<'database' | 'config'>): Handler<'removeMember'> {
  const cookie = sessionCookie(config.publicUrl);
  return async (request, response) => {
    const { tenantId, user } = personOf(response);
    const id = idOf(request);
    if (id !== user.id && user.role !== 'owner')
      throw new ApiError(403, `removing other members requires the role owner, and yours is ${user.role}`);
    const removed = await removeMember(database, { author: authorOf(response), tenantId, id });
    if (removed === null) throw notFound('member', id);
    if (removed === 'last_owner') throw conflict(LAST_OWNER);
    if (id === user.id) cookie.take(response);
    response.status(204).end();
  };
}

type Schemas = components['schemas'];

function presentMember(
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
