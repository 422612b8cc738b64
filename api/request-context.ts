import type { Request, Response } from 'express';
import type { AuditActor, Author } from '../core/accounts/audit-entry.ts';
import type { Plan } from '../core/accounts/plans.ts';
import { ROLE_SCOPES, type Scope } from '../core/accounts/roles.ts';
import type { TokenHolder } from '../models/accounts/api-tokens.ts';
import type { SessionHolder } from '../models/accounts/sessions.ts';
import type { Tenant } from '../models/accounts/tenants.ts';
import { personName, type User } from '../models/accounts/user-row.ts';
import type { TokenAgent } from '../models/agents/protocol.ts';

/** Who did something, for what is written down of it. */
type Actor = { kind: 'user' | 'token'; id: string; name: string };

type Anyone = { tenantId: string; plan: Plan; scopes: readonly Scope[]; actor: Actor };

/** A program with an API token. */
type TokenCaller = Anyone & { kind: 'token'; tokenId: string };

/** A person of the console. `secret` is what their cookie holds. */
export type SessionCaller = Anyone & { kind: 'session'; sessionId: string; secret: string; user: User; tenant: Tenant };

export type Caller = TokenCaller | SessionCaller;

/** The caller that a valid token speaks for. */
export function tokenCaller({ tokenId, tokenName, tenantId, plan, scopes }: TokenHolder): TokenCaller {
  return { kind: 'token', tokenId, tenantId, plan, scopes, actor: { kind: 'token', id: tokenId, name: tokenName } };
}

/** The caller that a session speaks for, with the scopes of the person's role. */
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

/** What entries of the audit log call a caller: a person by their address as well. */
export function auditActorOf(caller: Caller): AuditActor {
  return caller.kind === 'session' ? { kind: 'user', id: caller.user.id, name: personName(caller.user) } : caller.actor;
}

/** What the middleware learns of a request and the handlers use. */
export type RequestContext = {
  requestId?: string;
  /** Where it comes from, as far as trusted proxies tell; null = its connection was gone. */
  address?: string | null;
  caller?: Caller;
  /** When the caller was found, by `performance.now()`. */
  authenticatedAt?: number;
  /** Whether the operation that the route guard admitted it to is open to everybody. */
  isOpen?: boolean;
  /** Who the audit log says made the request's change; absent where it records nothing. */
  author?: Author;
  /** Which customer's agent calls, on its own paths. */
  agent?: TokenAgent;
  /** Whether only the headers of the answer were asked for. */
  isHead?: boolean;
  /** Whether the answer is a stream, which lasts for as long as its reader likes. */
  isStream?: boolean;
  /** The path as the description writes it, such as `/monitors/{id}`. */
  route?: string;
};

/** A request and its answer. */
export type Exchange = { request: Request; response: Response };

/** The context of the request that this response answers; Express leaves `locals` to the application. */
export function contextOf(response: Response): RequestContext {
  return response.locals;
}

/**
 * The address that a request comes from, behind trusted proxies too; null where its connection was gone. Throws where
 * no middleware has looked for it.
 */
export function addressOf(response: Response): string | null {
  const { address } = contextOf(response);
  if (address === undefined)
    throw new Error('The address is asked for on a route in front of which no middleware looks for it');
  return address;
}

/** Who calls. Throws before authentication: only routes behind it may ask. */
export function callerOf(response: Response): Caller {
  const { caller } = contextOf(response);
  if (caller === undefined) throw new Error('The caller is asked for on a route without authentication');
  return caller;
}

/**
 * In whose name the request's change is recorded. Throws where the operation's route does not say what the audit log
 * calls it.
 */
export function authorOf(response: Response): Author {
  const { author } = contextOf(response);
  if (author === undefined) throw new Error('A change is to be recorded by an operation that records nothing');
  return author;
}

/** The person who calls. Throws where a token may call as well: only operations for people may ask. */
export function personOf(response: Response): SessionCaller {
  const caller = callerOf(response);
  if (caller.kind !== 'session') throw new Error('The person is asked for by an operation that tokens reach');
  return caller;
}

const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** True for a text that can be an id: nothing else (NUL above all) may reach the database as one. */
export function isId(text: string): boolean {
  return ID.test(text);
}

/** The path parameter `id`, as `asId` reads it. */
export function idOf({ params }: { params: { id: string } }): string {
  return asId(params.id);
}

/** A path parameter that names a row, or a text that no row has as its id where it cannot be one. */
export function asId(text: string): string {
  return isId(text) ? text : '-';
}
