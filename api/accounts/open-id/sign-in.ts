import express, { type Request, type RequestHandler, type Response } from 'express';
import type { AuditAction, Author } from '../../../core/accounts/audit-entry.ts';
import { provisionedDomainOf, roleOf, type OpenIdPerson } from '../../../core/accounts/open-id.ts';
import type { Role } from '../../../core/accounts/roles.ts';
import { systemAuthorOf, systemActor } from '../../../models/accounts/audit-log.ts';
import {
  endProviderSessions,
  findIdentityUser,
  linkIdentity,
  provisionUser,
  useOnce,
  type NewIdentity,
} from '../../../models/accounts/identities.ts';
import { acceptInvitation } from '../../../models/accounts/invitations.ts';
import { isOnlyTenant } from '../../../models/accounts/tenants.ts';
import type { User } from '../../../models/accounts/user-row.ts';
import { changeRole, findUserByEmail } from '../../../models/accounts/users.ts';
import { isDatabaseAway, runOn } from '../../../models/sql.ts';
import { ApiError, methodNotAllowed } from '../../api-error.ts';
import { networkOf } from '../../client-address.ts';
import type { Handler, Parts } from '../../handler.ts';
import { callerOfSession } from '../../middleware/authentication.ts';
import { requirePlain } from '../../middleware/json-body.ts';
import { addressOf, contextOf, type Exchange } from '../../request-context.ts';
import { sendPlainPage } from '../../system/plain-page.ts';
import { sessionCookie } from '../session/cookie.ts';
import { beginSession } from '../sessions.ts';
import type { OpenIdProvider } from './provider.ts';
import {
  OPEN_ID_RETURN_PATH,
  beginVisit,
  describeRefusal,
  endVisit,
  readVisit,
  type Refusal,
  type RefusalPage,
  type Visit,
} from './visit.ts';

/** `GET /sign-in-methods`: for the sign-in page, without authentication. */
export function getSignInMethodsHandler({ openId }: Parts<'openId'>): Handler<'getSignInMethods'> {
  return (_request, response) => {
    response.setHeader('Cache-Control', 'no-store');
    response.json({
      password: openId?.settings.isOnly !== true,
      open_id: openId === null ? null : { name: openId.settings.name },
    });
  };
}

/** `POST /session/open-id`: returns the URL where the browser signs in. */
export function startOpenIdHandler(
  dependencies: Parts<'database' | 'now' | 'config' | 'openId' | 'logger'>,
): Handler<'startOpenIdSignIn'> {
  return async (request, response) => {
    const { return_to: returnTo, invitation } = request.body;
    const url = await beginVisit(dependencies, { request, response }, { returnTo, invitation });
    response.json({ url });
  };
}

type ReturnParts = Parts<'database' | 'now' | 'makeId' | 'config' | 'openId' | 'rateLimits' | 'logger'>;

/** Everything needed to finish a visit once the provider has vouched for a person. */
type Finishing = { parts: ReturnParts; provider: OpenIdProvider; exchange: Exchange; visit: Visit };

/** `GET /connect/open-id`: the provider redirects people here. Responds with a page, or a redirect to the console. */
export function openIdReturnHandler(dependencies: ReturnParts): RequestHandler {
  const { config, logger, openId } = dependencies;
  return async (request, response) => {
    contextOf(response).route = OPEN_ID_RETURN_PATH;
    // A HEAD request would use up the code without showing a page.
    if (request.method !== 'GET') throw methodNotAllowed(request.method, 'GET');
    const outcome = await comeBack(dependencies, { request, response }).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 429) return throttledPage(error, response);
      if (!isDatabaseAway(error)) throw error;
      logger.error({ err: error, request_id: contextOf(response).requestId }, 'request.failed');
      return 'databaseAway' as const;
    });
    if (typeof outcome === 'object' && 'returnTo' in outcome) {
      response.setHeader('Cache-Control', 'no-store').setHeader('Referrer-Policy', 'no-referrer');
      response.redirect(303, `${config.publicUrl}${outcome.returnTo}`);
      return;
    }
    const page = typeof outcome === 'string' ? describeRefusal(outcome, openId?.settings.name ?? '') : outcome;
    sendPlainPage(response, { ...page, link: { label: 'Open Spotcheck', url: config.publicUrl } });
  };
}

function throttledPage(error: ApiError, response: Response): RefusalPage {
  response.set(error.headers);
  return {
    status: 429,
    title: 'Too many sign-ins',
    sentences: [`There are ${error.message}.`, 'You are not signed in. After that, start again.'],
  };
}

async function comeBack(parts: ReturnParts, exchange: Exchange): Promise<Refusal | RefusalPage | { returnTo: string }> {
  const { openId: provider, config, logger, rateLimits, database, now } = parts;
  const { request, response } = exchange;
  if (provider === null) return 'notSetUp';
  const visit = readVisit(parts, request);
  if (visit === 'unknown') return 'unknown';
  endVisit(parts, response);
  if (visit === 'expired') return 'expired';
  if (request.query['error'] !== undefined) return request.query['error'] === 'access_denied' ? 'denied' : 'reported';

  // Counted apart from wrong passwords: a misconfigured provider must not lock out password sign-ins (D-590).
  await rateLimits.take('openId', networkOf(addressOf(response) ?? ''));
  const authorization = await provider.authorize(returnUrl(config.publicUrl, request), visit);
  if (authorization.outcome !== 'granted') {
    const { outcome, reason } = authorization;
    logger.warn({ outcome, error: reason }, 'sign_in.provider_refused');
    return outcome;
  }
  // Only visits that a provider vouched for are stored, so strangers cannot fill the table.
  if (!(await useOnce(runOn(database.pool), `visit ${visit.state}`, visit.expiresAtMs))) return 'used';
  const { issuer, person } = authorization;
  const finishing: Finishing = { parts, provider, exchange, visit };
  const identity = {
    id: parts.makeId('idn'),
    issuer,
    subject: person.subject,
    email: person.email,
    nowMs: now(),
  };
  const refusal = await (visit.linkTo === null
    ? signIn(finishing, person, identity)
    : link(finishing, identity, visit.linkTo));
  if (refusal === null) return { returnTo: visit.returnTo };
  logger.info({ outcome: refusal }, 'sign_in.provider_user_refused');
  return refusal;
}

/** Returns the registered return address with this visit's query: proxies may have changed host and scheme. */
function returnUrl(publicUrl: string, { originalUrl }: Request): URL {
  const url = new URL(`${publicUrl}${OPEN_ID_RETURN_PATH}`);
  url.search = new URL(originalUrl, publicUrl).search;
  return url;
}

/** Returns the author for the audit log: the person, once they are identified. */
function authorOf({ parts, exchange }: Finishing, action: AuditAction): Author {
  const { makeId, now } = parts;
  return { id: makeId('aud'), action, actor: null, address: addressOf(exchange.response), nowMs: now() };
}

/** Links an identity to the person who began the visit, unless they have signed out since. Null = done. */
async function link(finishing: Finishing, identity: NewIdentity, userId: string): Promise<Refusal | null> {
  const { parts, exchange } = finishing;
  const secret = sessionCookie(parts.config.publicUrl).read(exchange.request);
  const caller = secret === null ? null : await callerOfSession(parts, secret);
  if (caller?.user.id !== userId) return 'linkSignedOut';
  const author = authorOf(finishing, 'member.identity_linked');
  const linked = await linkIdentity(parts.database, { userId, identity, author });
  return linked === 'linked' ? null : linked === 'taken' ? 'linkTaken' : 'linkSignedOut';
}

/** Begins a session of the identity's user, who may be created first. Null = done. */
async function signIn(finishing: Finishing, person: OpenIdPerson, identity: NewIdentity): Promise<Refusal | null> {
  const { parts, provider, exchange } = finishing;
  const { roleClaim, roles } = provider.settings;
  const role = roleClaim === null ? null : roleOf(person.roles, roles);
  if (roleClaim !== null && role === null) return 'noRole';
  const known = await findIdentityUser(parts.database, identity);
  const user = known?.user ?? (await findNewUser(finishing, person, { identity, role }));
  if (typeof user === 'string') return user;
  if (role !== null && user.role !== role) await setRole(finishing, user, role);
  const caller = await beginSession(parts, exchange, {
    user,
    provider: { identityId: known?.identityId ?? identity.id, issuer: identity.issuer, sid: person.sid },
    author: authorOf(finishing, 'member.signed_in'),
  });
  return caller === null ? 'gone' : null;
}

/** Sets the role that the provider gives, except that the last owner of an account remains one. */
async function setRole({ parts, exchange }: Finishing, user: User, role: Role): Promise<void> {
  const { database, makeId, now, logger } = parts;
  const made = { newId: makeId, nowMs: now(), address: addressOf(exchange.response) };
  const author = systemAuthorOf(systemActor('OpenID Connect'), 'member.role_changed', made);
  const { tenantId, id } = user;
  const changed = await changeRole(database, { author, tenantId, id }, { role, keepSessionId: null });
  if (changed === 'last_owner') logger.warn({ user_id: id, role }, 'sign_in.last_owner_kept');
}

type Newcomer = { identity: NewIdentity; role: Role | null };

/**
 * Returns the user for an unknown identity: from an invitation, by email address where that is allowed, or a new one.
 */
async function findNewUser(
  finishing: Finishing,
  { email, isEmailVerified, name }: OpenIdPerson,
  { identity, role }: Newcomer,
): Promise<User | Refusal> {
  const { parts, provider, visit } = finishing;
  const { database, makeId, now } = parts;
  const { linksByEmail, provisionDomains } = provider.settings;
  if (visit.invitation !== null) {
    const user = await acceptInvitation(database, {
      token: visit.invitation,
      userId: makeId('usr'),
      name,
      passwordHash: null,
      identity,
      nowMs: now(),
      author: authorOf(finishing, 'invitation.accepted'),
    });
    return user === 'taken' ? 'noUser' : (user ?? 'invitationOver');
  }
  if (email === '') return 'noUser';
  const domain = provisionedDomainOf(email, provisionDomains);
  const owner = linksByEmail && isEmailVerified ? await findUserByEmail(database, email) : null;
  if (owner !== null) {
    // An owner of any account can enter any address for a user: in other accounts it proves nothing for a domain
    // (D-707).
    const isOurs = domain?.tenantId === owner.tenantId || (await isOnlyTenant(database, owner.tenantId));
    if (!isOurs) return 'noUser';
    const author = authorOf(finishing, 'member.identity_linked');
    const linked = await linkIdentity(database, { userId: owner.id, identity, author });
    return linked === 'linked' ? owner : 'noUser';
  }
  if (domain === null) return 'noUser';
  if (!isEmailVerified) return 'unverified';
  const made = await provisionUser(database, {
    id: makeId('usr'),
    tenantId: domain.tenantId,
    email,
    name,
    role: role ?? 'viewer',
    identity,
    author: authorOf(finishing, 'member.provisioned'),
  });
  if (typeof made === 'object') return made;
  return ({ taken: 'noUser', full: 'full', no_account: 'noAccount' } as const)[made];
}

/** Path of the endpoint where the provider reports that a person signed out, below the public URL. */
export const OPEN_ID_LOGOUT_PATH = '/connect/open-id/logout';

/** Maximum size of a body, in bytes; a token takes about a kilobyte. */
const MAX_BODY_BYTES = 16_384;

type LogoutParts = Parts<'database' | 'now' | 'makeId' | 'openId' | 'rateLimits' | 'logger'>;

/**
 * `POST /connect/open-id/logout` (OpenID Connect Back-Channel Logout 1.0): ends the sessions that the provider's
 * session began. Requires no token of this API: the provider signs its own, which is valid once.
 */
export function openIdLogoutHandler(dependencies: LogoutParts): RequestHandler[] {
  const { database, now, makeId, openId, rateLimits, logger } = dependencies;
  const readForm = express.urlencoded({ extended: false, limit: MAX_BODY_BYTES, parameterLimit: 20 });
  const nameRoute: RequestHandler = async (request, response, next) => {
    contextOf(response).route = OPEN_ID_LOGOUT_PATH;
    if (request.method !== 'POST') throw methodNotAllowed(request.method, 'POST');
    await rateLimits.take('logout', networkOf(addressOf(response) ?? ''));
    next();
  };
  const endSessions: RequestHandler = async (request, response) => {
    response.setHeader('Cache-Control', 'no-store');
    const refuse = (status: number, reason: string) => {
      logger.warn({ error: reason }, 'sign_in.logout_refused');
      response.status(status).json({ error: 'invalid_request', error_description: reason });
    };
    const { logout_token: token } = request.body ?? {};
    if (openId === null) return refuse(404, 'no OpenID Connect provider is set up here');
    if (typeof token !== 'string') return refuse(400, 'logout_token must be given once, in a form');
    const reading = await openId.readLogout(token);
    if (reading.outcome !== 'good') return refuse(reading.outcome === 'away' ? 503 : 400, reading.reason);
    const ended = await endProviderSessions(database, reading.logout, () =>
      systemAuthorOf(systemActor('OpenID Connect'), 'member.signed_out_by_provider', {
        newId: makeId,
        nowMs: now(),
        address: addressOf(response),
      }),
    );
    if (ended === null) return refuse(400, 'this logout token was used already');
    logger.info({ sessions: ended }, 'sign_in.logged_out_by_provider');
    response.status(200).end();
  };
  return [nameRoute, requirePlain, readForm, endSessions];
}
