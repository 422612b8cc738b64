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

/** What changes nothing. */
export const READING_METHODS = new Set(['GET', 'OPTIONS']);

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
