import type { IncomingMessage } from 'node:http';
import type { RequestHandler, Response } from 'express';
import { Counter } from 'prom-client';
import type { Ping } from '../../core/heartbeats/deadlines.ts';
import { MAX_PING_BODY_BYTES, cleanPingBody } from '../../core/heartbeats/pings.ts';
import { takePings, type PingOutcome, type TokenPing } from '../../models/heartbeats/heartbeats.ts';
import { ApiError, badRequest, methodNotAllowed } from '../api-error.ts';
import type { Parts } from '../handler.ts';
import { addressOf, contextOf } from '../request-context.ts';
import { createBatches } from './batches.ts';
import { PingTokens } from './ping-tokens.ts';
import { PING_KEY_PREFIX, createSlugPings, requireSlug } from './slug-pings.ts';

/** The path below which pings come in. */
export const PING_PATH = '/ping';

const OK = 'OK';

const METHODS = ['GET', 'HEAD', 'POST'];

// Undecoded: nothing that would have to be decoded is part of a token.
const TOKEN_AND_SIGNAL = /^\/([^/]{1,200})(?:\/([^/]*))?\/?$/;
const KEY_SLUG_AND_SIGNAL = new RegExp(`^/(${PING_KEY_PREFIX}[^/]{1,200})(?:/([^/]*)(?:/([^/]*))?)?/?$`);
const EXIT_STATUS = /^\d{1,3}$/;

/**
 * `/ping/<token>`, `/start`, `/fail`, `/<exit status>` by GET, HEAD or POST (D-29). The same with a ping key and a slug
 * in place of the token (D-557). Answers once the ping is committed; needs no queue and no API token.
 */
export function pingHandler(
  dependencies: Parts<'database' | 'now' | 'metrics' | 'unstoredPings' | 'makeId' | 'config' | 'rateLimits'>,
): RequestHandler {
  const { database, now, metrics, unstoredPings } = dependencies;
  const batches = createBatches((pings: readonly TokenPing[]) => takePings(database, pings, now()));
  // What is refused before it is stored is not lost: a flood of unknown tokens must not keep any heartbeat's deadlines
  // from passing.
  const store = (ping: TokenPing) => unstoredPings.follow(batches(ping));
  const takeBySlug = createSlugPings({ ...dependencies, store });
  const tokens = new PingTokens(() => performance.now());
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
    const outcome = await tokens.take(credential, address ?? '', () =>
      slug === null
        ? store({ token: credential, ping })
        : takeBySlug({ key: credential, slug, creates, address }, ping),
    );
    count.inc({ kind: ping.kind, outcome });
    if (outcome === 'unknown' && slug !== null) throw new ApiError(404, 'no account has this ping key');
    ANSWERS[outcome](response);
  };
}

/** The parts of a ping's path; `slug` is null where a token stands in place of ping key and slug. Throws 404. */
function readPath(path: string): { credential: string; slug: string | null; signal: string } {
  const [, key, slug, keySignal = ''] = KEY_SLUG_AND_SIGNAL.exec(path) ?? [];
  // Not an unknown token: as one it would be refused for a minute, with every slug.
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
  // Not by send(), which would answer 304 to a caller that shows the tag of an earlier answer.
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

/** Records the route as the description writes it: tokens and ping keys do not belong in logs. */
function recordRoute(response: Response, target: string, signal: string): void {
  const part = EXIT_STATUS.test(signal) ? '{exit_status}' : signal;
  contextOf(response).route = `${PING_PATH}/${target}${part === '' ? '' : `/${part}`}`;
}

/**
 * Reads a ping's body to its end and returns the beginning that is kept (D-29). Every type and length is accepted: a
 * long body must not cost the ping. Null = there is no body. Rejects with a 400 where the client breaks off.
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
  // As a stream: a character that the cut left incomplete is dropped, not replaced.
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MAX_PING_BODY_BYTES), { stream: true });
  return cleanPingBody(text);
}
