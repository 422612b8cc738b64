import type { DnsMode, DnsRecordType } from '../../../core/checks/dns/records.ts';
import { OPS_BY_SOURCE, type AssertionOp } from '../../../core/checks/http/assertions.ts';
import type { AssertionSource, MonitorType } from '../../../core/monitors/monitor.ts';
import type { Draft } from './draft.ts';

/** The label and use of each type, and how its target is written; null if it has none. */
export const TYPES = {
  http: {
    label: 'Web page or API',
    use: 'Checks a URL’s status, content, speed and certificate.',
    target: {
      label: 'URL',
      placeholder: 'https://example.com/health',
      hint: 'Include https:// or http://.',
    },
  },
  tcp: {
    label: 'TCP port',
    use: 'Checks that a port accepts connections: databases, mail and more.',
    target: {
      label: 'Host and port',
      placeholder: 'db.example.com:5432',
      hint: 'An IPv6 address goes in brackets: [2001:db8::1]:5432.',
    },
  },
  icmp: {
    label: 'Ping',
    use: 'ICMP ping: reachability and round-trip time.',
    target: { label: 'Host', placeholder: 'router.example.com', hint: 'A host name or IP address.' },
  },
  udp: {
    label: 'UDP service',
    use: 'Sends a datagram and waits for a reply.',
    target: {
      label: 'Host and port',
      placeholder: 'time.example.com:123',
      hint: 'An IPv6 address goes in brackets: [2001:db8::1]:123.',
    },
  },
  dns: {
    label: 'DNS records',
    use: 'Compares DNS records with expected values.',
    target: {
      label: 'Name to look up',
      placeholder: 'example.com',
      hint: 'To query one server: dns://192.0.2.53/example.com.',
    },
  },
  domain: {
    label: 'Domain expiry',
    use: 'Warns before a domain registration expires.',
    target: { label: 'Domain', placeholder: 'example.com', hint: 'The registered domain or any subdomain.' },
  },
  heartbeat: {
    label: 'Cron job or heartbeat',
    use: 'Alerts you when a job fails or doesn’t run.',
    target: null,
  },
  vendor: {
    label: 'Vendor status',
    use: 'Follows the status page of a service you depend on.',
    target: { label: 'Vendor', placeholder: 'github', hint: 'A known vendor or a status page URL.' },
  },
} as const satisfies Record<
  MonitorType,
  { label: string; use: string; target: { label: string; placeholder: string; hint: string } | null }
>;

/** The order in which types are offered: the most common ones first. */
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

/**
 * The subjects of assertions, with the unit of measured ones and the usual comparison. A failed measured assertion
 * degrades a monitor, the others take it down.
 */
export const SOURCES = {
  text_body: { label: 'Body text', unit: null, usualOp: 'contains' },
  json_body: { label: 'JSON value', unit: null, usualOp: 'equals' },
  header: { label: 'Header', unit: null, usualOp: 'equals' },
  response_time: { label: 'Response time', unit: 'ms', usualOp: 'lt' },
  cert_expiry: { label: 'Certificate expires in', unit: 'days', usualOp: 'gt' },
} as const satisfies Record<AssertionSource, { label: string; unit: string | null; usualOp: AssertionOp }>;

/** Labels of comparisons, in the order in which they are offered. */
export const OP_WORDS = {
  equals: 'is',
  not_equals: 'is not',
  contains: 'contains',
  not_contains: 'doesn’t contain',
  matches: 'matches regex (RE2)',
  gt: 'is greater than',
  lt: 'is less than',
  exists: 'exists',
} as const satisfies Record<AssertionOp, string>;

/** Returns the comparisons of a subject, the usual one first. */
export function opsOf(source: AssertionSource): readonly AssertionOp[] {
  const { usualOp } = SOURCES[source];
  const known: readonly AssertionOp[] = OPS_BY_SOURCE[source];
  return [usualOp, ...OP_ORDER.filter((op) => op !== usualOp && known.includes(op))];
}

const OP_ORDER = Object.keys(OP_WORDS) as (keyof typeof OP_WORDS)[];

/** An example record of each type. */
export const RECORDS: Readonly<Record<DnsRecordType, string>> = {
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

export const MODE_WORDS: Readonly<Record<DnsMode, string>> = {
  equals: 'equal',
  contains: 'include all of',
  any: 'include any of',
  exists: 'exist',
  absent: 'don’t exist',
};

/** Everyday names of the parts of a draft. */
export const FIELD_LABELS: Readonly<Record<keyof Draft, string>> = {
  type: 'type',
  name: 'name',
  target: 'target',
  interval: 'interval',
  timeout: 'timeout',
  method: 'method',
  expectedStatus: 'expected status',
  bodyMatch: 'body text',
  followRedirects: 'redirects',
  failures: 'failures before alerting',
  successes: 'successes before recovery',
  quorum: 'locations to confirm',
  sources: 'locations',
  slaTarget: 'uptime target',
  sla: 'service hours',
  reopen: 'reopening',
  monthlyDrill: 'monthly drill',
  tags: 'tags',
  grace: 'grace period',
  warnDays: 'expiry warning',
  components: 'components',
  dependencies: 'vendor dependencies',
  parents: 'parent monitors',
  request: 'request',
  assertions: 'assertions',
  transport: 'payload and response',
  ping: 'ping thresholds',
  heartbeat: 'job options',
  dns: 'DNS records',
  channels: 'alert channels',
};
