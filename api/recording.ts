import type { RequestHandler, Response } from 'express';
import type { AuditAction, AuditActor, Author } from '../core/accounts/audit-entry.ts';
import { personName } from '../models/accounts/recorded-fields.ts';
import type { Database } from '../models/database.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { addressOf, contextOf } from './request-context.ts';

type MakeHandler = (dependencies: HandlerDependencies) => RequestHandler;

/**
 * Answers an operation through a database that records what it changes as its caller's, one entry a request. The
 * handler is made for each request, which is a closure more: what it is made from knows who asks, so that no handler
 * has to say so, and none can forget it.
 */
export function recorded(
  action: AuditAction,
  makeHandler: MakeHandler,
  dependencies: HandlerDependencies,
): RequestHandler {
  return (request, response, next) => {
    const database = { ...dependencies.database, author: authorOf(response, action, dependencies) };
    return makeHandler({ ...dependencies, database })(request, response, next);
  };
}

/** The same database, through which nothing is recorded: for what is a part of something that is. */
export function unrecorded({ author: _author, ...database }: Database): Database {
  return database;
}

function authorOf(
  response: Response,
  action: AuditAction,
  { makeId, now }: Pick<HandlerDependencies, 'makeId' | 'now'>,
): Author {
  return { id: makeId('aud'), action, actor: actorOf(response), address: addressOf(response), nowMs: now() };
}

/** The person who signs in is known afterwards; whose session the request came with does not matter to that. */
function actorOf(response: Response): AuditActor | null {
  const { caller, isOpen } = contextOf(response);
  if (caller === undefined || isOpen === true) return null;
  return caller.kind === 'session' ? { kind: 'user', id: caller.user.id, name: personName(caller.user) } : caller.actor;
}
