import { createHash } from 'node:crypto';
import type { Request } from 'express';
import { cleanText } from '../../core/foreign-text.ts';
import type { Authored } from '../../models/accounts/audit-log.ts';
import { countRecoveryCodes } from '../../models/accounts/second-factor.ts';
import {
  createSession,
  endSession,
  endSessionOf,
  endSessionsElsewhere,
  generateSessionSecret,
  listSessions,
  type NewSession,
  type Session,
} from '../../models/accounts/sessions.ts';
import type { User } from '../../models/accounts/user-row.ts';
import { findUserByEmail, normalizeEmail } from '../../models/accounts/users.ts';
import { NO_PASSWORD_HASH, verifyPassword } from '../../models/secrets/password.ts';
import { ApiError, CodeRequired, notFound } from '../api-error.ts';
import type { ApiConfig, Handler, Parts } from '../handler.ts';
import { callerOfSession } from '../middleware/authentication.ts';
import { csrfTokenOf } from '../middleware/csrf.ts';
import { addressOf, authorOf, idOf, personOf, type Exchange, type SessionCaller } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { sessionCookie } from './session/cookie.ts';
import { takeCode } from './session/proofs.ts';
import { recordClients } from './session/throttle.ts';

/** `POST /session`. A user removed or given another password meanwhile gets the same response as an unknown one. */
export function signInHandler(
  dependencies: Parts<'database' | 'now' | 'makeId' | 'config' | 'throttle' | 'openId'>,
): Handler<'signIn'> {
  const { database, throttle, now, openId } = dependencies;
  return async (request, response) => {
    const { email, password, code } = request.body;
    const user = await findUserByEmail(database, email);
    if (openId?.settings.isOnly === true && (user?.passwordSignInUntil ?? 0) * 1000 <= now())
      throw passwordsOff(openId.settings.name);
    // Unknown addresses are counted like known ones, or the count would distinguish them.
    const attempt = await throttle.begin(
      user?.id ?? digestOf(email),
      { request, response },
      { tenantId: user?.tenantId ?? null },
    );
    if (!(await attempt.verify(() => verifyPassword(password, user?.passwordHash ?? null))) || user === null)
      throw wrong();
    if (user.totpConfirmedAt !== null && code === undefined) {
      // The password was correct: the attempt is no failure, but does not clear wrong codes either.
      await attempt.excuse();
      throw new CodeRequired();
    }
    if (user.totpConfirmedAt !== null && !(await attempt.verify(() => takeCode(dependencies, user.id, code ?? ''))))
      throw new ApiError(401, 'the two-factor code is wrong or has already been used');
    await attempt.succeed();

    const caller = await beginSession(dependencies, { request, response }, { user, author: authorOf(response) });
    if (caller === null) throw wrong();
    response.status(201).json(presentSignedIn(caller, await recoveryCodesOf(dependencies, user), dependencies.config));
  };
}

/** Returns the number of recovery codes left; runs no query if there is no second factor. */
export async function recoveryCodesOf({ database }: Parts<'database'>, user: User): Promise<number> {
  return user.totpConfirmedAt === null ? 0 : await countRecoveryCodes(database, user.id);
}

/** Returns the throttle key of an address without a user, which may be any text. */
function digestOf(email: string): string {
  return createHash('sha256').update(normalizeEmail(email)).digest('base64url');
}

/** The response does not reveal which of the two was wrong. */
function wrong(): ApiError {
  return new ApiError(401, 'incorrect email or password');
}

/** Refusal of passwords where only the provider's sign-in is accepted (D-588). */
function passwordsOff(providerName: string): ApiError {
  return new ApiError(
    403,
    `passwords are not accepted here: sign in with ${providerName}. If that is impossible, an operator lets one user ` +
      'in for a day by `spotcheck user reset --email ADDRESS`',
  );
}

/** `GET /session`. */
export function getSessionHandler(dependencies: Parts<'database' | 'config'>): Handler<'getSession'> {
  return async (_request, response) => {
    const caller = personOf(response);
    response.setHeader('Cache-Control', 'no-store');
    response.json(presentSignedIn(caller, await recoveryCodesOf(dependencies, caller.user), dependencies.config));
  };
}

/** `DELETE /session`. */
export function signOutHandler({ database, config }: Parts<'database' | 'config'>): Handler<'signOut'> {
  const cookie = sessionCookie(config.publicUrl);
  return async (_request, response) => {
    const { user, sessionId } = personOf(response);
    await endSession(database, { author: authorOf(response), userId: user.id, id: sessionId });
    cookie.take(response);
    response.status(204).end();
  };
}

/** `GET /sessions`. */
export function listSessionsHandler({ database, now }: Parts<'database' | 'now'>): Handler<'listSessions'> {
  return async (_request, response) => {
    const { user, sessionId } = personOf(response);
    const sessions = await listSessions(database, user.id, now());
    response.json({ sessions: sessions.map((session) => presentSession(session, sessionId)) });
  };
}

/** `DELETE /sessions/{id}`. */
export function endSessionHandler({ database, config }: Parts<'database' | 'config'>): Handler<'endSession'> {
  const cookie = sessionCookie(config.publicUrl);
  return async (request, response) => {
    const { user, sessionId } = personOf(response);
    const id = idOf(request);
    if (!(await endSession(database, { author: authorOf(response), userId: user.id, id })))
      throw notFound('session', id);
    if (id === sessionId) cookie.take(response);
    response.status(204).end();
  };
}

/** `POST /sessions/end-others`. */
export function endOtherSessionsHandler({ database }: Parts<'database'>): Handler<'endOtherSessions'> {
  return async (_request, response) => {
    const { user, sessionId } = personOf(response);
    response.json({
      ended_sessions: await endSessionsElsewhere(database, {
        author: authorOf(response),
        userId: user.id,
        keepSessionId: sessionId,
      }),
    });
  };
}

type Schemas = components['schemas'];

export function presentUser(user: User, recoveryCodesLeft: number): Schemas['SessionUser'] {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    role: user.role,
    is_operator: user.isOperator,
    theme: user.theme,
    time_zone: user.timeZone,
    clock: user.clock,
    totp_enabled: user.totpConfirmedAt !== null,
    recovery_codes_left: recoveryCodesLeft,
    password_changed_at: user.passwordChangedAt,
    has_password: user.passwordHash !== NO_PASSWORD_HASH,
    last_signed_in_at: user.lastSignedInAt,
    created_at: user.createdAt,
  };
}

type SignedIn = Pick<SessionCaller, 'user' | 'tenant' | 'sessionId' | 'secret'>;

export function presentSignedIn(
  { user, tenant, sessionId, secret }: SignedIn,
  recoveryCodesLeft: number,
  config: ApiConfig,
): Schemas['SignedIn'] {
  return {
    user: presentUser(user, recoveryCodesLeft),
    tenant: { id: tenant.id, name: tenant.name, plan: tenant.plan },
    session_id: sessionId,
    csrf_token: csrfTokenOf(secret),
    chats: {
      telegram: config.telegramBotName !== null,
      slack: config.slackClientId !== null,
      email: config.sendsEmail ?? false,
    },
  };
}

function presentSession(
  { id, createdAt, lastSeenAt, expiresAt, address, userAgent }: Session,
  currentId: string,
): Schemas['Session'] {
  return {
    id,
    created_at: createdAt,
    last_seen_at: lastSeenAt,
    expires_at: expiresAt,
    address,
    user_agent: userAgent,
    is_current: id === currentId,
  };
}

const USER_AGENT_LENGTH = 255;

/**
 * Begins a session of a user whom a password and code, or a provider, vouched for, and ends the request's current
 * session. Sets the session cookie, and one that identifies the browser later. Returns null, and sets no cookie, if the
 * user was removed meanwhile or has another password or second factor.
 */
export async function beginSession(
  { database, now, makeId, config }: Parts<'database' | 'now' | 'makeId' | 'config'>,
  { request, response }: Exchange,
  { user, provider = null, author }: Pick<NewSession, 'provider'> & { user: User } & Authored,
): Promise<SessionCaller | null> {
  const secret = generateSessionSecret();
  const isCreated = await createSession(database, {
    id: makeId('ses'),
    secret,
    user,
    address: addressOf(response),
    userAgent: userAgentOf(request),
    provider,
    nowMs: now(),
    author,
  });
  const caller = isCreated ? await callerOfSession({ database, now }, secret) : null;
  if (caller === null) return null;
  const cookie = sessionCookie(config.publicUrl);
  const previous = cookie.read(request);
  if (previous !== null) await endSessionOf(database, previous);
  cookie.give(response, secret);
  await recordClients({ database, now, publicUrl: config.publicUrl }, { request, response }, user.id);
  response.setHeader('Cache-Control', 'no-store');
  return caller;
}

function userAgentOf(request: Request): string | null {
  const userAgent = request.headers['user-agent'];
  return userAgent === undefined ? null : cleanText(userAgent, USER_AGENT_LENGTH);
}
