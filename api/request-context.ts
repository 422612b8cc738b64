import type { Request, Response } from 'express';
import type { Author } from '../core/accounts/audit-entry.ts';
import type { Plan } from '../core/accounts/plans.ts';
import { ROLE_SCOPES, type Scope } from '../core/accounts/roles.ts';
import type { TokenHolder } from '../models/accounts/api-tokens.ts';
import type { SessionHolder } from '../models/accounts/sessions.ts';
import type { Tenant } from '../models/accounts/tenants.ts';
import { personName, type User } from '../models/accounts/user-row.ts';
import type { TokenAgent } from '../models/agents/protocol.ts';

/** The author of an action in records. */
type Actor = { kind: 'user' | 'token'; id: string; name: string };

type Anyone = { tenantId: string; plan: Plan; scopes: readonly Scope[]; actor: Actor };

/** A program with an API token. */
type TokenCaller = Anyone & { kind: 'token'; tokenId: string };

/** A person of the console. `secret` is the value of their cookie. */
export type SessionCaller = Anyone & { kind: 'session'; sessionId: string; secret: string; user: User; tenant: Tenant };

export type Caller = TokenCaller | SessionCaller;

/** Returns the caller for a valid token. */
export function tokenCaller({ tokenId, tokenName, tenantId, plan, scopes }: TokenHolder): TokenCaller {
  return { kind: 'token', tokenId, tenantId, plan, scopes, actor: { kind: 'token', id: tokenId, name: tokenName } };
}

/** Returns the caller for a session, with the scopes of the person's role. */
export function sessionCaller({ sessionId, user, tenant }: SessionHolder, secret: string): SessionCaller {
  const actor: Actor = { kind: 'user', id: user.id, name: user.name === '' ? user.email : user.name };
  return {
    kind: 'session',
    sessionId,
    secret,
    user,
    tenant,
    tenantId: tenant.id,
    plan: tenant.plan,
    scopes: ROLE_SCOPES[user.role],
    actor,
  };
}

/** Returns a caller's representation in the audit log: people are named with their email address. */
export function auditActorOf(caller: Caller): Actor {
  return caller.kind === 'session' ? { kind: 'user', id: caller.user.id, name: personName(caller.user) } : caller.actor;
}

/** Data of a request that the middleware collects for the handlers. */
export type RequestContext = {
  requestId?: string;
  /** Client address, as far as trusted proxies tell; null if the connection was closed. */
  address?: string | null;
  caller?: Caller;
  /** Time of authentication, by `performance.now()`. */
  authenticatedAt?: number;
  /** Whether the route guard admitted the request to an operation that is public. */
  isOpen?: boolean;
  /** Author of the request's change in the audit log; absent if it records nothing. */
  author?: Author;
  /** The calling agent of a customer, on the agent paths. */
  agent?: TokenAgent;
  /** Whether only the headers of the response were requested. */
  isHead?: boolean;
  /** Whether the response is a stream, which lasts until its reader disconnects. */
  isStream?: boolean;
  /** The path as in the description, such as `/monitors/{id}`. */
  route?: string;
};

/** A request and its response. */
export type Exchange = { request: Request; response: Response };

/** Returns the context of the request that this response answers; Express leaves `locals` to the application. */
export function contextOf(response: Response): RequestContext {
  return response.locals;
}

/**
 * Returns the client address, behind trusted proxies too; null if the connection was closed. Throws if no middleware
 * has determined it.
 */
export function addressOf(response: Response): string | null {
  const { address } = contextOf(response);
  if (address === undefined) throw new Error('No middleware has determined the client address on this route');
  return address;
}

/** Returns the caller. Throws on routes without authentication. */
export function callerOf(response: Response): Caller {
  const { caller } = contextOf(response);
  if (caller === undefined) throw new Error('This route does not authenticate its caller');
  return caller;
}

/** Returns the author of the request's change. Throws if the operation's route does not name its audit action. */
export function authorOf(response: Response): Author {
  const { author } = contextOf(response);
  if (author === undefined) throw new Error('This operation names no audit action to record');
  return author;
}

/** Returns the calling person. Throws if the operation also admits tokens. */
export function personOf(response: Response): SessionCaller {
  const caller = callerOf(response);
  if (caller.kind !== 'session') throw new Error('This operation admits tokens, so the caller may not be a person');
  return caller;
}

const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Reports whether a text can be an id: no other text (NUL above all) may reach the database as one. */
export function isId(text: string): boolean {
  return ID.test(text);
}

/** Returns the path parameter `id`, validated by `asId`. */
export function idOf({ params }: { params: { id: string } }): string {
  return asId(params.id);
}

/** Returns a path parameter that is a valid id, or else a text that no row has as its id. */
export function asId(text: string): string {
  return isId(text) ? text : '-';
}
