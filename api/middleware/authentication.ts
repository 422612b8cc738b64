import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { createBatched, type Batched } from '../../core/shared-calls.ts';
import { findTokenHolders, type TokenHolder } from '../../models/accounts/api-tokens.ts';
import { findSessionHolder } from '../../models/accounts/sessions.ts';
import { sessionCookie } from '../accounts/session/cookie.ts';
import type { Parts } from '../handler.ts';
import { contextOf, sessionCaller, tokenCaller, type Caller } from '../request-context.ts';

/**
 * Matches credentials of this kind, valid or not. Browsers may send those of the queue board (HTTP Basic) with every
 * request.
 */
const IS_BEARER = /^Bearer\b/i;
const BEARER = /^Bearer +(?<token>\S+) *$/i;
const TOKEN = /^sp[kw]_[A-Za-z0-9_-]{1,200}$/;

type AuthenticationParts = Parts<'database' | 'now'>;

/**
 * Identifies the caller: the holder of an API token, or else the person of a session. Without either the request stays
 * anonymous, for the route guard to refuse after it has been counted. A request with a bearer token is never treated as
 * a session, even if it carries a session cookie.
 */
export function authentication({ database, now, config }: AuthenticationParts & Parts<'config'>): RequestHandler {
  const cookie = sessionCookie(config.publicUrl);
  const findHolder = createBatched((tokens: string[]) => findTokenHolders(database, tokens, now()));
  return async (request, response, next) => {
    const token = bearerTokenOf(request);
    const secret = token === null ? cookie.read(request) : null;
    const caller =
      secret === null ? await callerOfToken(findHolder, token) : await callerOfSession({ database, now }, secret);
    const context = contextOf(response);
    context.authenticatedAt = performance.now();
    delete context.caller;
    if (caller !== null) context.caller = caller;
    next();
  };
}

/** Time after which a caller is authenticated again, in milliseconds. */
const FOUND_FOR_MS = 500;

/**
 * Authenticates the caller again if reading the body, or waiting for a turn, took time (D-701): rights may have been
 * revoked meanwhile. The route guard must follow.
 */
export function repeatAuthentication(authenticate: RequestHandler): RequestHandler {
  return (request, response, next) => {
    const { authenticatedAt = 0 } = contextOf(response);
    return performance.now() - authenticatedAt < FOUND_FOR_MS ? next() : authenticate(request, response, next);
  };
}

/** Returns the token after `Bearer`, empty if it is malformed; null if there are no such credentials. */
export function bearerTokenOf({ headers: { authorization = '' } }: Pick<IncomingMessage, 'headers'>): string | null {
  return IS_BEARER.test(authorization) ? (BEARER.exec(authorization)?.groups?.['token'] ?? '') : null;
}

async function callerOfToken(
  findHolder: Batched<string, TokenHolder | null>,
  token: string | null,
): Promise<Caller | null> {
  if (token === null) return null;
  const holder = TOKEN.test(token) ? await findHolder(token) : null;
  return holder && tokenCaller(holder);
}

/** Returns the person of an active session; null for any other secret. */
export async function callerOfSession(
  { database, now }: AuthenticationParts,
  secret: string,
): Promise<Extract<Caller, { kind: 'session' }> | null> {
  const holder = await findSessionHolder(database, secret, now());
  return holder && sessionCaller(holder, secret);
}
