import { isIP, isIPv4, isIPv6 } from 'node:net';

export type HostAndPort = { host: string; port: number };

const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
const FLAGS: Readonly<Record<string, boolean>> = { true: true, false: false, 1: true, 0: false };
const PORT_MAX = 65_535;

/** Returns a parser of whole numbers within inclusive bounds. */
export function wholeNumber(min: number, max: number): (text: string) => number | null {
  return (text) => (/^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : null);
}

/** Parses a plain decimal number of zero or more; no exponent, no sign. */
export function nonNegativeNumber(text: string): number | null {
  return /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : null;
}

/**
 * Returns a parser of comma-separated lists without empty items or, by default, repeats; it returns null if one item is
 * not accepted.
 */
export function listOf<T>(
  parse: (text: string) => T | null,
  options: { unique: boolean } = { unique: true },
): (text: string) => readonly T[] | null {
  return (text) => {
    const items = text.split(',').map((item) => item.trim());
    if (options.unique && new Set(items).size < items.length) return null;
    const values = items.map(parse).filter((value) => value !== null);
    return values.length === items.length ? values : null;
  };
}

/** Parses true, false, 1 or 0. */
export function flag(text: string): boolean | null {
  const name = text.toLowerCase();
  return Object.hasOwn(FLAGS, name) ? (FLAGS[name] ?? null) : null;
}

/** Parses a region name that fits in queue names and URLs; `service` is reserved for the service's own checks. */
export function regionName(text: string): string | null {
  return SLUG.test(text) && text !== 'service' ? text : null;
}

/** Parses a cell's name as tokens carry it: a letter, and up to 15 letters and digits, all in lower case. */
export function cellName(text: string): string | null {
  return /^[a-z][a-z0-9]{0,15}$/.test(text) ? text : null;
}

/** Parses `name=URL` of a cell: the origin of its API, without a path. */
export function cellAddress(text: string): Readonly<{ name: string; url: string }> | null {
  const [, name, url] = /^([^=]*)=(.*)$/.exec(text) ?? [];
  const origin = url === undefined ? null : urlOf('http:', 'https:')(url);
  if (name === undefined || origin === null || cellName(name) === null) return null;
  const { pathname, username, password } = new URL(origin);
  return pathname === '/' && username === '' && password === '' ? { name, url: origin } : null;
}

/** Parses an address of this machine to listen on: IPv4, IPv6 without brackets or zone, or `localhost`. */
export function listenAddress(text: string): string | null {
  return text === 'localhost' || (isIP(text) !== 0 && !text.includes('%')) ? text : null;
}

export function oneLine(text: string): string | null {
  return /^\P{Cc}{1,1024}$/u.test(text) ? text : null;
}

/** Accepted spelling of a URL: `URL` itself ignores blanks, line breaks and an empty query. */
const WRITTEN_URL = /^[a-z]+:\/\/[^\s\p{Cc}?#]+$/iu;

/**
 * Returns a parser of absolute URLs with the given schemes (`https:`), which normalizes them. The result has no
 * trailing slash, and its scheme and, for http and https, its host are in lower case. A query or fragment is refused,
 * even an empty one.
 */
export function urlOf(...protocols: readonly string[]): (text: string) => string | null {
  return (text) => {
    const url = WRITTEN_URL.test(text) ? URL.parse(text) : null;
    return url === null || !protocols.includes(url.protocol) || url.hostname === ''
      ? null
      : url.href.replace(/\/+$/, '');
  };
}

/** Parses an address to ping: absolute http or https, without user, password and fragment; a query is accepted. */
export function watchUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null;
  return url.username === '' && url.password === '' && url.hash === '' ? text : null;
}

/** A mail server: its address, whether TLS comes first, and the sign-in if there is one. */
export type SmtpServer = Readonly<{
  host: string;
  port: number;
  isSecure: boolean;
  signIn: Readonly<{ user: string; password: string }> | null;
}>;

const SMTP_PORTS = { 'smtp:': 587, 'smtps:': 465 } as const;

/** Parses `smtp://` or `smtps://` with a host, and optionally a port and a sign-in; nothing else. */
export function smtpUrl(text: string): SmtpServer | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:')) return null;
  const { protocol, hostname, port, username, password, pathname, search, hash } = url;
  if (hostname === '' || (pathname !== '' && pathname !== '/') || search !== '' || hash !== '') return null;
  if ((username === '') !== (password === '') || port === '0') return null;
  try {
    return Object.freeze({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? SMTP_PORTS[protocol] : Number(port),
      isSecure: protocol === 'smtps:',
      signIn:
        username === ''
          ? null
          : Object.freeze({ user: decodeURIComponent(username), password: decodeURIComponent(password) }),
    });
  } catch {
    return null;
  }
}

/** Parses `Name <address>` or an address alone; the address must be ASCII. */
export function mailAddress(text: string): Readonly<{ name: string; address: string }> | null {
  const [, name = '', address = ''] = /^(?:([^<>@\p{Cc}]{0,100})<([^<>]*)>|)$/u.exec(text) ?? [null, '', text];
  return /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(address)
    ? Object.freeze({ name: name.trim().replaceAll(/^"|"$/g, ''), address })
    : null;
}

/** Accepted values of `target_session_attrs`: Spotcheck writes, so it cannot use a standby. */
const WRITABLE = new Set([null, 'any', 'read-write', 'primary']);

/**
 * Parses a PostgreSQL connection string with one host or several (`host1:5432,host2:5432`); its query may contain
 * options such as `sslmode`.
 */
export function databaseUrl(text: string): string | null {
  const [, scheme = '', credentials = '', hosts = '', rest = ''] =
    /^(postgres(?:ql)?:\/\/)((?:[^/?#\s]*@)?)([^/?#\s]+)(\S*)$/.exec(text) ?? [];
  const urls = hosts.split(',').map((host) => `${scheme}${credentials}${host}${rest}`);
  if (hosts.split(',').includes('') || !urls.every((url) => URL.canParse(url))) return null;
  return WRITABLE.has(new URL(urls[0] ?? '').searchParams.get('target_session_attrs')) ? text : null;
}

/**
 * Parses one Redis address, the comma-separated nodes of a Cluster, all of one scheme, or sentinels and the name of the
 * master that they watch.
 */
export function redisUrl(text: string): string | null {
  if (!isDecodable(text)) return null;
  if (/^rediss?\+sentinel:/.test(text)) return isSentinelUrl(text) ? text : null;
  const nodes = listOf(urlOf('redis:', 'rediss:'))(text);
  const isOneScheme = nodes !== null && new Set(nodes.map((node) => new URL(node).protocol)).size === 1;
  return isOneScheme ? nodes.join(',') : null;
}

const SENTINEL_URL = /^rediss?\+sentinel:\/\/(?:[^\s@/?#]*@)?(?<hosts>[^\s@/?#]+)(?:\/\d{0,3})?\?(?<query>[^\s#]+)$/;
const SENTINEL_PARAMETERS = new Set(['name', 'sentinel_username', 'sentinel_password']);

/**
 * Matches `redis+sentinel://user:password@host:port,host:port/0?name=master`; login, ports and database are optional.
 */
function isSentinelUrl(text: string): boolean {
  const { hosts, query } = SENTINEL_URL.exec(text)?.groups ?? {};
  if (hosts === undefined) return false;
  const withPort = (host: string) => hostAndPort(/:\d+$/.test(host) ? host : `${host}:1`);
  const parameters = [...new URLSearchParams(query)];
  const isKnown =
    parameters.every(([name, value]) => SENTINEL_PARAMETERS.has(name) && value !== '') &&
    new Set(parameters.map(([name]) => name)).size === parameters.length;
  return listOf(withPort)(hosts) !== null && isKnown && parameters.some(([name]) => name === 'name');
}

/** Reports whether each % begins a valid escape, so that later decoding cannot fail. */
function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== '';
  } catch {
    return false;
  }
}

/** Parses an address with or without a port: `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1`, `[2001:db8::1]:5353`. */
export function addressAndPort(text: string): string | null {
  if (isIP(text) !== 0) return text;
  const {
    ipv4 = '',
    ipv6 = '',
    port = '',
  } = /^(?:(?<ipv4>[\d.]+)|\[(?<ipv6>[\da-f:.]+)\]):(?<port>\d{1,5})$/i.exec(text)?.groups ?? {};
  return (isIPv4(ipv4) || isIPv6(ipv6)) && Number(port) >= 1 && Number(port) <= PORT_MAX ? text : null;
}

/**
 * Parses an address or a range: `192.0.2.1`, `10.0.0.0/8`, `2001:db8::/32`; no zone, no IPv4 within IPv6, and no range
 * of all addresses.
 */
export function addressRange(text: string): string | null {
  const [address = '', prefix = null, ...rest] = text.split('/');
  if (!(isIPv4(address) || (isIPv6(address) && /^[\da-f:]+$/i.test(address))) || rest.length > 0) return null;
  return prefix === null || wholeNumber(1, isIPv4(address) ? 32 : 128)(prefix) !== null ? text : null;
}

/** Parses `host:port`, with an IPv6 address in brackets. */
export function hostAndPort(text: string): HostAndPort | null {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (!match?.[1] || port < 1 || port > PORT_MAX) return null;
  return { host: match[1].replace(/^\[|\]$/g, ''), port };
}

/** Parses an address of this machine and a port to listen on: `127.0.0.1:9115`, `[::1]:9115`, `localhost:9115`. */
export function listenAddressAndPort(text: string): HostAndPort | null {
  const found = hostAndPort(text);
  return found !== null && listenAddress(found.host) !== null ? found : null;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Parses the issuer of an OpenID Connect provider, exactly as the provider writes it, including a trailing slash:
 * https, or http on this machine.
 */
export function issuerUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return null;
  if (url.pathname.includes('/.well-known/')) return null;
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname)) ? text : null;
}

/** Parses OpenID Connect scopes separated by blanks, which must include `openid`. */
export function scopesOf(text: string): string | null {
  const scopes = text.split(/ +/);
  return scopes.includes('openid') && scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope))
    ? scopes.join(' ')
    : null;
}

/** Parses `owner=value` of a role claim, or `viewer=*` for any value. */
export function roleRule(text: string): Readonly<{ role: 'viewer' | 'editor' | 'owner'; value: string }> | null {
  const [, role, value = ''] = /^(viewer|editor|owner)=(\P{Cc}{1,255})$/u.exec(text) ?? [];
  return role === 'viewer' || role === 'editor' || role === 'owner' ? Object.freeze({ role, value }) : null;
}

/** Parses `example.com`, or `example.com=ten_...` with the account that people of the domain join. */
export function provisionedDomain(text: string): Readonly<{ domain: string; tenantId: string | null }> | null {
  const [, domain, tenantId = null] =
    /^([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)(?:=(ten_[a-z0-9]{1,60}))?$/.exec(text.toLowerCase()) ?? [];
  return domain === undefined ? null : Object.freeze({ domain, tenantId });
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
