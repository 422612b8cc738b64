import { createHash, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Database } from '../models/database.ts';
import { verifyPassword } from '../models/password.ts';
import { findSessionHolder } from '../models/sessions.ts';
import { findUserByEmail } from '../models/users.ts';
import { ApiError } from './api-error.ts';
import { addressOf } from './request-context.ts';
import { sessionCookie } from './session/cookie.ts';
import { isOwnOrigin } from './session/csrf.ts';

export type QueueBoardLoginOptions = {
  database: Database;
  /** The board's own password, for any user name; null = operators of the console only. */
  password: string | null;
  /** Base of links: which cookie is a session's, and whose pages may press the board's buttons. */
  publicUrl: string;
  now: () => number;
};

/** Where the board is mounted. */
export const QUEUE_BOARD_PATH = '/queues';

const READING_METHODS = new Set(['GET', 'HEAD']);

/** Wrong passwords from one address in a minute, after which it waits. */
const FAILURES_PER_MINUTE = 10;

/** A correct password is not hashed again for so long, in milliseconds: a page of the board is dozens of requests. */
const REMEMBER_MS = 60_000;

/**
 * Lets in operators who are signed in to the console, and who knows the board's password or an operator's; everyone else is asked by HTTP Basic (RFC 7617).
 * What is sent by Basic cannot have a second factor: an operator with one has to sign in.
 */
export function queueBoardLogin({ database, password, publicUrl, now }: QueueBoardLoginOptions): RequestHandler {
  const cookie = sessionCookie(publicUrl);
  const failures = new RateLimiterMemory({ points: FAILURES_PER_MINUTE, duration: 60 });
  const remembered = new Map<string, number>();

  const isLetIn = async (credentials: Credentials): Promise<boolean> => {
    const key = digest(`${credentials.user}\0${credentials.password}`).toString('hex');
    if ((remembered.get(key) ?? 0) > now()) return true;
    const isKnown = (password !== null && timingSafeEqual(digest(credentials.password), digest(password))) || (await isOperator(database, credentials));
    if (isKnown) remembered.set(key, now() + REMEMBER_MS);
    else remembered.delete(key);
    return isKnown;
  };

  const isOperatorSignedIn = async (request: Request): Promise<boolean> => {
    const secret = cookie.read(request);
    // The board's own pages know no CSRF token, but browsers tell of which page a request is whenever it can change something.
    const isOurs = READING_METHODS.has(request.method) || (request.headers.origin !== undefined && isOwnOrigin(request, publicUrl));
    return secret !== null && isOurs && (await findSessionHolder(database, secret, now()))?.user.isOperator === true;
  };

  return async (request, response, next) => {
    if (await isOperatorSignedIn(request)) {
      next();
      return;
    }
    const address = addressOf(response) ?? '';
    const credentials = parseBasic(request.headers.authorization);
    const failed = (await failures.get(address))?.consumedPoints ?? 0;
    if (failed >= FAILURES_PER_MINUTE) throw new ApiError(429, 'too many wrong passwords, wait a minute', { 'Retry-After': '60' });
    if (credentials !== null && (await isLetIn(credentials))) {
      next();
      return;
    }
    if (credentials !== null) await failures.penalty(address);
    response.setHeader('WWW-Authenticate', 'Basic realm="Spotcheck queues", charset="UTF-8"');
    throw new ApiError(401, 'the queue board needs the password of QUEUE_BOARD_PASSWORD, or an operator who is signed in to the console');
  };
}

type Credentials = { user: string; password: string };

function parseBasic(header: string | undefined): Credentials | null {
  const encoded = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return null;
  const [user = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return { user, password: rest.join(':') };
}

async function isOperator(database: Database, { user, password }: Credentials): Promise<boolean> {
  const found = await findUserByEmail(database, user);
  return found !== null && found.isOperator && found.totpConfirmedAt === null && (await verifyPassword(password, found.passwordHash));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
