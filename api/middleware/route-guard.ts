import type { Request, RequestHandler } from 'express';
import { isAtLeast, type Scope } from '../../core/accounts/roles.ts';
import { sessionCookie } from '../accounts/session/cookie.ts';
import { ApiError } from '../api-error.ts';
import type { Operation } from '../description.ts';
import { contextOf, type Caller } from '../request-context.ts';
import { bearerTokenOf } from './authentication.ts';

/** The parts of the description that determine who may call an operation. */
type Admission = Pick<Operation, 'security' | 'x-caller' | 'x-role' | 'x-operator' | 'x-scope'>;

type RouteGuard = {
  isOpen: boolean;
  isForPeople: boolean;
  role: Operation['x-role'];
  isForOperators: boolean;
  /** Narrower scope that suffices for reading; null = only `read` does. */
  narrowScope: Scope | null;
};

/** Methods that change nothing. */
export const READING_METHODS = new Set(['GET', 'OPTIONS']);

/**
 * Makes the route guard of an operation, which refuses unauthorized callers before anything else of the request is
 * read. Anonymous callers reach only open operations (401), tokens only those not restricted to people, and people only
 * what their role allows (403). An undescribed operation, `{}`, requires a caller as well. The session
 * cookie's name depends on `publicUrl`.
 */
export function admit(operation: Admission, publicUrl: string): RequestHandler {
  const guard = guardOf(operation);
  const cookie = sessionCookie(publicUrl);
  return (request, response, next) => {
    const context = contextOf(response);
    if (guard.isOpen) context.isOpen = true;
    else {
      const caller = context.caller ?? refuseAnonymous(request, guard.isForPeople || cookie.read(request) !== null);
      authorize(guard, caller, request.method);
    }
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

/** Requires a scope; operations that change something need `write` (D-02). */
function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.includes(scope)) return;
  if (caller.kind === 'session')
    throw new ApiError(403, `your role ${caller.user.role} does not allow changes: ask an owner of the account`);
  throw new ApiError(403, `this token lacks the scope ${scope}`, {
    'WWW-Authenticate': `Bearer realm="spotcheck", error="insufficient_scope", scope="${scope}"`,
  });
}

/**
 * Throws 401 with advice (RFC 6750). The response does not distinguish unknown, expired and revoked tokens or sessions.
 * Browsers may send the queue board's credentials (HTTP Basic) with every request, also after a session has ended.
 */
function refuseAnonymous(request: Request, isPerson: boolean): never {
  const challenge = 'Bearer realm="spotcheck"';
  if (bearerTokenOf(request) !== null) {
    throw new ApiError(401, 'the token in the Authorization header is not valid: it is unknown, expired or revoked', {
      'WWW-Authenticate': `${challenge}, error="invalid_token"`,
    });
  }
  if (isPerson)
    throw new ApiError(401, 'you are not signed in, or your session has ended: sign in', {
      'WWW-Authenticate': challenge,
    });
  const got = (request.headers.authorization ?? '') === '' ? 'none' : 'one without "Bearer"';
  throw new ApiError(401, `the Authorization header must be "Bearer spk_...", got ${got}`, {
    'WWW-Authenticate': challenge,
  });
}
