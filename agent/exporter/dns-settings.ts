import { readAddressChoice, type AddressChoice, type Fields, type Pattern } from './fields.ts';
import { readTlsSettings, type ReadFile, type TlsSettings } from './tls-settings.ts';

/** Patterns that the records of one section must or must not match. */
export type RecordRules = {
  failIfMatches: readonly Pattern[];
  failIfAllMatch: readonly Pattern[];
  failIfNotMatches: readonly Pattern[];
  failIfNoneMatches: readonly Pattern[];
};

export type DnsSettings = AddressChoice & {
  /** Without the final dot. */
  queryName: string;
  queryType: number;
  queryClass: number;
  wantsRecursion: boolean;
  validRcodes: readonly number[];
  transport: 'udp' | 'tcp';
  isSecure: boolean;
  tls: TlsSettings;
  answer: RecordRules;
  authority: RecordRules;
  additional: RecordRules;
};

/** Response codes by number (RFC 1035, RFC 2136). */
const RCODES = `NOERROR FORMERR SERVFAIL NXDOMAIN NOTIMP REFUSED YXDOMAIN YXRRSET NXRRSET NOTAUTH NOTZONE`.split(' ');

/** Record types that can be queried (IANA, DNS parameters). */
export const RECORD_TYPES: Readonly<Record<string, number>> = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  HINFO: 13,
  MX: 15,
  TXT: 16,
  RP: 17,
  AFSDB: 18,
  AAAA: 28,
  LOC: 29,
  SRV: 33,
  NAPTR: 35,
  CERT: 37,
  DNAME: 39,
  DS: 43,
  SSHFP: 44,
  RRSIG: 46,
  NSEC: 47,
  DNSKEY: 48,
  NSEC3: 50,
  NSEC3PARAM: 51,
  TLSA: 52,
  CDS: 59,
  CDNSKEY: 60,
  SVCB: 64,
  HTTPS: 65,
  SPF: 99,
  ANY: 255,
  CAA: 257,
};

const CLASSES: Readonly<Record<string, number>> = { IN: 1, CH: 3, CHAOS: 3, HS: 4, HESIOD: 4, ANY: 255 };

/** Labels of 1 to 63 bytes, at most 253 together; `.` is the root. */
const NAME = /^(?:\.|(?:[^.]{1,63}\.)*[^.]{1,63}\.?)$/;
const MAX_NAME_BYTES = 254;

/** Reads the `dns` of a module. */
export function readDnsSettings(fields: Fields, readFile: ReadFile): DnsSettings {
  const name = fields.text('query_name') ?? '';
  if (!NAME.test(name) || Buffer.byteLength(name) > MAX_NAME_BYTES)
    fields.problem('query_name', 'must be a domain name');
  const isSecure = fields.flag('dns_over_tls', false);
  const transport = fields.choice('transport_protocol', ['udp', 'tcp']) ?? 'udp';
  if (isSecure && transport !== 'tcp') fields.problem('transport_protocol', 'must be tcp where dns_over_tls is set');
  const rcodes = fields.texts('valid_rcodes');
  if (!rcodes.every((rcode) => RCODES.includes(rcode)))
    fields.problem('valid_rcodes', `must be a list of ${RCODES.join(', ')}`);
  const settings: DnsSettings = {
    ...readAddressChoice(fields),
    queryName: name.replace(/\.$/, ''),
    queryType: numberOf(fields, 'query_type', { numbers: RECORD_TYPES, fallback: 'ANY' }),
    queryClass: numberOf(fields, 'query_class', { numbers: CLASSES, fallback: 'IN' }),
    wantsRecursion: fields.flag('recursion_desired', true),
    validRcodes: rcodes.length === 0 ? [0] : rcodes.map((rcode) => RCODES.indexOf(rcode)),
    transport,
    isSecure,
    tls: readTlsSettings(fields.child('tls_config'), readFile),
    answer: readRules(fields.child('validate_answer_rrs')),
    authority: readRules(fields.child('validate_authority_rrs')),
    additional: readRules(fields.child('validate_additional_rrs')),
  };
  fields.end();
  return settings;
}

function numberOf(
  fields: Fields,
  name: string,
  { numbers, fallback }: { numbers: Readonly<Record<string, number>>; fallback: string },
): number {
  const chosen = fields.choice(name, Object.keys(numbers)) ?? fallback;
  return numbers[chosen] ?? 0;
}

function readRules(fields: Fields): RecordRules {
  const rules = {
    failIfMatches: fields.patterns('fail_if_matches_regexp'),
    failIfAllMatch: fields.patterns('fail_if_all_match_regexp'),
    failIfNotMatches: fields.patterns('fail_if_not_matches_regexp'),
    failIfNoneMatches: fields.patterns('fail_if_none_matches_regexp'),
  };
  fields.end();
  return rules;
}
