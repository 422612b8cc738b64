import type { VendorDocument, VendorFailure } from '../../core/checks/vendor/document.ts';
import { HOUR_MS } from '../../core/time.ts';
import { createHttpClient, readRetryAfter, type HttpResponse } from '../../net/http-client.ts';
import { OFFERED_ENCODINGS } from '../../net/response-body.ts';
import { redirectTarget } from '../http/request.ts';

/** The server's validators of the stored content, for conditional requests (RFC 9110, 13). */
type Validators = { etag: string | null; lastModified: string | null };

/** Result of requesting a document; `retryAfterMs` is present if the server named a wait. */
type FetchedDocument =
  | ({ outcome: 'changed'; body: Buffer } & Validators)
  | { outcome: 'unchanged' }
  | { outcome: 'failed'; failure: VendorFailure; retryAfterMs?: number };

/** Requests a document. It rejects only if this machine lacks resources. */
export type FetchDocument = (
  document: Pick<VendorDocument, 'url' | 'isInCatalog'>,
  known: Validators,
) => Promise<FetchedDocument>;

/** Timeout for one document, including redirects, in milliseconds. */
const DEADLINE_MS = 7000;
const MAX_BODY_BYTES = 5 * 1024 * 1024;
/** Maximum length of a validator, in characters: validators are stored and sent back, and a longer one is ignored. */
const MAX_VALIDATOR = 500;
const MAX_REDIRECTS = 5;
/** Maximum wait that a server can request, in milliseconds. */
const MAX_RETRY_AFTER_MS = HOUR_MS;

/**
 * Statuses of a server's own problems, or of its refusal to respond now: they do not show whether there is a status
 * page.
 */
const SAYS_NOTHING = new Set([401, 403, 407, 408, 425, 429]);
const SENDS_AWAY = new Set([429, 503]);

/**
 * Creates the function that requests documents, through the guard unless private networks are allowed (D-30). Those of
 * the catalog have their own share of memory; any other counts as its account's.
 */
export function createDocumentFetch(environment: { allowPrivateNetwork: boolean }): FetchDocument {
  const sendToCatalog = createHttpClient({ ...environment, purpose: 'vendors' });
  const sendToOthers = createHttpClient(environment);
  return async ({ url, isInCatalog }, known) => {
    const send = isInCatalog ? sendToCatalog : sendToOthers;
    const startedAtMs = performance.now();
    let hop = new URL(url);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const deadlineMs = Math.max(1, DEADLINE_MS - (performance.now() - startedAtMs));
      const exchange = await send({
        url: hop,
        method: 'GET',
        headers: headersFor(known),
        deadlineMs,
        bodyLimit: (status) => (status === 200 ? MAX_BODY_BYTES : 0),
      });
      if (exchange.outcome === 'failed')
        return failed('unreachable', `The status page could not be read: ${exchange.reason}`);
      const to = redirectTarget({ status: exchange.status, location: exchange.headers.location }, hop);
      if (to === null) return readResponse(exchange);
      if (hop.protocol === 'https:' && to.protocol === 'http:')
        return failed('unreachable', 'The status page redirects from https to http, which is not followed');
      hop = to;
    }
    return failed('unreachable', `The status page redirects more than ${MAX_REDIRECTS} times`);
  };
}

function headersFor({ etag, lastModified }: Validators): Record<string, string> {
  return {
    'User-Agent': 'Spotcheck/1.0 (status page reader)',
    Accept: 'application/json, application/rss+xml, application/xml;q=0.9, */*;q=0.5',
    'Accept-Encoding': OFFERED_ENCODINGS,
    ...(etag !== null && { 'If-None-Match': etag }),
    ...(lastModified !== null && { 'If-Modified-Since': lastModified }),
  };
}

function readResponse({ status, headers, body, truncated }: HttpResponse): FetchedDocument {
  if (status === 304) return { outcome: 'unchanged' };
  if (status === 200) {
    if (truncated)
      return failed('not_a_status_page', `The status page is larger than ${MAX_BODY_BYTES / 1024 / 1024} MiB`);
    return {
      outcome: 'changed',
      body,
      etag: validator(headers.etag),
      lastModified: validator(headers['last-modified']),
    };
  }
  const isSilent = status >= 500 || SAYS_NOTHING.has(status);
  const retryAfterMs = SENDS_AWAY.has(status) ? readRetryAfter({ headers }, Date.now()) : null;
  return {
    ...failed(isSilent ? 'unreachable' : 'not_a_status_page', `The status page responded with HTTP ${status}`),
    ...(retryAfterMs !== null && { retryAfterMs: Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) }),
  };
}

function validator(value: string | undefined): string | null {
  return value === undefined || value.length > MAX_VALIDATOR ? null : value;
}

function failed(kind: VendorFailure['kind'], reason: string): { outcome: 'failed'; failure: VendorFailure } {
  return { outcome: 'failed', failure: { kind, reason } };
}
