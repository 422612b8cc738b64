/**
 * Server and name that a dns monitor queries. `server` null = the system's resolvers; its host is a name or an address
 * without brackets.
 */
export type DnsTarget = { server: { host: string; port: number } | null; name: string };

const DNS_PORT = 53;
const WITH_SERVER = /^dns:\/\/(?<host>\[[^\]]*:[^\]]*\]|[^/:?#@[\]]+)(?::(?<port>\d{1,5}))?\/(?<name>[^/]+)$/i;
const IPV6_GROUPS = 8;

/**
 * Splits a target: a name, or `dns://server[:port]/name` (RFC 4501). An address instead of the name means its reverse
 * name. Null for a `dns:` URL of another form; does not check whether names and hosts are valid.
 */
export function splitDnsTarget(target: string): DnsTarget | null {
  if (!/^dns:/i.test(target)) return { server: null, name: nameOf(target) };
  const { host, port, name } = WITH_SERVER.exec(target)?.groups ?? {};
  if (host === undefined || name === undefined) return null;
  return {
    server: { host: host.replaceAll(/[[\]]/g, ''), port: port === undefined ? DNS_PORT : Number(port) },
    name: nameOf(name),
  };
}

/** Reports whether a name is below in-addr.arpa or ip6.arpa, where PTR records map addresses to names. */
export function isReverseName(name: string): boolean {
  return /\.(?:in-addr|ip6)\.arpa\.?$/i.test(name);
}

function nameOf(text: string): string {
  const ipv4 = canonicalIpv4(text);
  if (ipv4 !== null) return `${ipv4.split('.').toReversed().join('.')}.in-addr.arpa`;
  const ipv6 = canonicalIpv6(text);
  return ipv6 === null ? text : `${nibbles(ipv6).toReversed().join('.')}.ip6.arpa`;
}

/** Returns the 32 hexadecimal digits of an address in canonical form. */
function nibbles(ipv6: string): string[] {
  const [head = [], tail = []] = ipv6.split('::').map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: IPV6_GROUPS - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].flatMap((group) => Array.from(group.padStart(4, '0')));
}

const DOTTED_NUMBERS = /^\d+\.\d+\.\d+\.\d+$/;

/**
 * Returns a text that is an IPv4 address of four decimal numbers without leading zeros. Null for anything else,
 * including short and octal forms.
 */
export function canonicalIpv4(text: string): string | null {
  return DOTTED_NUMBERS.test(text) && URL.parse(`http://${text}/`)?.hostname === text ? text : null;
}

/**
 * Returns the canonical form (RFC 5952) of an IPv6 address in any form, without brackets; null for anything else,
 * including zone ids.
 */
export function canonicalIpv6(text: string): string | null {
  if (!text.includes(':') || /[[\]]/.test(text)) return null;
  return URL.parse(`http://[${text}]/`)?.hostname.slice(1, -1) ?? null;
}
