import type { components } from '../../api/schema.generated.ts';
import type { MonitorType } from './monitor-draft.ts';

type Schemas = components['schemas'];
type Source = Schemas['AssertionSource'];
type Op = Schemas['AssertionInput']['op'];
type RecordType = Schemas['DnsRecord']['type'];
type Mode = Schemas['DnsRecord']['mode'];

/** What a type is called, what it is for, and how its target is written; null where it has none. */
export const TYPES = {
  http: {
    label: 'Web page or API',
    use: 'Asks a URL and judges status, content, speed and certificate.',
    target: {
      label: 'URL',
      placeholder: 'https://example.com/health',
      hint: 'With http or https, as a browser would open it.',
    },
  },
  tcp: {
    label: 'TCP port',
    use: 'Connects to a port: databases, mail, anything that listens.',
    target: {
      label: 'Host and port',
      placeholder: 'db.example.com:5432',
      hint: 'An IPv6 address goes in brackets: [2001:db8::1]:5432.',
    },
  },
  icmp: {
    label: 'Ping',
    use: 'Sends echo requests to a host: is it there, and how far is it?',
    target: { label: 'Host', placeholder: 'router.example.com', hint: 'A name or an address.' },
  },
  udp: {
    label: 'UDP service',
    use: 'Sends a datagram and waits for its reply.',
    target: {
      label: 'Host and port',
      placeholder: 'time.example.com:123',
      hint: 'An IPv6 address goes in brackets: [2001:db8::1]:123.',
    },
  },
  dns: {
    label: 'DNS records',
    use: 'Compares the records of a name with those you expect.',
    target: {
      label: 'Name to look up',
      placeholder: 'example.com',
      hint: 'To ask one server: dns://192.0.2.53/example.com.',
    },
  },
  domain: {
    label: 'Domain expiry',
    use: 'Warns before a domain registration runs out.',
    target: { label: 'Domain', placeholder: 'example.com', hint: 'The domain as it is registered, or a name in it.' },
  },
  heartbeat: {
    label: 'Job or cron',
    use: 'Your job calls us; you are notified when it fails or does not run.',
    target: null,
  },
  vendor: {
    label: 'Vendor status',
    use: 'Follows the status page of a service you depend on.',
    target: { label: 'Vendor', placeholder: 'github', hint: 'A known vendor, or the URL of its status page.' },
  },
} as const satisfies Record<
  MonitorType,
  { label: string; use: string; target: { label: string; placeholder: string; hint: string } | null }
>;

/** The order in which types are offered: what is wanted most comes first. */
export const TYPE_ORDER = [
  'http',
  'tcp',
  'icmp',
  'heartbeat',
  'dns',
  'domain',
  'vendor',
  'udp',
] as const satisfies readonly MonitorType[];

/** What an assertion can look at; `unit` of those that measure. What measures degrades, the others take down. */
export const SOURCES = {
  text_body: { label: 'Body text', unit: null },
  json_body: { label: 'JSON value', unit: null },
  header: { label: 'Header', unit: null },
  response_time: { label: 'Response time', unit: 'ms' },
  cert_expiry: { label: 'Certificate ends in', unit: 'days' },
} as const satisfies Record<Source, { label: string; unit: string | null }>;

const OF_FIELDS = ['equals', 'not_equals', 'contains', 'matches', 'gt', 'lt', 'exists'] as const;

/** The operations of each. */
export const OPS = {
  text_body: ['contains', 'not_contains', 'matches'],
  json_body: OF_FIELDS,
  header: OF_FIELDS,
  response_time: ['lt', 'gt'],
  cert_expiry: ['gt', 'lt'],
} as const satisfies Record<Source, readonly Op[]>;

export const OP_WORDS: Readonly<Record<Op, string>> = {
  contains: 'contains',
  not_contains: 'does not contain',
  matches: 'matches (RE2)',
  exists: 'is there',
  equals: 'is',
  not_equals: 'is not',
  gt: 'is more than',
  lt: 'is less than',
};

/** What a record of a type looks like. */
export const RECORDS: Readonly<Record<RecordType, string>> = {
  A: '192.0.2.1',
  AAAA: '2001:db8::1',
  CNAME: 'host.example.com',
  MX: '10 mail.example.com',
  NS: 'ns1.example.com',
  TXT: 'v=spf1 -all',
  SOA: 'ns1.example.com',
  SRV: '10 5 5060 sip.example.com',
  CAA: '0 issue "letsencrypt.org"',
  PTR: 'host.example.com',
};

export const MODE_WORDS: Readonly<Record<Mode, string>> = {
  equals: 'are exactly',
  contains: 'include all of',
  any: 'include one of',
  exists: 'exist',
  absent: 'do not exist',
};
