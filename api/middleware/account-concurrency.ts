import type { RequestHandler, Response } from 'express';
import { addCount } from '../../core/bounded-map.ts';
import { ApiError } from '../api-error.ts';
import { contextOf, type RequestContext } from '../request-context.ts';

/**
 * Maximum number of an account's requests in progress in a process. A change holds one database connection while it
 * waits for a row, so blocked changes leave connections to others; a read briefly takes several.
 */
const UNDER_WAY = 4;
const MAX_WAITING = 200;

/**
 * Maximum size of an account's unread responses in a process, in bytes; beyond it requests are refused. Most memory is
 * held by a response until its client has read it, so a limit on requests alone does not suffice.
 */
const MAX_UNREAD_BYTES = 33_554_432;

type Account = { underWay: number; unreadBytes: number; waiting: (() => boolean)[] };

/**
 * Makes the concurrency limiter of a process: at most `UNDER_WAY` requests of an account are in progress, the others
 * wait in order. Otherwise one account could hold every database connection, by many changes of one row. Responses
 * written but not read block no other request, up to `MAX_UNREAD_BYTES`.
 */
export function limitAccountConcurrency(accountOf: (context: RequestContext) => string | undefined): RequestHandler {
  const accounts = new Map<string, Account>();
  const forget = (id: string, account: Account) => {
    if (account.underWay === 0 && account.unreadBytes === 0) accounts.delete(id);
  };
  const leave = (id: string, account: Account) => {
    account.underWay -= 1;
    while (account.waiting.shift()?.() === false);
    forget(id, account);
  };
  return (request, response, next) => {
    const id = accountOf(contextOf(response));
    if (id === undefined) {
      next();
      return;
    }
    const account = accounts.get(id) ?? { underWay: 0, unreadBytes: 0, waiting: [] };
    accounts.set(id, account);
    const begin = (): boolean => {
      // A waiting request whose client has disconnected is skipped.
      if (request.socket.destroyed) return false;
      if (account.unreadBytes >= MAX_UNREAD_BYTES) {
        next(tooMuchUnread());
        return false;
      }
      account.underWay += 1;
      onEnd(response, () => {
        countUnread(response, account, () => forget(id, account));
        leave(id, account);
      });
      next();
      return true;
    };
    if (account.underWay < UNDER_WAY) {
      if (!begin()) forget(id, account);
      return;
    }
    if (account.waiting.length < MAX_WAITING) account.waiting.push(begin);
    else
      throw new ApiError(429, `${MAX_WAITING} requests of this account are already waiting: send fewer at once`, {
        'Retry-After': '1',
      });
  };
}

/** Counts the unsent bytes of a written response until all are sent or its connection closes. */
function countUnread(response: Response, account: Account, onRead: () => void): void {
  const bytes = response.writableLength;
  if (bytes === 0 || response.req.socket.destroyed) return;
  account.unreadBytes += bytes;
  response.once('close', () => {
    account.unreadBytes -= bytes;
    onRead();
  });
}

function tooMuchUnread(): ApiError {
  return new ApiError(
    429,
    `this account has ${MAX_UNREAD_BYTES} bytes of unread responses: read them, or close their connections`,
    { 'Retry-After': '5' },
  );
}

/**
 * Maximum number of an account's responses generated while they are read, in a process: half of its requests in
 * progress.
 */
const LARGE_ANSWERS = 2;

/**
 * Makes the slots for responses that are generated while they are read. The function takes one for an account and
 * returns the function that releases it once; throws 429 if none is free.
 */
export function createAnswerSlots(): (tenantId: string) => () => void {
  const taken = new Map<string, number>();
  return (tenantId) => {
    const before = taken.get(tenantId) ?? 0;
    if (before >= LARGE_ANSWERS)
      throw new ApiError(
        429,
        `${before} large answers of this account are being read already: read them, or close their connections`,
        { 'Retry-After': '5' },
      );
    addCount(taken, tenantId, 1);
    return () => addCount(taken, tenantId, -1);
  };
}

/** Calls `onEnded` once, when the response is written, however slowly it is read, or its client has disconnected. */
function onEnd(response: Response, onEnded: () => void): void {
  const end = () => {
    response.off('prefinish', end).off('close', end);
    onEnded();
  };
  response.once('prefinish', end).once('close', end);
}
