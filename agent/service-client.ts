import http from 'node:http';
import https from 'node:https';
import type { IngestAnswer, PullAnswer, PullRequest } from '../core/agents/wire.ts';
import { cleanText, parseJson } from '../core/foreign-text.ts';
import { createHttpClient, readRetryAfter, type HttpClient, type HttpExchange } from '../net/http-client.ts';

/**
 * A request that the service did not handle. `reason` is for people; `requestedWaitMs` is the wait that it requested,
 * null if it did not.
 */
type Failed = { outcome: 'failed'; reason: string; requestedWaitMs: number | null };

/** 401: the token is wrong or revoked, or its agent was deleted. */
type Unauthorized = { outcome: 'unauthorized' };

/** `serverTimeMs` is the service's clock in Unix milliseconds, in whole seconds; null if it sends none. */
export type PullOutcome =
  | { outcome: 'work'; answer: PullAnswer; etag: string | null; serverTimeMs: number | null }
  | { outcome: 'unchanged'; serverTimeMs: number | null }
  | Unauthorized
  | Failed;

/**
 * `refused`: the batch is invalid or too large. With `isFromService` a retry cannot help; otherwise a proxy in front of
 * the service refused it.
 */
export type IngestOutcome =
  | { outcome: 'accepted'; answer: IngestAnswer }
  | { outcome: 'refused'; reason: string; isFromService: boolean }
  | Unauthorized
  | Failed;

/** The service's API for agents. */
export type ServiceClient = {
  pull: (request: PullRequest, etag: string | null) => Promise<PullOutcome>;
  /** `body` is the JSON of `{results}`. */
  ingest: (body: string) => Promise<IngestOutcome>;
  close: () => void;
};

type ServiceClientOptions = { serviceUrl: string; token: string; version: string; now: () => number };

const DEADLINE_MS = 10_000;

/** Maximum size of a response: a thousand monitors with long lists of assertions. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** Enough of an error's text to understand it. */
const MAX_REASON_CHARACTERS = 300;

/** Opens the client of the service. Certificates are verified, and the token never follows a redirect. */
export function openServiceClient({ serviceUrl, token, version, now }: ServiceClientOptions): ServiceClient {
  const send = createHttpClient({ allowPrivateNetwork: true, purpose: 'agent' });
  const isSecure = serviceUrl.toLowerCase().startsWith('https:');
  const agent = new (isSecure ? https.Agent : http.Agent)({ keepAlive: true, maxSockets: 4 });
  const post = (path: string, { body, headers }: { body: string; headers: Record<string, string> }) =>
    sendSafely(send, {
      url: new URL(`${serviceUrl}/agent/v1/${path}`),
      method: 'POST',
      headers: {
        ...headers,
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        Accept: 'application/json',
        'User-Agent': `spotcheck-agent/${version}`,
      },
      body,
      deadlineMs: DEADLINE_MS,
      bodyLimit: () => MAX_RESPONSE_BYTES,
      agent,
    });

  return {
    async pull(request, etag) {
      const response = await post('pull', {
        body: JSON.stringify(request),
        headers: etag === null ? {} : { 'If-None-Match': etag },
      });
      if (typeof response === 'string') return failed(response);
      const serverTimeMs = timeOf(response);
      if (response.status === 304) return { outcome: 'unchanged', serverTimeMs };
      if (response.status !== 200) return unsuccessful(response, now());
      const said = readJson(response);
      return isPullAnswer(said)
        ? { outcome: 'work', answer: said, etag: response.headers.etag ?? null, serverTimeMs }
        : failed(NOT_SPOTCHECK);
    },
    async ingest(body) {
      const response = await post('ingest', { body, headers: {} });
      if (typeof response === 'string') return failed(response);
      if (response.status === 400 || response.status === 413) return refusalOf(response);
      if (response.status < 200 || response.status > 299) return unsuccessful(response, now());
      const said = readJson(response);
      return isIngestAnswer(said) ? { outcome: 'accepted', answer: said } : failed(NOT_SPOTCHECK);
    },
    close: () => agent.destroy(),
  };
}

const NOT_SPOTCHECK = 'The response is not from Spotcheck: another server responds at SPOTCHECK_URL';

type Answered = Extract<HttpExchange, { outcome: 'answered' }>;

/** Returns the response, or a sentence that says why there is none. */
async function sendSafely(send: HttpClient, request: Parameters<HttpClient>[0]): Promise<Answered | string> {
  try {
    const exchange = await send(request);
    return exchange.outcome === 'answered' ? exchange : exchange.reason;
  } catch (error) {
    return `This machine could not send the request: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function unsuccessful(response: Answered, nowMs: number): Unauthorized | Failed {
  if (response.status === 401) return { outcome: 'unauthorized' };
  return {
    outcome: 'failed',
    reason: describe(response),
    requestedWaitMs: readRetryAfter(response, nowMs),
  };
}

/** Interprets a refusal: every error of the service has the form of D-03. */
function refusalOf(response: Answered): IngestOutcome {
  const said = readJson(response);
  const isFromService = (['error', 'request_id'] as const).every(
    (name) => hasField(said, name) && typeof said[name] === 'string',
  );
  const reason = isFromService
    ? describe(response)
    : `HTTP ${response.status}: the response is a proxy's, not Spotcheck's`;
  return { outcome: 'refused', reason, isFromService };
}

function failed(reason: string): Failed {
  return { outcome: 'failed', reason, requestedWaitMs: null };
}

function describe(response: Answered): string {
  if (response.status >= 300 && response.status < 400)
    return `HTTP ${response.status}: the service redirects, and its token is not sent elsewhere; correct SPOTCHECK_URL`;
  const said = readJson(response);
  const text =
    hasField(said, 'error') && typeof said.error === 'string'
      ? `: ${cleanText(said.error, MAX_REASON_CHARACTERS)}`
      : '';
  return `HTTP ${response.status}${text}`;
}

function isPullAnswer(said: unknown): said is PullAnswer {
  return hasField(said, 'work') && Array.isArray(said.work) && said.work.every(isWorkItem);
}

/** Validates the fields on which the clock and the probes rely. */
function isWorkItem(item: unknown): boolean {
  const texts = ['monitorId', 'sourceKey', 'type', 'target'] as const;
  const isNamed = texts.every((name) => hasField(item, name) && typeof item[name] === 'string');
  const isTimed = (['intervalSeconds', 'timeoutMs'] as const).every(
    (name) => hasField(item, name) && isDuration(item[name]),
  );
  return (
    isNamed && isTimed && hasField(item, 'checkSpec') && typeof item.checkSpec === 'object' && item.checkSpec !== null
  );
}

/** A timer that is set for more milliseconds than this fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Reports whether a timer can wait so long: JSON allows larger numbers, and 1e999 is even infinite. */
function isDuration(value: unknown): boolean {
  return typeof value === 'number' && value >= 1 && value <= LONGEST_TIMER_MS;
}

/** Returns the service's time. `Date` is no substitute: a proxy may have set it by its own clock (D-775). */
function timeOf({ headers }: Answered): number | null {
  const text = String(headers['spotcheck-time'] ?? '');
  return /^\d{1,12}$/.test(text) ? Number(text) * 1000 : null;
}

/** Validates the fields on which the results and the clock rely. */
function isIngestAnswer(said: unknown): said is IngestAnswer {
  if (!hasField(said, 'accepted') || typeof said.accepted !== 'number') return false;
  const hints = hasField(said, 'recheck') ? (said.recheck ?? []) : [];
  return Array.isArray(hints) && hints.every((hint) => hasField(hint, 'afterMs') && Number.isFinite(hint.afterMs));
}

function hasField<Name extends string>(value: unknown, name: Name): value is Record<Name, unknown> {
  return typeof value === 'object' && value !== null && name in value;
}

/** Undefined if the body is not JSON. */
function readJson({ body }: Answered): unknown {
  return parseJson(body.toString('utf8'));
}

/** Bounds of the wait before a retry, in milliseconds. */
const SHORTEST_MS = 1000;
const LONGEST_MS = 60_000;

/** Maximum wait that a server's Retry-After can request, in milliseconds: an agent that waits longer appears dead. */
const LONGEST_REQUESTED_WAIT_MS = 10 * 60_000;

/**
 * Returns the wait after this many consecutive failures (from 1), in milliseconds. It is random between a second and a
 * bound that doubles from two seconds to a minute, so that a fleet that lost its server does not return as a herd. It
 * is at least `requestedWaitMs`, the server's requested wait, null if there is none.
 */
export function backoffMs({
  failures,
  requestedWaitMs,
  random,
}: {
  failures: number;
  requestedWaitMs: number | null;
  random: () => number;
}): number {
  const boundMs = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** Math.min(failures, 16));
  const ownMs = SHORTEST_MS + random() * (boundMs - SHORTEST_MS);
  return Math.max(ownMs, Math.min(requestedWaitMs ?? 0, LONGEST_REQUESTED_WAIT_MS));
}
