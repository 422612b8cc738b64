import { provisionedDomainOf } from '../../core/accounts/open-id.ts';
import {
  MAX_INVITATIONS,
  acceptInvitation,
  createInvitation,
  deleteInvitation,
  findOpenInvitation,
  generateInvitationToken,
  listInvitations,
  type Invitation,
} from '../../models/accounts/invitations.ts';
import type { User } from '../../models/accounts/user-row.ts';
import {
  MAX_MEMBERS,
  changeRole,
  findUserByEmail,
  listMembers,
  normalizeEmail,
  removeMember,
} from '../../models/accounts/users.ts';
import { hashPassword } from '../../models/secrets/password.ts';
import { ApiError, badRequest, conflict, notFound, requirePlainName } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { authorOf, idOf, personOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { sessionCookie } from './session/cookie.ts';
import { beginSession, presentSignedIn } from './sessions.ts';

type Schemas = components['schemas'];

const LAST_OWNER = 'this is the last owner of the account: make another member an owner first';

/** The response does not reveal whether the invitation was used, revoked, expired or never existed. */
const isOver = (): ApiError =>
  new ApiError(404, 'this invitation was used or revoked, or is older than 7 days: ask for a new one');

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

/** `DELETE /members/{id}`: any member may leave, and owners may remove others. */
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

/** `GET /invitations` */
export function listInvitationsHandler({ database, now }: Parts<'database' | 'now'>): Handler<'listInvitations'> {
  return async (_request, response) => {
    const invitations = await listInvitations(database, personOf(response).tenantId, now());
    response.json({ invitations: invitations.map(presentInvitation) });
  };
}

/** `POST /invitations`: the only place that shows a link. */
export function createInvitationHandler({
  database,
  makeId,
  now,
  config,
  openId,
}: Parts<'database' | 'makeId' | 'now' | 'config' | 'openId'>): Handler<'createInvitation'> {
  return async (request, response) => {
    const { email, role } = request.body;
    const { tenantId, user } = personOf(response);
    const domain = provisionedDomainOf(normalizeEmail(email), openId?.settings.provisionDomains ?? []);
    if (domain !== null && domain.tenantId !== null && domain.tenantId !== tenantId)
      throw conflict(`people at ${domain.domain} belong to another account here: invite another address of theirs`);
    const token = generateInvitationToken();
    const created = await createInvitation(database, {
      author: authorOf(response),
      id: makeId('inv'),
      tenantId,
      email: requirePlainName('email', email),
      role,
      token,
      invitedBy: user.id,
      nowMs: now(),
    });
    if (created === 'member') throw conflict(`there is already a member with the address ${email}`);
    if (created === 'full')
      throw conflict(
        `an account can have at most ${MAX_MEMBERS} people including pending invitations, and this one ` +
          'has reached the limit: remove one first',
      );
    if (created === 'too_many')
      throw conflict(`this account has reached the limit of ${MAX_INVITATIONS} pending invitations: revoke one first`);
    response.setHeader('Cache-Control', 'no-store');
    response.status(201).json({ ...presentInvitation(created), url: `${config.publicUrl}/invitations/${token}` });
  };
}

/** `DELETE /invitations/{id}` */
export function deleteInvitationHandler({ database }: Parts<'database'>): Handler<'deleteInvitation'> {
  return async (request, response) => {
    const id = idOf(request);
    if (!(await deleteInvitation(database, { author: authorOf(response), tenantId: personOf(response).tenantId, id })))
      throw notFound('invitation', id);
    response.status(204).end();
  };
}

/** `GET /invitations/{id}`, for anyone who has the link. */
export function findInvitationHandler({ database, now }: Parts<'database' | 'now'>): Handler<'findInvitation'> {
  return async (request, response) => {
    const invitation = await findOpenInvitation(database, idOf(request), now());
    if (invitation === null) throw isOver();
    const { email, role, tenantName, inviterName, expiresAt } = invitation;
    const open: Schemas['OpenInvitation'] = {
      email,
      role,
      tenant: { name: tenantName },
      ...(inviterName !== null && { invited_by: inviterName }),
      expires_at: expiresAt,
    };
    response.setHeader('Cache-Control', 'no-store');
    response.json(open);
  };
}

/** `POST /invitations/accept`. Hashes the password only if the link is valid, because hashing is expensive. */
export function acceptInvitationHandler(
  dependencies: Parts<'database' | 'now' | 'makeId' | 'config' | 'openId' | 'rateLimits'>,
): Handler<'acceptInvitation'> {
  const { database, makeId, now, openId, rateLimits } = dependencies;
  return async (request, response) => {
    if (openId?.settings.isOnly === true)
      throw new ApiError(
        403,
        `passwords are not accepted here: open the invitation’s link, and join with ${openId.settings.name}`,
      );
    const { token, name, password } = request.body;
    const invitation = await findOpenInvitation(database, token, now());
    if (invitation === null) throw isOver();
    requirePlainName('name', name);
    if (normalizeEmail(password) === invitation.email)
      throw badRequest('password must not be your email address: it is too easy to guess');
    const isTaken = () =>
      conflict(`${invitation.email} already has an account: ask to be invited with another address, or sign in`);
    await rateLimits.take('acceptance', invitation.id);
    await rateLimits.take('accountAcceptance', invitation.tenantId);
    if ((await findUserByEmail(database, invitation.email)) !== null) throw isTaken();
    const user = await acceptInvitation(database, {
      author: authorOf(response),
      token,
      userId: makeId('usr'),
      name,
      passwordHash: await hashPassword(password),
      nowMs: now(),
    });
    if (user === null) throw isOver();
    if (user === 'taken') throw isTaken();
    // The audit log records an accepted invitation as such, not as a sign-in.
    const caller = await beginSession(dependencies, { request, response }, { user, author: null });
    if (caller === null) throw conflict('this user has just been removed');
    response.status(201).json(presentSignedIn(caller, 0, dependencies.config));
  };
}

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

function presentInvitation({ id, email, role, invitedBy, createdAt, expiresAt }: Invitation): Schemas['Invitation'] {
  return { id, email, role, invited_by: invitedBy, created_at: createdAt, expires_at: expiresAt };
}
