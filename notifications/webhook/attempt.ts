import type { Agent } from 'node:https';
import type { EventMessage, GroupMessage } from '../../core/alerts/envelope.ts';
import { findUrlProblem, type WebhookFormat, type WebhookHeaders } from '../../core/alerts/webhook.ts';
import { percentDecode } from '../../core/foreign-text.ts';
import type { HttpClient, HttpExchange } from '../../net/http-client.ts';
import {
  OUTCOME_OF_FAILURE,
  excerptAnswer,
  type AttemptOutcome,
  type AttemptResult,
  type ShortSecret,
} from '../attempt-result.ts';
import { prepareRequests, type PreparedRequest } from './prepare.ts';
import { signDelivery } from './signature.ts';
import type { TemplateRenderer } from './template/renderer.ts';

/**
 * One event on its way to one webhook; the same `deliveryId` in each of its attempts, which count from 1. A
 * `previousSecret` signs as well.
 */
export type WebhookDelivery = {
  url: string;
  signingSecret: string;
  previousSecret?: string | null;
  /** Headers of its owner, which replace none of ours. */
  headers?: WebhookHeaders;
  /** Default null, the signed envelope. */
  format?: WebhookFormat;
  /** Whose webhook it is. */
  account: string;
  deliveryId: string;
  attempt: number;
  /** False: another attempt follows a failed one. Default true. */
  isLast?: boolean;
  /** Whether a preset's receiver has an alert of the monitor as unknown to be resolved as well. Default false. */
  resolvesUnknown?: boolean;
  message: EventMessage | GroupMessage;
};

/**
 * What attempts are made with. `deadlineMs` spans the whole exchange; `agent` keeps connections for first attempts to
 * share.
 */
export type WebhookSending = {
  http: HttpClient;
  agent: Agent;
  deadlineMs: number;
  now: () => number;
  renderer: Pick<TemplateRenderer, 'render'>;
};

/**
 * How much of an answer's body is read, in bytes; the connection is closed on the rest. More than is stored, so that a
 * quoted URL is never cut in two before it is struck out.
 */
const RESPONSE_LIMIT = 4096;

/**
 * A part of a URL's path that is shorter than this, in characters, is struck out only where the whole path is quoted.
 * A value of a header or of the query is then struck out only as a word of its own.
 */
const SHORTEST_KEY = 8;

/**
 * Makes one attempt at a webhook (D-50, D-51, D-53). It is a signed request, whose `sent_at`, timestamps and signatures
 * are new each time. 2xx is `delivered`; 3xx, which is not followed, and 4xx are `failed`; everything else that the
 * receiver does is `retry`, and so is a 429 to a format other than the envelope. A template that cannot be rendered
 * leaves the envelope to be sent, and the `error` of a delivered attempt says so; one that had no turn in time is
 * `retry`, unless the attempt is the last one (D-672). Rejects only when our own machine lacks something.
 */
export async function attemptWebhook(delivery: WebhookDelivery, sending: WebhookSending): Promise<AttemptResult> {
  const problem = findUrlProblem(delivery.url);
  if (problem !== null)
    return { outcome: 'failed', statusCode: null, durationMs: 0, error: `The URL ${problem}`, response: null };
  const sentAtMs = sending.now();
  const { requests, problem: templateProblem } = await prepareRequests(delivery, { ...sending, nowMs: sentAtMs });
  const durationMs = () => Math.max(0, Math.round(sending.now() - sentAtMs));
  if (requests.length === 0)
    return { outcome: 'retry', statusCode: null, durationMs: durationMs(), error: templateProblem, response: null };
  const { outcome, statusCode, error, body } = await sendInOrder(requests, delivery, { ...sending, sentAtMs });
  return {
    outcome,
    statusCode,
    durationMs: durationMs(),
    error: error ?? templateProblem,
    response:
      body === null || body.length === 0 ? null : excerptAnswer(body, secretsOf(delivery), shortSecretsOf(delivery)),
  };
}

/** All requests of an attempt bear one moment: that of its beginning, which is the envelope's `sent_at`. */
type AttemptSending = WebhookSending & { sentAtMs: number };

/** Sends one request after the other, all within the deadline, until one is not accepted. */
async function sendInOrder(
  [request, ...rest]: PreparedRequest[],
  delivery: WebhookDelivery,
  sending: AttemptSending,
): Promise<ReadExchange> {
  if (request === undefined) throw new Error('A delivery makes at least one request');
  const startedAtMs = sending.now();
  const exchange = readExchange(await send(request, delivery, sending), delivery.format ?? null);
  const leftMs = sending.deadlineMs - (sending.now() - startedAtMs);
  if (exchange.outcome !== 'delivered' || rest.length === 0) return exchange;
  return await sendInOrder(rest, delivery, { ...sending, deadlineMs: Math.max(1, leftMs) });
}

/** The headers of one request: those of the webhook's owner, which replace none of ours, and the signatures. */
export function buildHeaders(
  { contentType, body }: Pick<PreparedRequest, 'contentType' | 'body'>,
  {
    headers,
    deliveryId,
    message,
    signingSecret,
    previousSecret,
  }: Pick<WebhookDelivery, 'headers' | 'deliveryId' | 'message' | 'signingSecret' | 'previousSecret'>,
  sentAtMs: number,
): Record<string, string> {
  return {
    ...headers,
    'Content-Type': contentType,
    // Little is stored of the answer, and it shall be readable as it comes.
    'Accept-Encoding': 'identity',
    'User-Agent': 'Spotcheck/1 (webhook)',
    ...signDelivery(
      { body, event: message.event, deliveryId, sentAtSeconds: Math.floor(sentAtMs / 1000) },
      signingSecret,
      previousSecret,
    ),
  };
}

/** Retries connect anew: a kept connection may have died unnoticed and just stay silent. */
async function send(
  prepared: PreparedRequest,
  delivery: WebhookDelivery,
  { http, agent, deadlineMs, sentAtMs }: AttemptSending,
): Promise<HttpExchange> {
  const { url, method, body } = prepared;
  const request = {
    url,
    method,
    headers: buildHeaders(prepared, delivery, sentAtMs),
    body,
    deadlineMs,
    bodyLimit: () => RESPONSE_LIMIT,
    decodes: false,
  };
  return await http(delivery.attempt === 1 ? { ...request, agent } : request);
}

type ReadExchange = { outcome: AttemptOutcome; statusCode: number | null; error: string | null; body: Buffer | null };

/**
 * The status of an answer decides, even where its body breaks off. The receiver has spoken, and one that counts its
 * bytes wrongly must not be notified four times. Only a success whose body goes on past the deadline is none: a
 * receiver that never ends has not answered.
 */
function readExchange(exchange: HttpExchange, format: WebhookFormat): ReadExchange {
  if (exchange.outcome === 'answered') return readStatus(exchange, format);
  const { begun, cause, reason } = exchange;
  if (begun === null) return { outcome: OUTCOME_OF_FAILURE[cause], statusCode: null, error: reason, body: null };
  const read = readStatus(begun, format);
  return cause === 'timeout' && read.outcome === 'delivered' ? { ...read, outcome: 'retry', error: reason } : read;
}

function readStatus({ status, body }: { status: number; body: Buffer }, format: WebhookFormat): ReadExchange {
  const outcome = outcomeOfStatus(status, format);
  return { outcome, statusCode: status, error: outcome === 'delivered' ? null : describeStatus(status), body };
}

/** Receivers with a format of their own limit rates; the envelope's contract knows no such thing (D-50). */
function outcomeOfStatus(status: number, format: WebhookFormat): AttemptOutcome {
  if (status >= 200 && status < 300) return 'delivered';
  return status >= 500 || (status === 429 && format !== null) ? 'retry' : 'failed';
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return `The endpoint responded with ${status}; redirects are not followed`;
  return `The endpoint responded with ${status}`;
}

/**
 * What an answer must not show, longest first: servers like to quote the path that they were asked for, and in it the
 * key. Short parts of a path are words, not keys.
 */
function secretsOf({ url, signingSecret, previousSecret, headers = {} }: WebhookDelivery): string[] {
  const { href, pathname, search } = new URL(url);
  const values = search
    .slice(1)
    .split('&')
    .map((pair) => pair.slice(pair.indexOf('=') + 1));
  const parts = [...pathname.split('/'), ...values].filter((part) => part.length >= SHORTEST_KEY);
  const paths = pathname === '/' ? [] : [`${pathname}${search}`, pathname];
  const shown = [href, ...paths, search, ...parts].flatMap((text) => [text, percentDecode(text)]);
  // `Bearer key`: the key alone is as secret.
  const sent = Object.values(headers).flatMap((value) => [value, ...value.split(' ')]);
  return [
    signingSecret,
    ...(previousSecret ? [previousSecret] : []),
    ...shown,
    ...sent.filter((text) => text.length >= SHORTEST_KEY),
  ].toSorted((a, b) => b.length - a.length);
}

/**
 * Values that `secretsOf` leaves out. Those of headers, whole and without the scheme before them (`Bearer 1234`), and
 * those of the query.
 */
function shortSecretsOf({ url, headers = {} }: WebhookDelivery): ShortSecret[] {
  const ofHeaders = Object.entries(headers).flatMap(([name, value]) =>
    [value, value.slice(value.indexOf(' ') + 1)].map((text) => ({ name, value: text })),
  );
  const ofQuery = [...new URL(url).searchParams].map(([name, value]) => ({ name, value }));
  return [...ofHeaders, ...ofQuery].filter(({ value }) => value.length < SHORTEST_KEY);
}
