import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { isAtLeast, type Scope } from '../../core/accounts/roles.ts';
import { ApiError } from '../api-error.ts';
import type { Operation } from '../description.ts';
import { contextOf, type Caller } from '../request-context.ts';

/** What the description says of who may call an operation. */
type Admission = Pick<Operation, 'security' | 'x-caller' | 'x-role' | 'x-operator' | 'x-scope'>;

type RouteGuard = {
  isOpen: boolean;
  isForPeople: boolean;
  role: Operation['x-role'];
  isForOperators: boolean;
  /** The narrower scope that suffices to read; null = only `read` does. */
  narrowScope: Scope | null;
};

const READING_METHODS = new Set(['GET', 'OPTIONS']);

/**
 * Makes the route guard of an operation: it refuses callers that may not call it, before anything else of the request
 * is read. Anonymous callers reach open operations only (401), tokens those that are not for people, and people what
 * their role allows (403). What the description does not know, `{}`, needs a caller as well.
 */
export function admit(operation: Admission): RequestHandler {
  const guard = guardOf(operation);
  return (request, response, next) => {
    const context = contextOf(response);
    if (guard.isOpen) context.isOpen = true;
    else authorize(guard, context.caller ?? refuseAnonymous(request, guard), request.method);
    next();
  };
}

function guardOf(operation: Admission): RouteGuard {
  return {
    isOpen: operation.security?.length === 0,
    isForPeople:
      operation['x-caller'] === 'session' || operation['x-role'] !== undefined || operation['x-operator'] === true,
    role: operation['x-role'],
    isForOperators: operation['x-operator'] === true,
    narrowScope: operation['x-scope'] ?? null,
  };
}

function authorize(guard: RouteGuard, caller: Caller, method: string): void {
  if (guard.narrowScope !== null && caller.scopes.includes(guard.narrowScope)) return;
  if (!guard.isForPeople) {
    requireScope(caller, READING_METHODS.has(method) ? 'read' : 'write');
    return;
  }
  if (caller.kind === 'token') throw new ApiError(403, 'API tokens cannot do this: sign in to the console');
  if (guard.isForOperators && !caller.user.isOperator)
    throw new ApiError(403, 'only operators of this installation can do this, whatever their role in the account');
  if (guard.role !== undefined && !isAtLeast(caller.user.role, guard.role))
    throw new ApiError(403, `this requires the role ${guard.role}, and yours is ${caller.user.role}`);
}

/** Whatever can change something needs the scope `write` (D-02). */
function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.includes(scope)) return;
  if (caller.kind === 'session')
    throw new ApiError(403, `your role ${caller.user.role} does not allow changes: ask an owner of the account`);
  throw new ApiError(403, `this token lacks the scope ${scope}`, {
    'WWW-Authenticate': `Bearer realm="spotcheck", error="insufficient_scope", scope="${scope}"`,
  });
}

/**
 * 401, and how to do better (RFC 6750). Unknown, expired and revoked tokens are distinguished for nobody, nor are
 * sessions.
 */
function refuseAnonymous({ headers: { authorization, cookie } }: Request, guard: RouteGuard): never {
  const challenge = 'Bearer realm="spotcheck"';
  if (authorization !== undefined) {
    throw new ApiError(401, 'the token in the Authorization header is not valid: it is unknown, expired or revoked', {
      'WWW-Authenticate': `${challenge}, error="invalid_token"`,
    });
  }
  if (guard.isForPeople || /\bspotcheck=/.test(cookie ?? ''))
    throw new ApiError(401, 'you are not signed in, or your session has ended: sign in', {
      'WWW-Authenticate': challenge,
    });
  throw new ApiError(401, 'the Authorization header must be "Bearer spk_...", got none', {
    'WWW-Authenticate': challenge,
  });
}

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
export function requireOwnPage(publicUrl: string): RequestHandler {
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
