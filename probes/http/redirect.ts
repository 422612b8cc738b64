import { isIP } from 'node:net';
import { isHttp, type Hop, type RequestHeader } from './request.ts';

/** D-21: no check follows more than this many redirects. */
export const MAX_REDIRECTS = 10;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const KEEPS_METHOD = new Set([307, 308]);
// Of a body that is not sent again, its description is not either.
const BODY_HEADERS = new Set(['content-type', 'content-encoding', 'content-language', 'content-location']);

/**
 * Where an answer points; null when it is the final answer. So it is when it is no redirect, has no Location, or has
 * one that is no http or https URL.
 */
export function redirectTarget(
  { status, location }: { status: number; location: string | undefined },
  from: URL,
): URL | null {
  if (!REDIRECTS.has(status) || location === undefined) return null;
  // Node reads header bytes as Latin-1; names beyond ASCII come as UTF-8 in practice.
  const to = URL.parse(Buffer.from(location, 'latin1').toString(), from.href);
  return to !== null && isHttp(to) ? to : null;
}

/**
 * Makes the request that follows a redirect of `status` to `to` (D-21): 303 asks with GET, as do 301 and 302 after a
 * POST. A hop that leaves the first host and its subdomains, or its port, loses all secrets (D-69) and our
 * `traceparent`, and what is lost on one hop stays lost.
 */
export function followRedirect({ hop, status, to }: { hop: Hop; status: number; to: URL }, first: URL): Hop {
  const next = asGet(hop, status)
    ? { ...hop, method: 'GET', body: null, headers: without(hop, (name) => BODY_HEADERS.has(name)) }
    : hop;
  const sent = to.host === hop.url.host ? next : { ...next, headers: without(next, (name) => name === 'host') };
  return { ...(isWithin(to.hostname, first.hostname) && isAtPort(to, first) ? sent : dropSecrets(sent)), url: to };
}

function asGet({ method }: Hop, status: number): boolean {
  if (KEEPS_METHOD.has(status) || method === 'GET' || method === 'HEAD') return false;
  return status === 303 || method === 'POST';
}

function dropSecrets(hop: Hop): Hop {
  const headers = without(hop, (_, { isSecret, isOurs }) => isSecret || isOurs === true);
  if (hop.body?.isSecret !== true) return { ...hop, headers };
  return { ...hop, body: null, headers: without({ headers }, (name) => BODY_HEADERS.has(name)) };
}

function without(
  { headers }: Pick<Hop, 'headers'>,
  leavesOut: (name: string, header: RequestHeader) => boolean,
): Hop['headers'] {
  return new Map([...headers].filter(([name, header]) => !leavesOut(name, header)));
}

/** True for the same port, and for https' own after http's own: that is how sites move their visitors to TLS. */
function isAtPort(to: URL, first: URL): boolean {
  return (
    portOf(to) === portOf(first) ||
    (to.protocol === 'https:' && portOf(to) === 443 && first.protocol === 'http:' && portOf(first) === 80)
  );
}

function portOf({ protocol, port }: URL): number {
  return Number(port || (protocol === 'https:' ? 443 : 80));
}

function isWithin(host: string, first: string): boolean {
  if (host === first) return true;
  return isIP(first) === 0 && host.endsWith(`.${first}`);
}
