import { createHttpClient } from './http-client.ts';

/** A request in the form of libraries that use `fetch`; refusing redirects is up to them. */
type FetchRequest = { method?: string; headers?: Readonly<Record<string, string>> | Headers; body?: unknown };

/** Sends a request; resolves with the response or rejects with the reason, as libraries expect of `fetch`. */
type BoundedFetch = (url: string, request: FetchRequest) => Promise<Response>;

/** Error for a peer that did not respond in time or completely, or responded with an error. */
export class PeerAway extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'PeerAway';
  }
}

/** Limits of a `fetch`: bytes of the response, duration of an exchange, and simultaneous exchanges. */
type FetchBounds = { bytes: number; deadlineMs: number; atOnce: number };

/** Statuses whose responses have no body, not even an empty one. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * Creates a `fetch` with limits for servers that the operator names, including at private addresses. It rejects with
 * `PeerAway` if no good response arrived within them; 5xx and 429 count as bad.
 */
export function createBoundedFetch({ bytes, deadlineMs, atOnce }: FetchBounds, purpose: string): BoundedFetch {
  const http = createHttpClient({ allowPrivateNetwork: true, purpose });
  let underWay = 0;
  return async (url, { method = 'GET', headers, body }) => {
    if (underWay >= atOnce) throw new PeerAway('too many requests to it are under way');
    underWay += 1;
    try {
      const exchange = await http({
        url: new URL(url),
        method,
        headers: { ...Object.fromEntries(new Headers(headers)), 'accept-encoding': 'identity' },
        ...(body !== undefined && body !== null && { body: String(body) }),
        deadlineMs,
        // One byte more than is accepted: a response of exactly that size is complete.
        bodyLimit: () => bytes + 1,
      });
      if (exchange.outcome === 'failed') throw new PeerAway(exchange.reason);
      if (exchange.status >= 500 || exchange.status === 429 || exchange.status < 200)
        throw new PeerAway(`it responded with ${exchange.status}`);
      if (exchange.truncated || exchange.body.length > bytes)
        throw new PeerAway(`its response is longer than ${bytes} bytes`);
      return new Response(WITHOUT_BODY.has(exchange.status) ? null : new Uint8Array(exchange.body), {
        status: exchange.status,
        headers: responseHeaders(exchange.headers),
      });
    } finally {
      underWay -= 1;
    }
  };
}

function responseHeaders(headers: NodeJS.Dict<string | string[]>): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((single): [string, string] => [name, single]),
  );
}
