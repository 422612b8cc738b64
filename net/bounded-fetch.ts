import { createHttpClient } from './http-client.ts';

/** A request as libraries that speak `fetch` make it; redirects are theirs to refuse. */
export type FetchRequest = { method?: string; headers?: Readonly<Record<string, string>> | Headers; body?: unknown };

/** The answer to a request, or the reason for none, as libraries of `fetch` expect them. */
export type BoundedFetch = (url: string, request: FetchRequest) => Promise<Response>;

/** The other side is away: it did not answer in time, not wholly, or with an error of its own. */
export class PeerAway extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'PeerAway';
  }
}

/** How much of an answer is read, how long it may take, and how many may be under way at a time. */
export type FetchBounds = { bytes: number; deadlineMs: number; atOnce: number };

/** Statuses whose answers have no body, not even an empty one. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * Makes a `fetch` with bounds for servers that the operator names, at private addresses as well. It rejects with
 * `PeerAway` where no good answer came within them, 5xx and 429 included.
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
        // One more than is accepted: an answer of just that size is whole.
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
