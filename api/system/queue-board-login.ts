import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler, Response, Router } from 'express';
import { cleanText } from '../../core/foreign-text.ts';
import { HOUR_MS } from '../../core/time.ts';
import { OPERATOR, insertAuditEntry } from '../../models/accounts/audit-log.ts';
import { findSessionHolder } from '../../models/accounts/sessions.ts';
import { recordSignInClients } from '../../models/accounts/sign-in-clients.ts';
import { personName, type User } from '../../models/accounts/user-row.ts';
import { listOperatorTenants } from '../../models/accounts/users.ts';
import type { Database } from '../../models/database.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import { fingerprintOf } from '../../models/secrets/secret-box.ts';
import { runOn } from '../../models/sql.ts';
import { secretCookie, sessionCookie, type SecretCookie } from '../accounts/session/cookie.ts';
import { clientOfNetwork, type Throttle } from '../accounts/session/throttle.ts';
import { ApiError } from '../api-error.ts';
import { networkOf } from '../client-address.ts';
import { isOwnOrigin } from '../middleware/csrf.ts';
import { addressOf } from '../request-context.ts';
import { sendPlainPage } from './plain-page.ts';
import type { QueueBoardOptions } from './queue-board.ts';

type Means = { database: Pick<Database, 'pool'>; makeId: (prefix: IdPrefix) => string; now: () => number };

/** A request to the board and its author; `user` null = a holder of the board's password. */
type BoardRequest = { request: Request; user: User | null; address: string | null };

/**
 * Paths of the board's changes: all queues, or one queue and a job or scheduler of it. Like the board's router it
 * ignores case and a trailing slash.
 */
const ACTION = /^\/api\/queues\/(?:(?<every>pause|resume)|(?<queue>[^/]+)\/(?<action>.+?))\/?$/i;

const LONGEST_NAME = 100;

/**
 * Records an action on a queue in the audit log of the operator's account before it is done. The board's password
 * identifies no operator, so such an action is recorded in every account that has one. Job payloads are not recorded,
 * because they may contain anything.
 */
async function recordBoardAction(means: Means, { request, user, address }: BoardRequest): Promise<void> {
  const { database, makeId, now } = means;
  const { every, queue = '', action = '' } = ACTION.exec(request.path)?.groups ?? {};
  if (every === undefined && queue === '') return;
  const [id, done] = every === undefined ? [decoded(queue), `${request.method} ${decoded(action)}`] : ['all', every];
  const object = { kind: 'queue', id, name: every === undefined ? id : 'All queues' } as const;
  const actor = user === null ? OPERATOR : { kind: 'user' as const, id: user.id, name: personName(user) };
  const tenantIds = user === null ? await listOperatorTenants(database) : [user.tenantId];
  for (const tenantId of tenantIds) {
    const author = { id: makeId('aud'), action: 'queue.changed' as const, actor, address, nowMs: now() };
    await insertAuditEntry(runOn(database.pool), author, { tenantId, object, changes: { action: [null, done] } });
  }
}

/** Decodes a part of a path; throws a URIError, which results in 400, if that fails. */
function decoded(part: string): string {
  return cleanText(decodeURIComponent(part), LONGEST_NAME);
}

type QueueBoardLoginOptions = {
  database: Database;
  throttle: Throttle;
  /** The board's own password, with any user name; null = operators of the console only. */
  password: string | null;
  /** Base URL of links: the cookies belong to it, and only its pages may use the board's buttons. */
  publicUrl: string;
  now: () => number;
  makeId: (prefix: IdPrefix) => string;
};

/** Path where the board is mounted. */
export const QUEUE_BOARD_PATH = '/queues';

/** Account that attempts at the board's password are counted for; it cannot be a user's id. */
const ACCOUNT = 'queue-board';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Time that a cookie admits a browser that sent the password, in milliseconds; at most twice as long. A page of the
 * board makes dozens of requests at once.
 */
const PASS_MS = 6 * HOUR_MS;

const FOREIGN_PAGE = 'the Origin of the request must be that of the queue board';
const NEEDS_SIGN_IN = 'the queue board is for operators: sign in to the console as an operator';
const NEEDS_PASSWORD =
  'the queue board needs the password of QUEUE_BOARD_PASSWORD, or an operator who is signed in to the console';

/** A visitor of the board: an operator of the console, or null for a holder of the board's password. */
type Visitor = { user: User | null };

/**
 * Admits operators who are signed in to the console, and requests with the board's password. Others are prompted by
 * HTTP Basic (RFC 7617) if there is a password. Users' own passwords are accepted only at the sign-in. Every change to
 * a queue is recorded before it is made.
 */
export function queueBoardLogin(options: QueueBoardLoginOptions): RequestHandler {
  const { database, password, publicUrl, now } = options;
  const session = sessionCookie(publicUrl);
  const pass = password === null ? null : createPass(options, password);

  const findOperator = async (request: Request): Promise<Visitor | null> => {
    const secret = session.read(request);
    const holder = secret === null ? null : await findSessionHolder(database, secret, now());
    return holder?.user.isOperator === true ? { user: holder.user } : null;
  };

  // The board's own pages send no CSRF token, but browsers send the page's origin with each changing request.
  const findKnown = async (request: Request): Promise<Visitor | null> => {
    if (!SAFE_METHODS.has(request.method) && request.headers.origin === undefined) return null;
    return (await findOperator(request)) ?? (pass?.isGood(request) === true ? { user: null } : null);
  };

  return async (request, response, next) => {
    if (!isOwnOrigin(request, publicUrl)) throw new ApiError(403, FOREIGN_PAGE);
    const isEarned = async () => pass !== null && (await pass.isEarned(request, response));
    const visitor = (await findKnown(request)) ?? ((await isEarned()) ? { user: null } : null);
    if (visitor === null) {
      const refused = refusal(response, pass !== null);
      // A person who follows a link gets a page; the board's own requests and programs get the error.
      if (!SAFE_METHODS.has(request.method) || request.accepts(['json', 'html']) !== 'html') throw refused;
      sendPlainPage(response, {
        status: refused.status,
        title: 'Sign in to see the queues',
        sentences: [`${refused.message.charAt(0).toUpperCase()}${refused.message.slice(1)}.`],
        link: { label: 'Open Spotcheck', url: publicUrl },
      });
      return;
    }
    const action = { request, user: visitor.user, address: addressOf(response) };
    if (!SAFE_METHODS.has(request.method)) await recordBoardAction(options, action);
    next();
  };
}

function refusal(response: Response, hasPassword: boolean): ApiError {
  if (!hasPassword) return new ApiError(401, NEEDS_SIGN_IN);
  response.setHeader('WWW-Authenticate', 'Basic realm="Spotcheck queues", charset="UTF-8"');
  return new ApiError(401, NEEDS_PASSWORD);
}

type Pass = {
  isGood: (request: Request) => boolean;
  /**
   * Reports whether HTTP Basic contains the password; if so, the browser gets a pass. Attempts count like those at the
   * sign-in.
   */
  isEarned: (request: Request, response: Response) => Promise<boolean>;
};

/**
 * Makes the pass for browsers that sent the password. A pass is an HMAC of the password and the time, under a key of
 * the ring, so that every process accepts it.
 */
function createPass({ database, throttle, publicUrl, now }: QueueBoardLoginOptions, password: string): Pass {
  const cookie: SecretCookie = secretCookie(publicUrl, 'spotcheck-queues', (2 * PASS_MS) / 1000);
  const expected = fingerprintOf(password);
  const markOf = (key: string, period: number) =>
    createHmac('sha256', key).update(expected).update(String(period)).digest('base64url');
  const marksOf = (period: number) => database.secrets.derive('queue-board').map((key) => markOf(key, period));
  const period = () => Math.floor(now() / PASS_MS);

  return {
    isGood(request) {
      const given = cookie.read(request);
      if (given === null) return false;
      const good = [...marksOf(period()), ...marksOf(period() - 1)];
      return good.some((mark) => timingSafeEqual(fingerprintOf(mark), fingerprintOf(given)));
    },
    async isEarned(request, response) {
      const given = passwordOf(request.headers.authorization);
      if (given === null) return false;
      const attempt = await throttle.begin(ACCOUNT, { request, response }, { isHashed: false });
      if (!timingSafeEqual(fingerprintOf(given), expected)) return false;
      await attempt.succeed();
      const clients = [clientOfNetwork(networkOf(addressOf(response) ?? ''))];
      await recordSignInClients(database, { account: ACCOUNT, userId: null }, { clients, nowMs: now() });
      cookie.give(response, marksOf(period())[0] ?? '');
      return true;
    },
  };
}

/** Returns the password of HTTP Basic, with any user name; null if there is none. */
function passwordOf(header: string | undefined): string | null {
  const encoded = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return null;
  const [, ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return rest.join(':');
}

/** Loads the board at its first admitted request: most processes never show it, and loading is slow. */
export function loadQueueBoard({
  basePath,
  ...options
}: Omit<QueueBoardOptions, 'path'> & { basePath: string }): RequestHandler {
  let loading: Promise<Router> | null = null;
  return async (request, response, next) => {
    loading ??= import('./queue-board.ts').then(({ createQueueBoard }) =>
      createQueueBoard({ path: `${basePath}${QUEUE_BOARD_PATH}`, ...options }),
    );
    const board = await loading;
    board(request, response, next);
  };
}
