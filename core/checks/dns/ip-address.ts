const DOTTED_NUMBERS = /^\d+\.\d+\.\d+\.\d+$/;

/**
 * The address itself where a text is an IPv4 address of four decimal numbers without leading zeros; null for anything
 * else, short and octal forms included.
 */
export function canonicalIpv4(text: string): string | null {
  return DOTTED_NUMBERS.test(text) && URL.parse(`http://${text}/`)?.hostname === text ? text : null;
}

/**
 * The usual form (RFC 5952) of an IPv6 address in any form, without brackets; null for anything else, zone ids
 * included.
 */
export function canonicalIpv6(text: string): string | null {
  if (!text.includes(':') || /[[\]]/.test(text)) return null;
  return URL.parse(`http://[${text}]/`)?.hostname.slice(1, -1) ?? null;
}
