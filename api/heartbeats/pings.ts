import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestHandler, Response } from 'express';
import { Counter } from 'prom-client';
import type { Ping } from '../../core/heartbeats/deadlines.ts';
import { cleanPingBody, MAX_PING_BODY_BYTES } from '../../core/heartbeats/pings.ts';
import { takePings, type PingOutcome, type TokenPing } from '../../models/heartbeats/heartbeats.ts';
import { ApiError, badRequest, methodNotAllowed } from '../api-error.ts';
import type { Parts } from '../dependencies.ts';
import { addressOf, contextOf } from '../request-context.ts';
import { PingTokens } from './ping-tokens.ts';

/**
 * How long the first ping of a batch waits for others, in milliseconds; while one batch is committed the next gathers.
 */
const GATHER_MS = 10;

/** Pings of one transaction. */
const MOST_A_BATCH = 500;

/** How many pings wait in memory while PostgreSQL is slow; beyond it callers are asked to come back. */
const MOST_WAITING = 5000;

type Waiting = { ping: TokenPing; resolve: (outcome: PingOutcome) => void; reject: (error: unknown) => void };

/**
 * Makes the function that stores pings, many in one transaction and one transaction after the other. This keeps the
 * pings of a job in order. The returned function resolves once its ping is committed, and rejects where the database is
 * away or cannot keep up (503).
 */
export function createPingBatches(
  take: (pings: readonly TokenPing[]) => Promise<PingOutcome[]>,
): (ping: TokenPing) => Promise<PingOutcome> {
  const waiting: Waiting[] = [];
  let isWorking = false;

  const work = async () => {
    isWorking = true;
    await delay(GATHER_MS);
    while (waiting.length > 0) await takeOne(waiting.splice(0, MOST_A_BATCH), take);
    isWorking = false;
  };

  return (ping) => {
    if (waiting.length >= MOST_WAITING)
      return Promise.reject(
        new ApiError(503, 'too many pings are waiting for the database: try again in a few seconds', {
          'Retry-After': '5',
        }),
      );
    const { promise, resolve, reject } = Promise.withResolvers<PingOutcome>();
    waiting.push({ ping, resolve, reject });
    if (!isWorking) void work();
    return promise;
  };
}

/** Stores one batch. Never rejects: each ping gets its own outcome. */
async function takeOne(
  batch: readonly Waiting[],
  take: (pings: readonly TokenPing[]) => Promise<PingOutcome[]>,
): Promise<void> {
  try {
    const outcomes = await take(batch.map(({ ping }) => ping));
    for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index] ?? 'unknown');
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

/** The path below which pings come in. */
export const PING_PATH = '/ping';

const OK = 'OK';

const METHODS = ['GET', 'HEAD', 'POST'];

// Undecoded: nothing that would have to be decoded is part of a token.
const TOKEN_AND_SIGNAL = /^\/([^/]{1,200})(?:\/([^/]*))?\/?$/;
const EXIT_STATUS = /^\d{1,3}$/;

/**
 * `/ping/<token>`, `/start`, `/fail`, `/<exit status>` by GET, HEAD or POST (D-29). Answers once the ping is committed;
 * needs no queue and no API token.
 */
export function pingHandler({
  database,
  now,
  metrics,
  unstoredPings,
}: Parts<'database' | 'now' | 'metrics' | 'unstoredPings'>): RequestHandler {
  const store = createPingBatches((pings) => takePings(database, pings, now()));
  // What is refused before it is stored is not lost: a flood of unknown tokens must not keep any heartbeat's deadlines
  // from passing.
  const tokens = new PingTokens(
    (ping) => unstoredPings.follow(store(ping)),
    () => performance.now(),
  );
  const count = new Counter({
    name: 'spotcheck_pings_total',
    help: 'Heartbeat pings, by kind and outcome',
    labelNames: ['kind', 'outcome'],
    registers: [metrics],
  });
  return async (request, response) => {
    if (!METHODS.includes(request.method)) throw methodNotAllowed(request.method, METHODS.join(', '));
    const [, token, signal = ''] = TOKEN_AND_SIGNAL.exec(request.path) ?? [];
    if (token === undefined) throw unknownToken();
    const report = readSignal(signal);
    recordRoute(response, signal);
    const ping = { ...report, body: await readPingBody(request) };
    const outcome = await tokens.take({ token, ping }, addressOf(response) ?? '');
    count.inc({ kind: ping.kind, outcome });
    ANSWERS[outcome](response);
  };
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

/** Records the route as the description writes it: tokens do not belong in logs. */
function recordRoute(response: Response, signal: string): void {
  const part = EXIT_STATUS.test(signal) ? '{exit_status}' : signal;
  contextOf(response).route = `${PING_PATH}/{token}${part === '' ? '' : `/${part}`}`;
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
