import type { AuditActor } from '../core/accounts/audit-entry.ts';
import type { Plan } from '../core/accounts/plans.ts';
import { ROLE_SCOPES, type Scope } from '../core/accounts/roles.ts';
import type { TokenHolder } from '../models/accounts/api-tokens.ts';
import { personName } from '../models/accounts/recorded-fields.ts';
import type { SessionHolder } from '../models/accounts/sessions.ts';
import type { Tenant } from '../models/accounts/tenants.ts';
import type { User } from '../models/accounts/user-row.ts';

/** Who did something, for what is written down of it. */
export type Actor = { kind: 'user' | 'token'; id: string; name: string };

type Anyone = { tenantId: string; plan: Plan; scopes: readonly Scope[]; actor: Actor };

/** A program with an API token. */
export type TokenCaller = Anyone & { kind: 'token'; tokenId: string };

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
