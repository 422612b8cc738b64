import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request, Response } from 'express';
import { isOwnPath } from '../../../core/accounts/open-id.ts';
import { PeerAway } from '../../../net/bounded-fetch.ts';
import { ApiError, badRequest } from '../../api-error.ts';
import type { Parts } from '../../handler.ts';
import type { Exchange } from '../../request-context.ts';
import { VISIT_SECONDS, visitCookie } from '../session/cookie.ts';
import type { Checks } from './provider.ts';

/** Where the provider sends people back to, below the public URL. */
export const OPEN_ID_RETURN_PATH = '/connect/open-id';

/** A visit at the provider: what it was begun with, and what is to come of it. */
export type Visit = Checks & {
  /** A path of the console. */
  returnTo: string;
  /** Whose identity it is to become; null = the person signs in. */
  linkTo: string | null;
  /** The token of an invitation that the person accepts; null = of none. */
  invitation: string | null;
  expiresAtMs: number;
};

export type Purpose = { returnTo: string | undefined; linkTo?: string; invitation?: string | undefined };

/** What only visits are sealed for: a value sealed for anything else is none. */
const CONTEXT = 'open-id:visit';

type VisitParts = Parts<'database' | 'now' | 'config' | 'openId' | 'logger'>;

/**
 * Begins a visit: the address at the provider where the browser is to go. State, nonce and PKCE verifier go into a
 * cookie of this browser, sealed, so that nothing is stored for whoever begins one (D-586). Throws 404 where there is
 * no provider, 503 where it is away.
 */
export async function beginVisit(
  { database, now, config, openId, logger }: VisitParts,
  { request, response }: Exchange,
  { returnTo = '/', linkTo, invitation }: Purpose,
): Promise<string> {
  if (openId === null) throw new ApiError(404, 'no OpenID Connect provider is set up here: sign in with a password');
  if (!isOwnPath(returnTo))
    throw badRequest('return_to must be a path of the console, such as /monitors, of at most 500 characters');
  const { origin } = request.headers;
  if (origin !== undefined && origin !== new URL(config.publicUrl).origin)
    throw badRequest(`the provider returns to ${config.publicUrl}: open the console there, and sign in again`);
  const random = () => randomBytes(32).toString('base64url');
  const visit: Visit = {
    state: random(),
    nonce: random(),
    verifier: random(),
    returnTo,
    linkTo: linkTo ?? null,
    invitation: invitation ?? null,
    expiresAtMs: now() + VISIT_SECONDS * 1000,
  };
  try {
    const url = await openId.authorizeUrl(visit, `${config.publicUrl}${OPEN_ID_RETURN_PATH}`);
    visitCookie(config.publicUrl).give(response, database.secrets.seal(JSON.stringify(visit), CONTEXT));
    response.setHeader('Cache-Control', 'no-store');
    return url;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const away = [error, error instanceof Error ? error.cause : null].find((one) => one instanceof PeerAway);
    logger.warn({ error: away?.message ?? reason }, 'sign_in.provider_not_read');
    throw new ApiError(
      503,
      away === undefined
        ? `${openId.settings.name} is not set up correctly: ask your operator to look at the log`
        : `${openId.settings.name} cannot be reached: try again in a minute`,
      { 'Retry-After': '10' },
    );
  }
}

/** The visit that a browser returns from; `unknown` = it began none here, or another since, `expired` = long ago. */
export function readVisit(
  { database, now, config }: Parts<'database' | 'now' | 'config'>,
  request: Request,
): Visit | 'unknown' | 'expired' {
  const sealed = visitCookie(config.publicUrl).read(request);
  const { state } = request.query;
  if (sealed === null || typeof state !== 'string') return 'unknown';
  let plain: string;
  try {
    plain = database.secrets.open(sealed, CONTEXT);
  } catch {
    return 'unknown';
  }
  // It opened, so we wrote it.
  const visit = JSON.parse(plain) as Visit;
  if (!timingSafeEqual(digestOf(visit.state), digestOf(state))) return 'unknown';
  return now() < visit.expiresAtMs ? visit : 'expired';
}

/** Ends the visit in the browser. */
export function endVisit({ config }: Parts<'config'>, response: Response): void {
  visitCookie(config.publicUrl).take(response);
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
