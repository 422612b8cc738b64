import { accepted, refused, type Parsed } from '../../foreign-text.ts';
import { canonicalIpv4, canonicalIpv6 } from './target.ts';

/** Record types that a dns monitor can query (D-26). */
export const DNS_RECORD_TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'TXT', 'SOA', 'SRV', 'CAA', 'PTR'] as const;
export type DnsRecordType = (typeof DNS_RECORD_TYPES)[number];

/** Ways of comparing found records with the expected ones (D-26). */
const DNS_MODES = ['equals', 'contains', 'any', 'exists', 'absent'] as const;
export type DnsMode = (typeof DNS_MODES)[number];

const MAX_NAME_LENGTH = 253;
const LABEL = /^[^\s\p{Cc}]{1,63}$/u;
const NON_ASCII = /\P{ASCII}/u;
const UINT8 = 255;
const UINT16 = 65_535;
const UINT32 = 4_294_967_295;
// Character strings in zone file syntax (RFC 1035, section 5.1): in quotes, a backslash before a quote or a backslash.
const QUOTED_STRINGS = /^(?:"(?:[^"\\]|\\.)*"\s*)+$/s;
const QUOTED_STRING = /"((?:[^"\\]|\\.)*)"/gs;

type Form = { normalise: (text: string) => string | null; expected: string };

const NAME: Form = { normalise: (text) => fields(text, [name]), expected: 'a host name such as host.example.com' };

const FORMS = {
  A: { normalise: canonicalIpv4, expected: 'an IPv4 address such as 192.0.2.1' },
  AAAA: { normalise: canonicalIpv6, expected: 'an IPv6 address such as 2001:db8::1' },
  CNAME: NAME,
  MX: {
    normalise: (text) => fields(text, [number(UINT16), name]),
    expected: 'a preference and a host name such as 10 mail.example.com',
  },
  NS: NAME,
  TXT: { normalise: (text) => oneLine(unquote(text)), expected: 'a string' },
  SOA: {
    normalise: (text) =>
      fields(text, [name, name, ...Array.from({ length: 5 }, () => number(UINT32))], { isPrefixEnough: true }),
    expected:
      'a primary name server such as ns1.example.com, then as many of mailbox, serial, refresh, retry, expire ' +
      'and minimum as should be compared',
  },
  SRV: {
    normalise: (text) => fields(text, [number(UINT16), number(UINT16), number(UINT16), name]),
    expected: 'priority, weight, port and target such as 10 5 5060 sip.example.com',
  },
  CAA: { normalise: caa, expected: 'flags, tag and value such as 0 issue "letsencrypt.org"' },
  PTR: NAME,
} as const satisfies Record<DnsRecordType, Form>;

/**
 * Parses a record into its canonical form for comparison. Names in lower case without final dot and in ASCII, addresses
 * in canonical form, texts without quotes, single blanks. Refuses a text that is not a record of the type, naming the
 * expected form.
 */
export function parseDnsRecord(type: DnsRecordType, text: string): Parsed<string> {
  const { normalise, expected } = FORMS[type];
  const normal = normalise(text.trim());
  return normal === null ? refused(expected) : accepted(normal);
}

/** Returns a record in the canonical form for comparison; one that is invalid for its type stays as it is. */
export function normaliseDnsRecord(type: DnsRecordType, text: string): string {
  const parsed = parseDnsRecord(type, text);
  return parsed.ok ? parsed.value : text;
}

/** Reports whether a record is the expected one, both normalised. For an SOA only the expected fields are compared. */
export function isDnsRecord(type: DnsRecordType, { record, expected }: { record: string; expected: string }): boolean {
  return record === expected || (type === 'SOA' && record.startsWith(`${expected} `));
}

function fields(
  text: string,
  forms: readonly ((field: string) => string | null)[],
  { isPrefixEnough = false } = {},
): string | null {
  const given = text.split(/\s+/);
  if (given.length > forms.length || (given.length < forms.length && !isPrefixEnough)) return null;
  const normal = given.map((field, index) => forms[index]?.(field) ?? null);
  return normal.includes(null) ? null : normal.join(' ');
}

/** Hardly any character is forbidden in a name (RFC 2181, section 11), but an address in its place is a mistake. */
function name(text: string): string | null {
  if (text === '.') return text;
  const bare = text.replace(/\.$/, '');
  const ascii = NON_ASCII.test(bare) ? (URL.parse(`http://${bare}/`)?.hostname ?? '') : bare.toLowerCase();
  const isName = ascii.length <= MAX_NAME_LENGTH && ascii.split('.').every((label) => LABEL.test(label));
  return isName && canonicalIpv4(ascii) === null && canonicalIpv6(ascii) === null ? ascii : null;
}

function number(max: number): (text: string) => string | null {
  return (text) => (/^\d{1,10}$/.test(text) && Number(text) <= max ? String(Number(text)) : null);
}

function caa(text: string): string | null {
  const {
    flags = '',
    tag = '',
    value = '',
  } = /^(?<flags>\S+)\s+(?<tag>[a-z\d]+)\s+(?<value>.+)$/is.exec(text)?.groups ?? {};
  const normalFlags = number(UINT8)(flags);
  if (normalFlags === null) return null;
  // The issuer's domain name precedes the first semicolon, its parameters follow (RFC 8659, section 4.2).
  const normalValue = oneLine(unquote(value))
    .replace(/^[^;]*/, (issuer) => issuer.toLowerCase())
    .replaceAll(/ ?; ?/g, '; ')
    .trim();
  return `${normalFlags} ${tag.toLowerCase()} ${normalValue}`;
}

/**
 * Joins the strings of a record, as its readers do (RFC 7208, section 3.3). A text that is not entirely in quotes is
 * returned as it is.
 */
function unquote(text: string): string {
  if (!QUOTED_STRINGS.test(text)) return text;
  return Array.from(text.matchAll(QUOTED_STRING), ([, inner = '']) => inner.replaceAll(/\\(.)/gs, '$1')).join('');
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
