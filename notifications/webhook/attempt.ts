import type { Agent } from 'node:https';
import type { EventMessage, GroupMessage } from '../../core/alerts/envelope.ts';
import { findUrlProblem, type WebhookFormat, type WebhookHeaders } from '../../core/alerts/webhook.ts';
import { percentDecode } from '../../core/foreign-text.ts';
import { readRetryAfter, type HttpClient, type HttpExchange, type HttpResponse } from '../../net/http-client.ts';
import {
  MAX_WEBHOOK_PAUSE_MS,
  OUTCOME_OF_FAILURE,
  RESPONSE_LIMIT,
  excerptResponse,
  type AttemptOutcome,
  type ShortSecret,
  type WebhookAttempt,
} from '../attempt-result.ts';
import { prepareRequests, type PreparedRequest } from './prepare.ts';
import { signDelivery } from './signature.ts';
import type { TemplateRenderer } from './template/renderer.ts';

/**
 * One event on its way to one webhook; all its attempts, counted from 1, have the same `deliveryId`. A `previousSecret`
 * signs as well.
 */
export type WebhookDelivery = {
  url: string;
  signingSecret: string;
  previousSecret?: string | null;
  /** The owner's headers, which cannot replace the service's. */
  headers?: WebhookHeaders;
  /** Default null, the signed envelope. */
  format?: WebhookFormat;
  /** The account that owns the webhook. */
  account: string;
  deliveryId: string;
  attempt: number;
  /** False if another attempt follows a failed one. Default true. */
  isLast?: boolean;
  /** Whether a preset must also resolve the receiver's alert that the monitor is unknown. Default false. */
  resolvesUnknown?: boolean;
  message: EventMessage | GroupMessage;
};

/**
 * Parameters of attempts. `deadlineMs` spans the whole exchange; `agent` keeps connections that first attempts share.
 */
export type WebhookSending = {
  http: HttpClient;
  agent: Agent;
  deadlineMs: number;
  now: () => number;
  renderer: Pick<TemplateRenderer, 'render'>;
};

/**
 * Minimum length of a path segment that is struck out alone, in characters; a shorter one is struck out only with the
 * whole path. A shorter value of a header or of the query is struck out only as a separate word.
 */
const SHORTEST_KEY = 8;

/**
 * Makes one attempt at a webhook (D-50, D-51, D-53): a signed request with a new `sent_at`, timestamps and signatures.
 * Statuses of 2xx are `delivered`; 3xx, which is not followed, and 4xx are `failed`; everything else from the receiver
 * is `retry`, and so is a 429 to a format other than the envelope, to a preset with the wait it requests. If a template
 * cannot be rendered, the envelope is sent, and the `error` of the delivered attempt says so; if it had no turn in
 * time, the attempt is `retry`, unless it is the last one (D-672). Rejects only if this machine lacks resources.
 */
export async function attemptWebhook(delivery: WebhookDelivery, sending: WebhookSending): Promise<WebhookAttempt> {
  const problem = findUrlProblem(delivery.url);
  if (problem !== null)
    return { outcome: 'failed', statusCode: null, durationMs: 0, error: `The URL ${problem}`, response: null };
  const [sentAtMs, startedAtMs] = [sending.now(), performance.now()];
  const { requests, problem: templateProblem } = await prepareRequests(delivery, { ...sending, nowMs: sentAtMs });
  const durationMs = () => Math.round(performance.now() - startedAtMs);
  if (requests.length === 0)
    return { outcome: 'retry', statusCode: null, durationMs: durationMs(), error: templateProblem, response: null };
  const { body, isCut, error, ...read } = await sendInOrder(requests, delivery, { ...sending, sentAtMs });
  return {
    ...read,
    durationMs: durationMs(),
    error: error ?? templateProblem,
    response:
      body === null || body.length === 0
        ? null
        : excerptResponse(body, secretsOf(delivery), { shortSecrets: shortSecretsOf(delivery), isCut }),
  };
}

/** All requests of an attempt have the same time: its start, which is the envelope's `sent_at`. */
type AttemptSending = WebhookSending & { sentAtMs: number };

/** Sends the requests in order, all within the deadline, until one is not accepted. */
async function sendInOrder(
  [request, ...rest]: PreparedRequest[],
  delivery: WebhookDelivery,
  sending: AttemptSending,
): Promise<ReadExchange> {
  if (request === undefined) throw new Error('A delivery makes at least one request');
  const startedAtMs = performance.now();
  const exchange = readExchange(await send(request, delivery, sending), delivery.format ?? null);
  const leftMs = sending.deadlineMs - (performance.now() - startedAtMs);
  if (exchange.outcome !== 'delivered' || rest.length === 0) return exchange;
  return await sendInOrder(rest, delivery, { ...sending, deadlineMs: Math.max(1, leftMs) });
}

/**
 * Builds the headers of one request: those of the webhook's owner, which cannot replace the service's, and the
 * signatures.
 */
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
    // Little of the response is stored, and it must be readable without decoding.
    'Accept-Encoding': 'identity',
    'User-Agent': 'Spotcheck/1 (webhook)',
    ...signDelivery(
      { body, event: message.event, deliveryId, sentAtSeconds: Math.floor(sentAtMs / 1000) },
      signingSecret,
      previousSecret,
    ),
  };
}

/** Sends one request. Retries connect anew: a kept connection may have died unnoticed and just stay silent. */
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

type ReadExchange = {
  outcome: AttemptOutcome;
  statusCode: number | null;
  error: string | null;
  body: Buffer | null;
  /** Whether the body is not whole. */
  isCut: boolean;
  retryAfterMs?: number;
};

/**
 * Judges an exchange by its status, even if the body breaks off. The receiver has answered, and one that miscounts its
 * bytes must not be notified four times. The exception is a success whose body outlasts the deadline: an endless
 * response is no answer.
 */
function readExchange(exchange: HttpExchange, format: WebhookFormat): ReadExchange {
  if (exchange.outcome === 'answered') {
    const read = readStatus(exchange, format);
    const isPreset = format !== null && 'preset' in format;
    const waitMs = isPreset && exchange.status === 429 ? readRetryAfter(exchange, Date.now()) : null;
    return waitMs === null ? read : { ...read, retryAfterMs: Math.min(waitMs, MAX_WEBHOOK_PAUSE_MS) };
  }
  const { partial, cause, reason } = exchange;
  if (partial === null)
    return { outcome: OUTCOME_OF_FAILURE[cause], statusCode: null, error: reason, body: null, isCut: false };
  const read = readStatus({ ...partial, truncated: true }, format);
  return cause === 'timeout' && read.outcome === 'delivered' ? { ...read, outcome: 'retry', error: reason } : read;
}

function readStatus(
  { status, body, truncated: isCut }: Pick<HttpResponse, 'status' | 'body' | 'truncated'>,
  format: WebhookFormat,
): ReadExchange {
  const outcome = outcomeOfStatus(status, format);
  return { outcome, statusCode: status, error: outcome === 'delivered' ? null : describeStatus(status), body, isCut };
}

/**
 * Returns the outcome of a status. Receivers with their own format limit rates; the envelope's contract has no rate
 * limits (D-50).
 */
function outcomeOfStatus(status: number, format: WebhookFormat): AttemptOutcome {
  if (status >= 200 && status < 300) return 'delivered';
  return status >= 500 || (status === 429 && format !== null) ? 'retry' : 'failed';
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return `The endpoint responded with ${status}; redirects are not followed`;
  return `The endpoint responded with ${status}`;
}

/** A part of `Accept`, for example, and no key. */
const MEDIA_TYPE = /^(?:application|audio|font|image|model|multipart|text|video)\/[\w.+*-]+$/i;

/**
 * Returns the secrets that a stored response must not show: servers often quote the requested path, and the key in it.
 * Short parts of a path, of the query and of headers are words, not keys, also if percent-encoding made them longer.
 */
function secretsOf({ url, signingSecret, previousSecret, headers = {} }: WebhookDelivery): string[] {
  const { href, pathname, search, searchParams } = new URL(url);
  const paths = pathname === '/' ? [] : [`${pathname}${search}`, pathname];
  const sent = Object.values(headers);
  // In `Bearer key`, `Token token="key"` and `name=key; name=key` the key alone is secret, too.
  const words = sent.flatMap((text) => [
    ...text.split(' '),
    ...text.split(/[ ",;]/).filter((word) => !MEDIA_TYPE.test(word)),
  ]);
  const values = [...search.slice(1).split('&'), ...words].map((pair) => pair.slice(pair.indexOf('=') + 1));
  const parts = [...pathname.split('/'), ...values, ...searchParams.values(), ...words, ...sent];
  return [
    signingSecret,
    ...(previousSecret ? [previousSecret] : []),
    ...[href, ...paths, search].flatMap((text) => [text, percentDecode(text)]),
    ...parts.flatMap((text) => [text, percentDecode(text)]).filter((part) => part.length >= SHORTEST_KEY),
  ];
}

/**
 * Returns the values that `secretsOf` leaves out. They are those of headers, whole and without the scheme (`Bearer
 * 1234`), and those of the query.
 */
function shortSecretsOf({ url, headers = {} }: WebhookDelivery): ShortSecret[] {
  const ofHeaders = Object.entries(headers).flatMap(([name, value]) =>
    [value, value.slice(value.indexOf(' ') + 1)].map((text) => ({ name, value: text })),
  );
  const ofQuery = [...new URL(url).searchParams].map(([name, value]) => ({ name, value }));
  return [...ofHeaders, ...ofQuery].filter(({ value }) => value.length < SHORTEST_KEY);
}
