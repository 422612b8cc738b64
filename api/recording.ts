import type { RequestHandler, Response } from 'express';
import type { AuditAction, AuditActor } from '../core/accounts/audit-entry.ts';
import { personName } from '../models/accounts/recorded-fields.ts';
import type { Database } from '../models/database.ts';
import type { ApiDependencies } from './dependencies.ts';
import { addressOf, contextOf } from './request-context.ts';

/** Names the author of what a request changes, for the one entry that the audit log gets of it. */
export function recordAs(
  action: AuditAction,
  { makeId, now }: Pick<ApiDependencies, 'makeId' | 'now'>,
): RequestHandler {
  return (_request, response, next) => {
    const [actor, address] = [actorOf(response), addressOf(response)];
    contextOf(response).author = { id: makeId('aud'), action, actor, address, nowMs: now() };
    next();
  };
}

/**
 * The database through which a request makes its change: that is recorded as its author's, in the change's own
 * transaction. Throws where the operation's route does not say what the audit log calls it.
 */
export function recorded(database: Database, response: Response): Database {
  const { author } = contextOf(response);
  if (author === undefined) throw new Error('A change is to be recorded by an operation that records nothing');
  return { ...database, author };
}

/** The person who signs in is known afterwards; whose session the request came with does not matter to that. */
function actorOf(response: Response): AuditActor | null {
  const { caller, isOpen } = contextOf(response);
  if (caller === undefined || isOpen === true) return null;
  return caller.kind === 'session' ? { kind: 'user', id: caller.user.id, name: personName(caller.user) } : caller.actor;
}
