import { isIP } from 'node:net';
import { REDIRECTS } from '../../core/checks/http/expected-status.ts';
import { percentDecode } from '../../core/foreign-text.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import { portOf } from '../../net/destination.ts';
import { OFFERED_ENCODINGS } from '../../net/response-body.ts';

/**
 * A header to send. A secret one is only for the target's own host and its subdomains, and its port (D-21, D-69); so is
 * a header of Spotcheck that identifies the request.
 */
type RequestHeader = { name: string; value: string; isSecret: boolean; isOurs?: true };

/** One request on the way to the final response. Headers are keyed by lower-case name, so that each is sent once. */
export type Hop = {
  url: URL;
  method: string;
  headers: ReadonlyMap<string, RequestHeader>;
  body: { text: string; isSecret: boolean } | null;
};

const DEFAULT_HEADERS: readonly RequestHeader[] = [
  { name: 'User-Agent', value: 'Spotcheck/1.0 (uptime check)', isSecret: false },
  { name: 'Accept', value: '*/*', isSecret: false },
  { name: 'Accept-Encoding', value: OFFERED_ENCODINGS, isSecret: false },
];
const DEFAULTS: ReadonlyMap<string, RequestHeader> = new Map(
  DEFAULT_HEADERS.map((header) => [header.name.toLowerCase(), header]),
);

// The client sets the length and framing of the body: wrong values would leave both sides waiting.
const FRAMING_HEADERS = new Set(['content-length', 'transfer-encoding']);
// Credentials by their names, even if a customer put them among the plain headers.
const CREDENTIAL_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie']);

/**
 * Builds the first request of a check; null if its target is not an http or https URL. A user and password in the URL
 * become basic credentials; later settings override earlier ones: plain headers, secret headers, `auth`.
 */
export function buildFirstHop({ target, method, checkSpec, secrets, traceparent }: CheckTarget): Hop | null {
  const url = URL.parse(target);
  if (url === null || !isHttp(url)) return null;

  const spec = checkSpec.request ?? {};
  const headers = new Map(DEFAULTS);
  if (traceparent !== undefined)
    headers.set('traceparent', { name: 'traceparent', value: traceparent, isSecret: false, isOurs: true });
  if (url.username !== '' || url.password !== '') {
    addSecret(headers, basicCredentials(percentDecode(url.username), percentDecode(url.password)));
  }
  const body = spec.bodySecret ? secrets.body : spec.body;
  if (body !== undefined && spec.contentType !== undefined) addHeaders(headers, { 'Content-Type': spec.contentType });
  if (spec.headers !== undefined) addHeaders(headers, spec.headers);
  for (const [name, value] of Object.entries(secrets.secretHeaders ?? {}))
    addHeader(headers, { name, value, isSecret: true });
  if (spec.auth?.type === 'bearer' && secrets.auth) addSecret(headers, `Bearer ${secrets.auth.token ?? ''}`);
  if (spec.auth?.type === 'basic' && secrets.auth)
    addSecret(headers, basicCredentials(secrets.auth.username ?? '', secrets.auth.password ?? ''));

  return {
    url,
    method: method ?? 'GET',
    headers,
    body: body === undefined ? null : { text: body, isSecret: spec.bodySecret === true },
  };
}

/** Reports whether a hop carries anything that strangers must not receive. */
export function carriesSecrets({ headers, body }: Hop): boolean {
  return body?.isSecret === true || [...headers.values()].some((header) => header.isSecret);
}

/** Reports whether a URL has one of the two schemes of hops. */
function isHttp({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:';
}

function addHeaders(headers: Map<string, RequestHeader>, added: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(added)) {
    addHeader(headers, { name, value, isSecret: CREDENTIAL_HEADERS.has(name.toLowerCase()) });
  }
}

function addHeader(headers: Map<string, RequestHeader>, { name, value, isSecret }: RequestHeader): void {
  const key = name.toLowerCase();
  if (!FRAMING_HEADERS.has(key)) headers.set(key, { name, value: asBytes(value), isSecret });
}

function addSecret(headers: Map<string, RequestHeader>, value: string): void {
  addHeader(headers, { name: 'Authorization', value, isSecret: true });
}

function basicCredentials(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Returns a header value as the UTF-8 bytes to send, each as one Latin-1 character, which is what Node writes. */
function asBytes(value: string): string {
  return Buffer.from(value).toString('latin1');
}

/** Maximum redirects that a check follows (D-21). */
export const MAX_REDIRECTS = 10;

const KEEPS_METHOD = new Set([307, 308]);
// A body that is not sent again needs no description.
const BODY_HEADERS = new Set(['content-type', 'content-encoding', 'content-language', 'content-location']);

/**
 * Returns the target of a redirect; null if the response is final. That is one that is no redirect, has no Location, or
 * has one that is not an http or https URL.
 */
export function redirectTarget(
  { status, location }: { status: number; location: string | undefined },
  from: URL,
): URL | null {
  if (!REDIRECTS.has(status) || location === undefined) return null;
  // Node reads header bytes as Latin-1; names beyond ASCII are sent as UTF-8 in practice.
  const to = URL.parse(Buffer.from(location, 'latin1').toString(), from.href);
  return to !== null && isHttp(to) ? to : null;
}

/**
 * Builds the request that follows a redirect of `status` to `to` (D-21). It is a GET after 303, except that HEAD stays
 * HEAD, and after 301 and 302 in response to a POST. A hop that leaves the first host and its subdomains, or its port,
 * loses all secrets (D-69) and the `traceparent`, and later hops do not regain them.
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

/** Reports whether the port is the same, or https's default after http's: sites move their visitors to TLS that way. */
function isAtPort(to: URL, first: URL): boolean {
  return (
    portOf(to) === portOf(first) ||
    (to.protocol === 'https:' && portOf(to) === 443 && first.protocol === 'http:' && portOf(first) === 80)
  );
}

function isWithin(host: string, first: string): boolean {
  if (host === first) return true;
  return isIP(first) === 0 && host.endsWith(`.${first}`);
}
