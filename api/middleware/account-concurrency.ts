import type { Request, RequestHandler, Response } from 'express';
import { ApiError } from '../api-error.ts';
import { contextOf, type RequestContext } from '../request-context.ts';

/**
 * How many requests an account may have under way in a process. A change holds one connection to the database for as
 * long as it waits for a row, so changes that wait for one another leave connections to others; a read takes several
 * for a moment.
 */
const UNDER_WAY = 4;
const MAX_WAITING = 200;

type Account = { underWay: number; waiting: (() => boolean)[] };

/**
 * Makes the concurrency limiter of a process: at most `UNDER_WAY` requests of an account are under way at a time, the
 * others wait in order. One account could otherwise hold every connection to the database, by many changes of one row.
 */
export function limitAccountConcurrency(accountOf: (context: RequestContext) => string | undefined): RequestHandler {
  const accounts = new Map<string, Account>();
  const leave = (id: string, account: Account) => {
    account.underWay -= 1;
    while (account.waiting.length > 0 && account.waiting.shift()?.() === false);
    if (account.underWay === 0) accounts.delete(id);
  };
  return (request, response, next) => {
    const id = accountOf(contextOf(response));
    if (id === undefined) {
      next();
      return;
    }
    const account = accounts.get(id) ?? { underWay: 0, waiting: [] };
    accounts.set(id, account);
    const begin = (): boolean => {
      // A client that has hung up meanwhile is not waited for.
      if (request.socket.destroyed) return false;
      account.underWay += 1;
      onEnd(request, response, () => leave(id, account));
      next();
      return true;
    };
    if (account.underWay < UNDER_WAY) {
      if (!begin() && account.underWay === 0) accounts.delete(id);
      return;
    }
    if (account.waiting.length < MAX_WAITING) account.waiting.push(begin);
    else
      throw new ApiError(429, `${MAX_WAITING} requests of this account are already waiting: send fewer at once`, {
        'Retry-After': '1',
      });
  };
}

/**
 * Calls `onEnded` once, when the answer is written, however slowly it is read, or when its client has gone. It also
 * watches the socket: of pipelined requests only the first is notified that the connection is closed.
 */
function onEnd({ socket }: Request, response: Response, onEnded: () => void): void {
  const end = () => {
    response.off('prefinish', end).off('close', end);
    socket.off('close', end);
    onEnded();
  };
  response.once('prefinish', end).once('close', end);
  socket.once('close', end);
}
