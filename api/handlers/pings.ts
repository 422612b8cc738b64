import type { RequestHandler, Response } from 'express';
import { Counter } from 'prom-client';
import type { Ping } from '../../core/heartbeat/deadlines.ts';
import { takePings, type PingOutcome } from '../../models/heartbeats.ts';
import { ApiError, badRequest, methodNotAllowed } from '../api-error.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { createPingBatches } from '../ping-batches.ts';
import { readPingBody } from '../ping-body.ts';
import { createPingTokens } from '../ping-tokens.ts';
import { addressOf, contextOf } from '../request-context.ts';

/** Below which path pings come in. */
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
export function pingHandler({ database, now, metrics, unstoredPings }: ApiDependencies): RequestHandler {
  const store = createPingBatches((pings) => takePings(database, pings, now()));
  // What is refused before it is stored is not lost: a flood of unknown tokens must not keep any heartbeat's deadlines
  // from passing.
  const take = createPingTokens(
    (ping) => unstoredPings.follow(store(ping)),
    () => performance.now(),
  );
  const count = new Counter({
    name: 'spotcheck_pings_total',
    help: 'Pings of heartbeats by kind and outcome',
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
    const outcome = await take({ token, ping }, addressOf(response) ?? '');
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
      'this heartbeat takes no reports of failure: set check_spec.heartbeat.failEnabled to true, or ping without ' +
        '/fail and with exit status 0 only',
    );
  },
  limited: () => {
    throw new ApiError(
      429,
      'this heartbeat reports more changes than are stored: the ping counts as a sign of life alone, wait 60 s',
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
    'there is nothing at this path: after the token comes start, fail, an exit status from 0 to 255, or nothing',
  );
}

/** As the description writes it: tokens belong into no log. */
function recordRoute(response: Response, signal: string): void {
  const part = EXIT_STATUS.test(signal) ? '{exit_status}' : signal;
  contextOf(response).route = `${PING_PATH}/{token}${part === '' ? '' : `/${part}`}`;
}
