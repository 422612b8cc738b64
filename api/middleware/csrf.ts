import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { ApiError } from '../api-error.ts';
import { contextOf } from '../request-context.ts';
import { READING_METHODS } from './route-guard.ts';

/**
 * What a page must know to change something in the name of a session: only our own pages can read it. One for as long
 * as the session lasts.
 */
export function csrfTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('csrf').digest('base64url');
}

/**
 * Refuses what another site's page may have sent in a person's name. A browser adds the cookie by itself, so what came
 * by cookie and can change something must carry the session's token as well; tokens of the API are added by no browser.
 * Where `Origin` is sent it must be ours, also of who signs in.
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
 * True where a request says no origin, or one of ours: that of `PUBLIC_URL`, or of the host that it was sent to. With
 * TLS in front nothing tells which scheme it came by: where `PUBLIC_URL` is https, a page of its host by http is
 * another site's, for any proxy on the way can write that one.
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
