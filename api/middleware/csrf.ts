import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { ApiError } from '../api-error.ts';
import { contextOf } from '../request-context.ts';
import { READING_METHODS } from './route-guard.ts';

/**
 * Returns the token that a page must send to change something in a session's name: only this service's pages can read
 * it. It is constant for the session.
 */
export function csrfTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('csrf').digest('base64url');
}

/**
 * Refuses requests that another site's page may have sent in a person's name. Browsers add the cookie by themselves, so
 * a changing request with a cookie must carry the session's token as well; browsers never add API tokens. `Origin`, if
 * sent, must be this service's, also for signing in.
 */
export function refuseForeignPages(publicUrl: string): RequestHandler {
  return (request, response, next) => {
    const { caller, isOpen } = contextOf(response);
    if (READING_METHODS.has(request.method) || !(caller?.kind === 'session' || isOpen === true)) {
      next();
      return;
    }
    if (!isOwnOrigin(request, publicUrl))
      throw new ApiError(
        403,
        `the Origin of the request must be that of the console, got ${String(request.headers.origin).slice(0, 100)}`,
      );
    if (caller?.kind === 'session' && isOpen !== true && !isTokenOf(caller.secret, request.headers['x-csrf-token'])) {
      throw new ApiError(
        403,
        'the header X-CSRF-Token must be the csrf_token of this session: read it from GET /v1/session',
      );
    }
    next();
  };
}

/**
 * Reports whether a request has no `Origin`, or one of this service: that of `PUBLIC_URL`, or of the host it was sent
 * to. Behind TLS termination the scheme of the request is unknown: if `PUBLIC_URL` is https, an http page of its host
 * counts as another site's, because any proxy on the way can forge that one.
 */
export function isOwnOrigin(request: Request, publicUrl: string): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined) return true;
  const [parsed, own] = [URL.parse(origin), new URL(publicUrl)];
  if (parsed === null || parsed.origin === own.origin) return parsed !== null;
  return (
    parsed.host === host?.toLowerCase() &&
    !(own.protocol === 'https:' && parsed.protocol !== 'https:' && parsed.hostname === own.hostname)
  );
}

function isTokenOf(secret: string, given: string | string[] | undefined): boolean {
  const [expected, actual] = [Buffer.from(csrfTokenOf(secret)), Buffer.from(String(given ?? ''))];
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}
