import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request, Response } from 'express';
import { isOwnPath } from '../../../core/accounts/open-id.ts';
import { PeerAway } from '../../../net/bounded-fetch.ts';
import { ApiError, badRequest } from '../../api-error.ts';
import type { Parts } from '../../handler.ts';
import type { Exchange } from '../../request-context.ts';
import type { PlainPage } from '../../system/plain-page.ts';
import { VISIT_SECONDS, visitCookie } from '../session/cookie.ts';
import type { Checks } from './provider.ts';

/** Path that the provider redirects people to, below the public URL. */
export const OPEN_ID_RETURN_PATH = '/connect/open-id';

/** A visit at the provider: the values that it was begun with, and its purpose. */
export type Visit = Checks & {
  /** A path of the console. */
  returnTo: string;
  /** User whom the identity is linked to; null = the person signs in. */
  linkTo: string | null;
  /** Token of the invitation that the person accepts; null if there is none. */
  invitation: string | null;
  expiresAtMs: number;
};

type Purpose = { returnTo: string | undefined; linkTo?: string; invitation?: string | undefined };

/** Context that only visits are sealed with: a value sealed for another purpose does not open. */
const CONTEXT = 'open-id:visit';

type VisitParts = Parts<'database' | 'now' | 'config' | 'openId' | 'logger'>;

/**
 * Begins a visit and returns the URL at the provider to send the browser to. State, nonce and PKCE verifier go into a
 * sealed cookie of this browser, so that beginning a visit stores nothing (D-586). Throws 404 if there is no provider,
 * 503 if it is away.
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

/**
 * Returns the visit that a browser comes back from; `unknown` = it began none here, or another since, `expired` = it is
 * too old.
 */
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
  // The cookie opened, so this code wrote it.
  const visit = JSON.parse(plain) as Visit;
  if (!timingSafeEqual(digestOf(visit.state), digestOf(state))) return 'unknown';
  return now() < visit.expiresAtMs ? visit : 'expired';
}

export function endVisit({ config }: Parts<'config'>, response: Response): void {
  visitCookie(config.publicUrl).take(response);
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** A page that ends a visit at the provider without a sign-in. */
export type RefusalPage = Omit<PlainPage, 'link' | 'button'>;

const AGAIN = 'Go back to the sign-in page and start again.';

/** Explanations of a failed visit for the person who made it; `name` is the provider's display name. */
const REFUSALS = {
  notSetUp: () => ({
    status: 404,
    title: 'Single sign-on is not configured',
    sentences: ['No OpenID Connect provider is configured here.', 'Sign in with your email address and password.'],
  }),
  unknown: (name: string) => ({
    status: 400,
    title: 'This sign-in was not started here',
    sentences: [
      'It was started in another browser, under another address of Spotcheck, or another one was started since. You ' +
        'are not signed in.',
      `${AGAIN} The button “Sign in with ${name}” is there.`,
    ],
  }),
  expired: () => ({
    status: 400,
    title: 'This sign-in took too long',
    sentences: ['It must be finished within 10 minutes. You are not signed in.', AGAIN],
  }),
  used: () => ({
    status: 400,
    title: 'This sign-in was already used',
    sentences: ['Its address works once. Nothing was changed.', AGAIN],
  }),
  denied: (name: string) => ({
    status: 400,
    title: `${name} did not sign you in`,
    sentences: ['Access was denied, or you cancelled. You are not signed in.', AGAIN],
  }),
  reported: (name: string) => ({
    status: 400,
    title: `${name} reported an error`,
    sentences: [
      'You are not signed in.',
      `${AGAIN} If that does not help, ask your operator to look at the log of Spotcheck and at the settings there.`,
    ],
  }),
  stale: (name: string) => ({
    status: 400,
    title: 'This sign-in was already used',
    sentences: [`${name} does not accept its code: it works once, for a short time. You are not signed in.`, AGAIN],
  }),
  refused: (name: string) => ({
    status: 502,
    title: `The response of ${name} cannot be trusted`,
    sentences: [
      'It does not belong to this sign-in, or it is not signed as it must be. You are not signed in.',
      `${AGAIN} If that does not help, ask your operator to look at the log of Spotcheck.`,
    ],
  }),
  away: (name: string) => ({
    status: 503,
    title: `${name} cannot be reached`,
    sentences: ['You are not signed in.', `${AGAIN} Your operator can look at the log of Spotcheck.`],
  }),
  noUser: (name: string) => ({
    status: 403,
    title: 'There is no user for you here',
    sentences: [
      `${name} knows you, but no user of Spotcheck is linked to your account there.`,
      `If you have a user: sign in with your password, and link ${name} under Settings, Profile. If not, ask an ` +
        'owner of the account to invite you.',
    ],
  }),
  unverified: (name: string) => ({
    status: 403,
    title: 'Your email address is not verified',
    sentences: [
      `${name} has not verified your email address, so no user can be created for you.`,
      `Verify the address at ${name}, or ask an owner of the account to invite you.`,
    ],
  }),
  noRole: (name: string) => ({
    status: 403,
    title: 'You have no access to Spotcheck',
    sentences: [
      `None of your groups or roles at ${name} may use Spotcheck.`,
      'Ask an administrator there for one that may, then sign in again.',
    ],
  }),
  full: () => ({
    status: 403,
    title: 'The account is full',
    sentences: [
      'It has reached its limit of members, including pending invitations.',
      'Ask an owner of the account to remove some.',
    ],
  }),
  noAccount: () => ({
    status: 503,
    title: 'Your user could not be created',
    sentences: [
      'No account is configured for your email domain, or that account was deleted.',
      'Ask your operator to add it to OIDC_PROVISION_DOMAINS.',
    ],
  }),
  gone: () => ({
    status: 403,
    title: 'You are not signed in',
    sentences: ['Your user was changed or removed meanwhile.', AGAIN],
  }),
  invitationOver: () => ({
    status: 404,
    title: 'This invitation is over',
    sentences: ['It was used or revoked, or is older than 7 days.', 'Ask for a new one.'],
  }),
  linkSignedOut: () => ({
    status: 403,
    title: 'Nothing was linked',
    sentences: ['You were signed out of Spotcheck, or are signed in as another user.', 'Sign in, and link it again.'],
  }),
  linkTaken: (name: string) => ({
    status: 409,
    title: 'Nothing was linked',
    sentences: [
      `That account at ${name} belongs to another user of Spotcheck, or you have linked one of ${name} already.`,
      'Unlink it first, under Settings, Profile.',
    ],
  }),
  databaseAway: () => ({
    status: 503,
    title: 'Spotcheck is temporarily unavailable',
    sentences: ['It cannot reach its database. You are not signed in.', 'Start again in a minute.'],
  }),
} as const satisfies Record<string, (name: string) => RefusalPage>;

export type Refusal = keyof typeof REFUSALS;

/** Returns the page for a refusal. */
export function describeRefusal(refusal: Refusal, name: string): RefusalPage {
  return REFUSALS[refusal](name);
}
