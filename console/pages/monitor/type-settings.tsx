import type { ComponentChildren } from 'preact';
import type { Schemas } from '../../client/api.ts';
import { count, joinWords } from '../../parts/figures.ts';
import { Code } from '../../parts/object-page.tsx';
import { Badge } from '../../parts/status.tsx';
import { formatDateTime, formatDuration } from '../../parts/time.tsx';

type Detail = Schemas['MonitorDetail'];
/** A setting with its label. */
export type Setting = [label: string, value: ComponentChildren];

const SECRET = <Badge>secret</Badge>;

/** Lists the settings of an http monitor. */
export function httpSettings({
  method,
  expected_status: expected,
  body_match: match,
  follow_redirects: follows,
  check_spec: { request, assertions, domain },
}: Detail): Setting[] {
  const {
    headers = {},
    secretHeaderNames: secretNames = [],
    auth,
    body,
    bodySecret = false,
    contentType,
    traceparent = false,
  } = request ?? {};
  const isSending = body !== undefined || bodySecret;
  return [
    ['Request', `${method ?? 'GET'}, ${follows === 1 ? 'follows redirects' : 'does not follow redirects'}`],
    ...listed(
      'Headers',
      Object.entries(headers).map(([name, value]) => <Code key={name}>{`${name}: ${value}`}</Code>),
    ),
    ...listed(
      'Secret headers',
      secretNames.map((name) => <Secret key={name} name={name} />),
    ),
    ...(auth === undefined
      ? []
      : [['Authentication', <Secret key="auth" name={auth.type === 'basic' ? 'basic' : 'bearer token'} />] as Setting]),
    ...(isSending ? [['Body', bodySecret ? SECRET : <Long key="body" text={body ?? ''} />] as Setting] : []),
    ...(contentType === undefined ? [] : [['Content type', contentType] as Setting]),
    ...(traceparent ? [['Trace', 'sends a traceparent'] as Setting] : []),
    ['Expected status', expected ?? '2xx'],
    ...(match === null ? [] : [['Body contains', <Code key="match">{match}</Code>] as Setting]),
    ...listed(
      'Assertions',
      (assertions ?? []).map((assertion) => (
        <span key={JSON.stringify(assertion)}>{describeAssertion(assertion)}</span>
      )),
    ),
    ...(domain?.warnDays === undefined
      ? []
      : [['Expiry alert', `${count(domain.warnDays, 'day')} before domain or certificate expires`] as Setting]),
  ];
}

/** Lists the settings of a tcp or udp monitor. */
export function transportSettings({ type, check_spec: { transport } }: Detail): Setting[] {
  const {
    payload,
    payloadEncoding: encoding,
    payloadSecret: isSecret = false,
    expect,
    expectMode: mode,
  } = transport ?? {};
  const hasPayload = isSecret || (payload !== undefined && payload !== '');
  return [
    [
      'Payload',
      hasPayload ? (
        isSecret ? (
          SECRET
        ) : (
          <Code>{`${payload}${encoding === 'hex' ? ' (hex)' : ''}`}</Code>
        )
      ) : type === 'tcp' ? (
        'None, connect only'
      ) : (
        'Empty datagram'
      ),
    ],
    [
      'Expected response',
      expect === undefined || expect === '' ? (
        type === 'tcp' ? (
          'A connection'
        ) : (
          'Any reply'
        )
      ) : (
        <Code>{`${mode === 'regex' ? 'matching ' : ''}${expect}`}</Code>
      ),
    ],
  ];
}

/** Lists the settings of an icmp monitor. */
export function pingSettings({ check_spec: { ping } }: Detail): Setting[] {
  const { count: echoes = 4, lossDegradedPct: loss, rttDegradedMs: slow } = ping ?? {};
  const limits = [
    loss === undefined ? '' : `packet loss is above ${loss}%`,
    slow === undefined ? '' : `average round trip is above ${slow} ms`,
  ].filter((part) => part !== '');
  return [
    ['Pings per check', String(echoes)],
    ...(limits.length === 0 ? [] : [['Degraded when', limits.join(' or ')] as Setting]),
  ];
}

const DNS_MODES: Readonly<Record<string, string>> = {
  equals: 'equals',
  contains: 'contains all of',
  any: 'contains one of',
  exists: 'exists',
  absent: 'does not exist',
};

/** Lists the settings of a dns monitor. */
export function dnsSettings({ check_spec: { dns } }: Detail): Setting[] {
  const records = (dns?.records ?? []).map(({ type, mode, expected = [] }) => (
    <span key={`${type}${mode}`}>
      {type} {DNS_MODES[mode] ?? mode} {expected.length > 0 && <Code>{expected.join(', ')}</Code>}
    </span>
  ));
  return [
    ...(records.length === 0 ? [['Records', 'Any IPv4 or IPv6 address'] as Setting] : listed('Records', records)),
    ['Resolvers', dns?.crossCheck === true ? 'At least three, must agree' : 'One'],
  ];
}

/** Lists the settings of a domain monitor. */
export function domainSettings({ check_spec: { domain } }: Detail): Setting[] {
  return [['Expiry alert', `${count(domain?.warnDays ?? 30, 'day')} before it expires`]];
}

/** Formats a moment in its zone and in UTC: `2026-11-28 02:00 Europe/Berlin (2026-11-28 01:00 UTC)`. */
export function formatZoned({ utc, local, timezone }: Schemas['ZonedMoment']): string {
  const minutes = (text: string) => text.slice(0, 16).replace('T', ' ');
  return timezone === 'UTC'
    ? `${minutes(utc)} UTC`
    : `${minutes(local)} ${timezone.replaceAll('_', ' ')} (${minutes(utc)} UTC)`;
}

/** Lists the settings of a heartbeat monitor. */
export function heartbeatSettings({
  heartbeat_grace_seconds: grace,
  next_expected: next = null,
  check_spec: { heartbeat },
}: Detail): Setting[] {
  const { failEnabled = true, maxDurationSeconds: longest, schedule, slug } = heartbeat ?? {};
  return [
    ...(schedule?.early_seconds === undefined
      ? []
      : [['Early pings', `Accepted ${formatDuration(schedule.early_seconds)} before a run`] as Setting]),
    ['Next ping expected', next === null ? 'No time' : schedule ? formatZoned(next) : formatDateTime(next.at)],
    ...(slug === undefined ? [] : [['Slug', slug] as Setting]),
    ['Grace period', formatDuration(grace ?? 0)],
    ['Max run time', longest === undefined ? 'None' : formatDuration(longest)],
    ['Failure signals', failEnabled ? 'Alert on /fail or non-zero exit' : 'Ignored'],
  ];
}

/** Lists the settings of a vendor monitor. */
export function vendorSettings({ check_spec: { vendor } }: Detail): Setting[] {
  const components = vendor?.components ?? [];
  return [['Components', components.length === 0 ? 'All' : joinWords(components)]];
}

const ASSERTED: Readonly<Record<string, string>> = {
  text_body: 'Text body',
  json_body: 'JSON body',
  header: 'Header',
  response_time: 'Response time (ms)',
  cert_expiry: 'Certificate expires in (days)',
};
const OPERATORS: Readonly<Record<string, string>> = {
  contains: 'contains',
  not_contains: 'does not contain',
  matches: 'matches',
  exists: 'exists',
  equals: 'equals',
  not_equals: 'does not equal',
  gt: 'is greater than',
  lt: 'is less than',
};

function describeAssertion({ source, op, value, path, name }: Schemas['Assertion']): ComponentChildren {
  const of = path ?? name;
  return (
    <>
      {ASSERTED[source] ?? source} {of !== undefined && <Code>{of}</Code>} {OPERATORS[op] ?? op}{' '}
      {value !== undefined && <Code>{value}</Code>}
    </>
  );
}

function listed(label: string, items: readonly ComponentChildren[]): Setting[] {
  return items.length === 0
    ? []
    : [
        [
          label,
          <ul key={label} class="grid gap-1">
            {items.map((item, index) => (
              <li key={index}>{item}</li>
            ))}
          </ul>,
        ],
      ];
}

function Secret({ name }: { name: string }) {
  return (
    <span>
      <Code>{name}</Code> {SECRET}
    </span>
  );
}

function Long({ text }: { text: string }) {
  return (
    <pre
      class="max-h-40 overflow-auto whitespace-pre-wrap break-all font-mono text-[0.8125rem]"
      tabIndex={0}
      role="group"
      aria-label="Body"
    >
      {text}
    </pre>
  );
}
