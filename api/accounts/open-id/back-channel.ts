import express, { type RequestHandler } from 'express';
import { authorOf, systemActor } from '../../../models/accounts/audit-log.ts';
import { endProviderSessions } from '../../../models/accounts/identities.ts';
import { methodNotAllowed } from '../../api-error.ts';
import { networkOf } from '../../client-address.ts';
import type { Parts } from '../../handler.ts';
import { addressOf, contextOf } from '../../request-context.ts';

/** Where the provider reports that a person signed out there, below the public URL. */
export const OPEN_ID_LOGOUT_PATH = '/connect/open-id/logout';

/** A token takes about a kilobyte. */
const MAX_BODY_BYTES = 16_384;

type LogoutParts = Parts<'database' | 'now' | 'makeId' | 'openId' | 'rateLimits' | 'logger'>;

/**
 * `POST /connect/open-id/logout` (OpenID Connect Back-Channel Logout 1.0): ends the sessions that the provider's began.
 * Needs no token of ours: the provider signs its own, and that one is good once.
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
    const ended = await endProviderSessions(database, reading.logout, () => ({
      ...authorOf(systemActor('OpenID Connect'), 'member.signed_out_by_provider', { newId: makeId, nowMs: now() }),
      address: addressOf(response),
    }));
    if (ended === null) return refuse(400, 'this logout token was used already');
    logger.info({ sessions: ended }, 'sign_in.logged_out_by_provider');
    response.status(200).end();
  };
  return [nameRoute, readForm, endSessions];
}
