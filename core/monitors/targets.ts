import { canonicalIpv4, canonicalIpv6, splitDnsTarget } from '../checks/dns/target.ts';
import { accepted, refused, type Parsed } from '../foreign-text.ts';
import { countCharacters } from '../input.ts';
import type { MonitorType } from './monitor.ts';

/** Maximum length of a target, in characters (D-15). */
const MAX_TARGET_LENGTH = 2048;

const HTTP_URL = /^https?:\/\/[^/?#]/i;
const BLANK_OR_CONTROL = /[\s\p{Cc}]/u;
const HOST_AND_PORT = /^(?<host>\[[^\]]*\]|[^:[\]]+):(?<port>\d{1,5})$/;
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
const DOTTED_NUMBERS = /^\d+\.\d+\.\d+\.\d+$/;
const VENDOR_ID = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/i;
const MAX_HOST_LENGTH = 253;

/**
 * Validates the form of a target for its monitor's type (D-11); the message names the expected form. Whether the host
 * exists, the domain is registrable or the vendor is known cannot be decided by pure code. Heartbeats have no target:
 * any text is accepted.
 */
export function parseTarget(type: MonitorType, target: string): Parsed<string> {
  const { fits, expected } = FORMS[type];
  const characters = countCharacters(target);
  if (characters > MAX_TARGET_LENGTH) {
    return refused(`target must have at most ${MAX_TARGET_LENGTH} characters, got ${characters}`);
  }
  const insteadOfCredentials = CREDENTIALS[type];
  if (insteadOfCredentials !== undefined && hasCredentials(target))
    return refused(`target must not contain a username or password: ${insteadOfCredentials}`);
  return fits(target)
    ? accepted(target)
    : refused(`target must be ${expected} for ${type} monitors, got ${JSON.stringify(target)}`);
}

/**
 * Returns the origin to which a check of a target sends its secrets. It is scheme, host and port in canonical form, so
 * that different spellings are the same (D-69). Null for types that send no secrets, and without a target.
 */
export function originOf(type: MonitorType, target: string): string | null {
  if (type === 'http') return URL.parse(target)?.origin ?? null;
  const { host, port } = HOST_AND_PORT.exec(target)?.groups ?? {};
  if ((type !== 'tcp' && type !== 'udp') || host === undefined) return null;
  return `${type}://${canonicalIpv6(host.replaceAll(/[[\]]/g, '')) ?? host.toLowerCase()}:${Number(port)}`;
}

/**
 * Advice about a username and password in a target that may be a URL: every reader of the monitor sees targets (D-17).
 */
const CREDENTIALS: Readonly<Partial<Record<MonitorType, string>>> = {
  http: 'put them in check_spec.request.auth, where they are stored encrypted',
  vendor: 'status pages are read without credentials',
};

const FORMS = {
  http: { fits: isHttpUrl, expected: 'a URL with http or https, such as https://example.com/health,' },
  tcp: { fits: isHostAndPort, expected: 'host:port, such as example.com:5432 or [2001:db8::1]:5432,' },
  udp: { fits: isHostAndPort, expected: 'host:port, such as example.com:53 or [2001:db8::1]:53,' },
  icmp: { fits: isHost, expected: 'a host name or an address, such as example.com,' },
  dns: {
    fits: isDnsTarget,
    expected:
      'a host name or an address, such as example.com, or dns://server[:port]/name, such as ' +
      'dns://192.0.2.53/example.com,',
  },
  domain: {
    fits: (target) => isHostName(target) && target.replace(/\.$/, '').includes('.'),
    expected: 'a domain name, such as example.com,',
  },
  vendor: {
    fits: (target) => VENDOR_ID.test(target) || isHttpUrl(target),
    expected: "a vendor's id, such as github, or the URL of its status page,",
  },
  heartbeat: { fits: () => true, expected: 'empty' },
} as const satisfies Record<MonitorType, { fits: (target: string) => boolean; expected: string }>;

function isHttpUrl(target: string): boolean {
  if (!HTTP_URL.test(target) || BLANK_OR_CONTROL.test(target)) return false;
  const url = URL.parse(target);
  return url !== null && url.port !== '0' && isHost(url.hostname);
}

function hasCredentials(target: string): boolean {
  const url = URL.parse(target);
  return url !== null && (url.username !== '' || url.password !== '');
}

function isHostAndPort(target: string): boolean {
  const { host = '', port = '' } = HOST_AND_PORT.exec(target)?.groups ?? {};
  return isHost(host) && isPort(Number(port));
}

function isHost(text: string): boolean {
  return canonicalIpv4(text) !== null || isIpv6(text) || isHostName(text);
}

function isDnsTarget(target: string): boolean {
  const parts = splitDnsTarget(target);
  return (
    parts !== null &&
    isHostName(parts.name) &&
    (parts.server === null || (isHost(parts.server.host) && isPort(parts.server.port)))
  );
}

/** Accepts both forms: `[::1]` in a URL or before a port, `::1` alone. */
function isIpv6(text: string): boolean {
  return canonicalIpv6(text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text) !== null;
}

function isPort(port: number): boolean {
  return port >= 1 && port <= 65_535;
}

/**
 * Accepts a name in letters of any script. URL converts it to ASCII, and to an address if it can be parsed as one
 * (`127.1`, `0x7f.1`): that would be probed at an address that its owner cannot see, so only names that stay names are
 * accepted.
 */
function isHostName(text: string): boolean {
  if (BLANK_OR_CONTROL.test(text) || /[/?#@:\\%[\]]/.test(text)) return false;
  const ascii = URL.parse(`http://${text}/`)?.hostname ?? '';
  if (ascii === '' || DOTTED_NUMBERS.test(ascii) || ascii.length > MAX_HOST_LENGTH + 1) return false;
  return ascii
    .replace(/\.$/, '')
    .split('.')
    .every((label) => LABEL.test(label));
}
