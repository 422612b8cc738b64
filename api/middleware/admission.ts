import type { Request, RequestHandler } from 'express';
import { isAtLeast, type Scope } from '../../core/roles.ts';
import { ApiError } from '../api-error.ts';
import type { Caller } from '../caller.ts';
import { METHODS, type Description, type Operation } from '../description.ts';
import { contextOf } from '../request-context.ts';

/**
 * What lets somebody ask for an operation, as the description says it: `security: []`, `x-caller`, `x-role` and
 * `x-operator`.
 */
type Door = { id: string; isOpen: boolean; isForPeople: boolean; role: Operation['x-role']; isForOperators: boolean };

/** The doors of a path, by method. */
type House = { path: RegExp; doors: ReadonlyMap<string, Door> };

const READING_METHODS = new Set(['GET', 'OPTIONS']);

/**
 * Lets in who may ask for an operation, before anything else is read of the request. Anonymous callers reach open
 * operations only (401), tokens those that are not for people, and people what their role allows (403). What the
 * description does not know needs a caller as well, and is nobody's later on.
 */
export function admission(description: Description): RequestHandler {
  const houses = listHouses(description);
  return (request, response, next) => {
    const context = contextOf(response);
    const door = houses.find(({ path }) => path.test(request.path))?.doors.get(request.method);
    if (door !== undefined) context.operationId = door.id;
    if (door?.isOpen === true) context.isOpen = true;
    else hold(door, context.caller ?? refuseAnonymous(request, door), request.method);
    next();
  };
}

/**
 * Answers an operation only where the door that let the request in was its own: a path that is read in two ways leads
 * nowhere.
 */
export function onlyAs(operationId: string): RequestHandler {
  return (_request, response, next) => {
    if (contextOf(response).operationId !== operationId) throw new ApiError(404, 'there is nothing at this path');
    next();
  };
}

/** Paths without parameters first: `/sessions/end-others` is no session's. */
function listHouses({ paths }: Description): House[] {
  const items = Object.entries(paths).filter(([, { servers }]) => servers === undefined);
  return items
    .toSorted(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')))
    .map(([path, item]) => ({
      path: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`),
      doors: new Map(
        METHODS.flatMap((method) => (item[method] === undefined ? [] : [[method.toUpperCase(), doorOf(item[method])]])),
      ),
    }));
}

function doorOf(operation: Operation): Door {
  return {
    id: operation.operationId,
    isOpen: operation.security?.length === 0,
    isForPeople:
      operation['x-caller'] === 'session' || operation['x-role'] !== undefined || operation['x-operator'] === true,
    role: operation['x-role'],
    isForOperators: operation['x-operator'] === true,
  };
}

function hold(door: Door | undefined, caller: Caller, method: string): void {
  if (door?.isForPeople !== true) {
    holdScope(caller, READING_METHODS.has(method) ? 'read' : 'write');
    return;
  }
  if (caller.kind === 'token')
    throw new ApiError(403, 'this is for people who are signed in to the console: no API token can do it');
  if (door.isForOperators && !caller.user.isOperator)
    throw new ApiError(403, 'this is for operators of the installation, whatever role one has in an account');
  if (door.role !== undefined && !isAtLeast(caller.user.role, door.role))
    throw new ApiError(403, `this needs the role ${door.role}, and you are ${caller.user.role}`);
}

/** Whatever can change something needs the scope `write` (D-02). */
function holdScope(caller: Caller, scope: Scope): void {
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
function refuseAnonymous({ headers: { authorization, cookie } }: Request, door: Door | undefined): never {
  const challenge = 'Bearer realm="spotcheck"';
  if (authorization !== undefined) {
    throw new ApiError(401, 'the token in the Authorization header is not valid: it is unknown, expired or revoked', {
      'WWW-Authenticate': `${challenge}, error="invalid_token"`,
    });
  }
  if (door?.isForPeople === true || /\bspotcheck=/.test(cookie ?? ''))
    throw new ApiError(401, 'nobody is signed in, or the session has ended: sign in', {
      'WWW-Authenticate': challenge,
    });
  throw new ApiError(401, 'the Authorization header must be "Bearer spk_...", got none', {
    'WWW-Authenticate': challenge,
  });
}
