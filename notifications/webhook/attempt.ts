import type { Agent } from 'node:https';
import { sealEnvelope, type EventMessage } from '../../core/envelope.ts';
import type { HttpClient, HttpExchange } from '../../net/http-client.ts';
import { keepAnswer } from '../answer-text.ts';
import { OUTCOME_OF_FAILURE, type AttemptOutcome, type AttemptResult } from '../attempt-result.ts';
import { signDelivery } from './signature.ts';
import { findUrlProblem } from './url.ts';

/** One event on its way to one webhook; the same `deliveryId` in each of its attempts, which count from 1. A `previousSecret` signs as well. */
export type WebhookDelivery = { url: string; signingSecret: string; previousSecret?: string | null; deliveryId: string; attempt: number; message: EventMessage };

/** What attempts are made with. `deadlineMs` spans the whole exchange; `agent` keeps connections for first attempts to share. */
export type WebhookSending = { http: HttpClient; agent: Agent; deadlineMs: number; now: () => number };

/**
 * How much of an answer's body is read, in bytes; the connection is closed on the rest. More than is kept, so that a quoted URL is never cut in
 * two before it is struck out.
 */
const RESPONSE_LIMIT = 4096;

/** A part of a URL that is shorter than this, in characters, is struck out of answers only where the whole path is quoted. */
const SHORTEST_KEY = 8;

/**
 * Makes one attempt at a webhook (D-50, D-51, D-53): a signed POST whose `sent_at`, timestamps and signatures are new each time. 2xx is
 * `delivered`; 3xx, which is not followed, and 4xx are `failed`; everything else that the receiver does is `retry`. Rejects only when
 * our own machine lacks something.
 */
export async function attemptWebhook(delivery: WebhookDelivery, sending: WebhookSending): Promise<AttemptResult> {
  const problem = findUrlProblem(delivery.url);
  if (problem !== null) return { outcome: 'failed', statusCode: null, durationMs: 0, error: `The URL ${problem}`, response: null };
  const startedAtMs = sending.now();
  const { exchange, statusCode } = await post(delivery, sending);
  const durationMs = Math.max(0, Math.round(sending.now() - startedAtMs));
  if (exchange.outcome === 'failed') {
    // A refusal is final even where its body never ends; a success counts once the whole answer is there.
    const refused = statusCode !== null && outcomeOfStatus(statusCode) === 'failed';
    if (refused) return { outcome: 'failed', statusCode, durationMs, error: describeStatus(statusCode), response: null };
    return { outcome: OUTCOME_OF_FAILURE[exchange.cause], statusCode, durationMs, error: exchange.reason, response: null };
  }
  const outcome = outcomeOfStatus(exchange.status);
  const error = outcome === 'delivered' ? null : describeStatus(exchange.status);
  return { outcome, statusCode: exchange.status, durationMs, error, response: exchange.body.length === 0 ? null : keepAnswer(exchange.body, secretsOf(delivery)) };
}

type Posted = {
  exchange: HttpExchange;
  /** Known as soon as the answer's head was there, even if the exchange failed after it. */
  statusCode: number | null;
};

/**
 * A connection that was kept may have died unnoticed. Where it breaks before any answer the request goes out once more, at once and on a
 * fresh one; where it just stays silent the retries do, for they never take a kept one.
 */
async function post(delivery: WebhookDelivery, sending: WebhookSending): Promise<Posted> {
  if (delivery.attempt > 1) return await postOnce(delivery, sending);
  const startedAtMs = sending.now();
  const posted = await postOnce(delivery, sending, sending.agent);
  const leftMs = sending.deadlineMs - (sending.now() - startedAtMs);
  if (!isStale(posted) || leftMs <= 0) return posted;
  return await postOnce(delivery, { ...sending, deadlineMs: leftMs });
}

/** No connection was made for the exchange, and the one that it was given broke. */
function isStale({ exchange, statusCode }: Posted): boolean {
  return exchange.outcome === 'failed' && exchange.cause === 'conn_error' && statusCode === null && exchange.phases.connectMs === null;
}

async function postOnce(delivery: WebhookDelivery, { http, deadlineMs, now }: WebhookSending, agent?: Agent): Promise<Posted> {
  const sentAtMs = now();
  const { deliveryId, message } = delivery;
  const body = Buffer.from(JSON.stringify(sealEnvelope(message, { deliveryId, sentAtMs })));
  const headers = {
    'Content-Type': 'application/json',
    // Little is kept of the answer, and it shall be readable as it comes.
    'Accept-Encoding': 'identity',
    'User-Agent': 'Spotcheck/1 (webhook)',
    ...signDelivery({ body, event: message.event, deliveryId, sentAtSeconds: Math.floor(sentAtMs / 1000) }, delivery.signingSecret, delivery.previousSecret),
  };
  let statusCode: number | null = null;
  const bodyLimit = (status: number): number => {
    statusCode = status;
    return RESPONSE_LIMIT;
  };
  const exchange = await http({ url: new URL(delivery.url), method: 'POST', headers, body, deadlineMs, bodyLimit, ...(agent && { agent }) });
  return { exchange, statusCode };
}

function outcomeOfStatus(status: number): AttemptOutcome {
  if (status >= 200 && status < 300) return 'delivered';
  return status >= 500 ? 'retry' : 'failed';
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return `The endpoint answered ${status}; redirects are not followed`;
  return `The endpoint answered ${status}`;
}

/**
 * What an answer must not show, longest first: servers like to quote the path that they were asked for, and in it the key. Short parts of a path
 * are words, not keys.
 */
function secretsOf({ url, signingSecret, previousSecret }: WebhookDelivery): string[] {
  const { href, pathname, search } = new URL(url);
  const values = search.slice(1).split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const parts = [...pathname.split('/'), ...values].filter((part) => part.length >= SHORTEST_KEY);
  const paths = pathname === '/' ? [] : [`${pathname}${search}`, pathname];
  const shown = [href, ...paths, search, ...parts].flatMap((text) => [text, decoded(text)]);
  return [signingSecret, ...(previousSecret ? [previousSecret] : []), ...shown].toSorted((a, b) => b.length - a.length);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
