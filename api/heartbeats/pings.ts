import type { IncomingMessage } from 'node:http';
import type { RequestHandler, Response } from 'express';
import { Counter } from 'prom-client';
import { addCount, forgetOldest } from '../../core/bounded-map.ts';
import type { Ping } from '../../core/heartbeats/deadlines.ts';
import { MAX_PING_BODY_BYTES, cleanPingBody } from '../../core/heartbeats/pings.ts';
import { takePings, type AccountPing, type PingOutcome, type TokenPing } from '../../models/heartbeats/heartbeats.ts';
import { ApiError, badRequest, methodNotAllowed } from '../api-error.ts';
import { networkOf } from '../client-address.ts';
import type { Parts } from '../handler.ts';
import { addressOf, contextOf } from '../request-context.ts';
import { createBatches } from './ping-storage.ts';
import { PING_KEY_PREFIX, createSlugPings, requireSlug } from './slug-pings.ts';

/** Base path of pings. */
export const PING_PATH = '/ping';

const OK = 'OK';

const METHODS = ['GET', 'HEAD', 'POST'];

// Matches the undecoded path: tokens contain no character that needs encoding.
const TOKEN_AND_SIGNAL = /^\/([^/]{1,200})(?:\/([^/]*))?\/?$/;
const KEY_SLUG_AND_SIGNAL = new RegExp(`^/(${PING_KEY_PREFIX}[^/]{1,200})(?:/([^/]*)(?:/([^/]*))?)?/?$`);
const EXIT_STATUS = /^\d{1,3}$/;

/**
 * `/ping/<token>`, `/start`, `/fail`, `/<exit status>` by GET, HEAD or POST (D-29). The same with a ping key and a slug
 * in place of the token (D-557). Responds once the ping is committed; needs no queue and no API token.
 */
export function pingHandler(
  dependencies: Parts<'database' | 'now' | 'metrics' | 'unstoredPings' | 'makeId' | 'config' | 'rateLimits'>,
): RequestHandler {
  const { database, now, metrics, unstoredPings } = dependencies;
  const batches = createBatches((pings: readonly TokenPing[]) => takePings(database, pings, now()));
  // A ping refused before storage is not lost: a flood of unknown tokens must not keep any heartbeat's deadlines from
  // passing.
  const store = (ping: TokenPing) => unstoredPings.follow(batches(ping));
  const takeBySlug = createSlugPings({ ...dependencies, store });
  const tokens = new PingTokens(() => performance.now());
  const underWay = new PingsUnderWay();
  const count = new Counter({
    name: 'spotcheck_pings_total',
    help: 'Heartbeat pings, by kind and outcome',
    labelNames: ['kind', 'outcome'],
    registers: [metrics],
  });
  return async (request, response) => {
    if (!METHODS.includes(request.method)) throw methodNotAllowed(request.method, METHODS.join(', '));
    const { credential, slug, signal } = readPath(request.path);
    const report = readSignal(signal);
    recordRoute(response, slug === null ? '{token}' : '{ping_key}/{slug}', signal);
    const creates = slug !== null && readCreate(request.query['create']);
    if (slug !== null) requireSlug(slug);
    const ping = { ...report, body: await readPingBody(request) };
    const address = addressOf(response);
    const { outcome } = await tokens.take(credential, address ?? '', (tenantId) =>
      underWay.take({ heartbeat: `${credential}/${slug ?? ''}`, tenantId, isMade: slug === null }, () =>
        slug === null
          ? store({ token: credential, ping })
          : takeBySlug({ key: credential, slug, creates, address }, ping),
      ),
    );
    count.inc({ kind: ping.kind, outcome });
    if (outcome === 'unknown' && slug !== null) throw new ApiError(404, 'no account has this ping key');
    ANSWERS[outcome](response);
  };
}

/** Returns the parts of a ping's path; `slug` is null if it has a token instead of ping key and slug. Throws 404. */
function readPath(path: string): { credential: string; slug: string | null; signal: string } {
  const [, key, slug, keySignal = ''] = KEY_SLUG_AND_SIGNAL.exec(path) ?? [];
  // A ping key without a slug is not an unknown token, which would block the key for a minute, with every slug.
  if (key !== undefined && slug === undefined)
    throw new ApiError(404, 'after a ping key the path must have a slug: /ping/<ping key>/<slug>');
  if (key !== undefined && slug !== undefined) return { credential: key, slug, signal: keySignal };
  const [, token, signal = ''] = TOKEN_AND_SIGNAL.exec(path) ?? [];
  if (token === undefined) throw unknownToken();
  return { credential: token, slug: null, signal };
}

function readCreate(value: unknown): boolean {
  if (value === undefined || value === '1') return value === '1';
  throw badRequest('create must be 1, or be left out');
}

const ANSWERS = {
  // send() would respond 304 to a caller that sends the tag of an earlier response.
  taken: (response) =>
    void response
      .set({ 'Cache-Control': 'no-store', 'Content-Length': String(OK.length) })
      .type('text/plain')
      .end(OK),
  refused: () => {
    throw badRequest(
      'this heartbeat does not accept failure reports: set check_spec.heartbeat.failEnabled to true, or send pings ' +
        'without /fail and with exit status 0 only',
    );
  },
  limited: () => {
    throw new ApiError(
      429,
      'this heartbeat changes status too often: the ping counts only as a sign of life; wait 60 s',
      { 'Retry-After': '60' },
    );
  },
  crowded: () => {
    throw new ApiError(
      429,
      "this account's heartbeats change status faster than that can be decided: the ping counts only as a sign of " +
        'life; wait 5 s',
      { 'Retry-After': '5' },
    );
  },
  unknown: () => {
    throw unknownToken();
  },
} as const satisfies Record<PingOutcome, (response: Response) => void>;

function unknownToken(): ApiError {
  return new ApiError(404, 'no heartbeat monitor has this token');
}

function readSignal(signal: string): Omit<Ping, 'body'> {
  if (signal === '') return { kind: 'success', exitStatus: null };
  if (signal === 'start' || signal === 'fail') return { kind: signal, exitStatus: null };
  const exitStatus = EXIT_STATUS.test(signal) ? Number(signal) : Number.NaN;
  if (exitStatus <= 255) return { kind: 'exit', exitStatus };
  throw new ApiError(
    404,
    'there is no endpoint at this path: after the token, send /start, /fail, an exit status from 0 to 255, or nothing',
  );
}

/** Records the route as in the description: tokens and ping keys must not be logged. */
function recordRoute(response: Response, target: string, signal: string): void {
  const part = EXIT_STATUS.test(signal) ? '{exit_status}' : signal;
  contextOf(response).route = `${PING_PATH}/${target}${part === '' ? '' : `/${part}`}`;
}

/**
 * Reads a ping's body to its end and returns the beginning that is kept (D-29). Accepts every type and length: a long
 * body must not cost the ping. Null = there is no body. Rejects with 400 if the client aborts.
 */
async function readPingBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      if (length < MAX_PING_BODY_BYTES) chunks.push(chunk);
      length += chunk.length;
    }
  } catch {
    throw badRequest('the length of the body must match Content-Length');
  }
  // Stream mode drops a character that the cut left incomplete, instead of replacing it.
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MAX_PING_BODY_BYTES), { stream: true });
  return cleanPingBody(text);
}

/**
 * Format of all tokens: the name of the issuing cell, if it has one, the monitor's id, and a random part. Ping keys
 * have their own format.
 */
const TOKEN =
  /^(?:(?:[a-z][a-z0-9]{0,15}\.)?mon_[0-9a-hjkmnp-tv-z]{26}\.[\w-]{16,64}|spp_(?:[a-z][a-z0-9]{0,15}_)?[\w-]{43})$/;

/**
 * Maximum number of valid and of unknown tokens that this process remembers, and the time for which it remembers the
 * latter.
 */
const MAX_TOKENS = 20_000;
const UNKNOWN_FOR_MS = 60_000;

/**
 * Maximum number of unknown tokens from one network within a minute; beyond it only tokens known to be valid are
 * accepted. Equals the limit of anonymous API requests.
 */
const MAX_UNKNOWN = 600;
const WINDOW_MS = 60_000;
const MAX_NETWORKS = 10_000;

/**
 * Maximum number of pings in progress with tokens new to this process: they must not displace those known to be valid.
 */
const MAX_UNVERIFIED = 1000;

const UNKNOWN: AccountPing = { outcome: 'unknown', tenantId: null };

/** Stores a ping; `tenantId` is the account of its token, null if this process has not cached it. */
type TakePing = (tenantId: string | null) => Promise<AccountPing>;

/**
 * Filters pings by their tokens and ping keys, so that a flood of unknown ones costs no queries (D-319). Malformed
 * tokens, and those unknown within the last minute, are refused without a query.
 */
export class PingTokens {
  readonly #now: () => number;
  readonly #good = new Map<string, string>();
  readonly #unknownUntilMs = new Map<string, number>();
  readonly #counts = new Map<string, { count: number; endsMs: number }>();
  #unverified = 0;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Has `take` store a ping with a token or a ping key. Rejects with 429 if the network has sent too many unknown
   * tokens, and with 503 if too many unverified ones are in progress.
   */
  async take(token: string, address: string, take: TakePing): Promise<AccountPing> {
    const tenantId = this.#good.get(token);
    const network = networkOf(address);
    if (tenantId === undefined) this.#requireRoom(network);
    const isUnknown = !TOKEN.test(token) || (this.#unknownUntilMs.get(token) ?? 0) > this.#now();
    const taken =
      tenantId !== undefined ? await take(tenantId) : isUnknown ? UNKNOWN : await this.#takeUnverified(take);
    if (taken.tenantId !== null) {
      this.#good.set(token, taken.tenantId);
      forgetOldest(this.#good, MAX_TOKENS);
      return taken;
    }
    this.#good.delete(token);
    this.#countUnknown(network);
    if (isUnknown) return taken;
    this.#unknownUntilMs.delete(token);
    this.#unknownUntilMs.set(token, this.#now() + UNKNOWN_FOR_MS);
    forgetOldest(this.#unknownUntilMs, MAX_TOKENS);
    return taken;
  }

  #requireRoom(network: string): void {
    const counted = this.#counts.get(network);
    if (counted === undefined || counted.endsMs <= this.#now() || counted.count < MAX_UNKNOWN) return;
    const seconds = Math.max(1, Math.ceil((counted.endsMs - this.#now()) / 1000));
    throw new ApiError(429, 'too many pings with unknown tokens from this address: wait before you try again', {
      'Retry-After': String(seconds),
    });
  }

  async #takeUnverified(take: TakePing): Promise<AccountPing> {
    if (this.#unverified >= MAX_UNVERIFIED)
      throw new ApiError(503, 'too many pings are waiting for the database: try again in a few seconds', {
        'Retry-After': '5',
      });
    this.#unverified += 1;
    try {
      return await take(null);
    } finally {
      this.#unverified -= 1;
    }
  }

  #countUnknown(network: string): void {
    const counted = this.#counts.get(network);
    if (counted !== undefined && counted.endsMs > this.#now()) {
      counted.count += 1;
      return;
    }
    this.#counts.delete(network);
    this.#counts.set(network, { count: 1, endsMs: this.#now() + WINDOW_MS });
    forgetOldest(this.#counts, MAX_NETWORKS);
  }
}

/** Maximum number of a heartbeat's pings stored at a time, and in progress including those that wait. */
const MAX_STORING = 20;
const MAX_OF_HEARTBEAT = 300;

/**
 * Maximum number of an account's pings in progress. Beyond it each heartbeat still has one: it may be its only ping.
 */
const MAX_OF_ACCOUNT = 1000;

type Line = { count: number; storing: number; waiting: (() => void)[] };

/**
 * Limits the pings in progress in this process, by heartbeat and account (D-660). A ping that waits here holds no
 * deadline: those before it are of the same heartbeat, and do.
 */
export class PingsUnderWay {
  readonly #lines = new Map<string, Line>();
  readonly #accounts = new Map<string, number>();

  /**
   * Has `take` store a ping when its turn comes; rejects with 429 beyond the limits. `tenantId` is null for tokens new
   * to this process, whose pings `PingTokens` limits. `isMade`: whether the heartbeat surely exists, and is not a slug
   * that any holder of the ping key may have invented.
   */
  async take(
    { heartbeat, tenantId, isMade }: { heartbeat: string; tenantId: string | null; isMade: boolean },
    take: () => Promise<AccountPing>,
  ): Promise<AccountPing> {
    const line = this.#lines.get(heartbeat) ?? { count: 0, storing: 0, waiting: [] };
    if (line.count >= MAX_OF_HEARTBEAT) throw tooMany('this heartbeat', MAX_OF_HEARTBEAT);
    const ofAccount = tenantId === null ? 0 : (this.#accounts.get(tenantId) ?? 0);
    if (ofAccount >= MAX_OF_ACCOUNT && !(isMade && line.count === 0))
      throw tooMany("this account's heartbeats", MAX_OF_ACCOUNT);
    this.#lines.set(heartbeat, line);
    line.count += 1;
    if (tenantId !== null) addCount(this.#accounts, tenantId, 1);
    try {
      return await storeInTurn(line, take);
    } finally {
      line.count -= 1;
      if (line.count === 0) this.#lines.delete(heartbeat);
      if (tenantId !== null) addCount(this.#accounts, tenantId, -1);
    }
  }
}

async function storeInTurn(line: Line, take: () => Promise<AccountPing>): Promise<AccountPing> {
  if (line.storing < MAX_STORING) line.storing += 1;
  else await new Promise<void>((resolve) => line.waiting.push(resolve));
  try {
    return await take();
  } finally {
    // The slot passes to the next waiting ping, or becomes free.
    const next = line.waiting.shift();
    if (next === undefined) line.storing -= 1;
    else next();
  }
}

function tooMany(whose: string, most: number): ApiError {
  return new ApiError(429, `${most} pings of ${whose} are already under way: send fewer at once`, {
    'Retry-After': '1',
  });
}
