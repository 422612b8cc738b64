import type { Schemas } from '../../client/shapes.ts';
import type { AssertionDraft, Draft, MonitorType, RequestDraft, SecretText, TransportDraft } from './draft.ts';

type Input = Schemas['CheckSpecInput'];

/**
 * The `check_spec` of a draft; secrets that the service never shows are kept. Types without settings have an empty one.
 */
export function checkSpecOf(draft: Draft): Input {
  return PARTS[draft.type](draft);
}

/** Whether a `check_spec` has no settings. */
export function isEmptySpec(spec: Input): boolean {
  return Object.keys(spec).length === 0;
}

const PARTS = {
  http: ({ request, assertions }) => ({
    ...part('request', requestOf(request)),
    ...(assertions.length > 0 && { assertions: assertions.map(assertionOf) }),
  }),
  tcp: ({ transport }) => part('transport', transportOf(transport)),
  udp: ({ transport }) => part('transport', transportOf(transport)),
  icmp: ({ ping }) =>
    part(
      'ping',
      numbers({ count: ping.count, lossDegradedPct: ping.lossDegradedPct, rttDegradedMs: ping.rttDegradedMs }),
    ),
  heartbeat: ({ heartbeat }) =>
    part('heartbeat', {
      ...(heartbeat.failEnabled !== null && { failEnabled: heartbeat.failEnabled }),
      ...numbers({ maxDurationSeconds: heartbeat.maxDuration }),
      ...(heartbeat.cron.trim() !== '' && { schedule: scheduleOf(heartbeat) }),
    }),
  dns: ({ dns }) =>
    part('dns', {
      ...(dns.records.length > 0 && { records: dns.records.map(recordOf) }),
      ...(dns.crossCheck !== null && { crossCheck: dns.crossCheck }),
    }),
  // Their settings are fields of the monitor.
  domain: () => ({}),
  vendor: () => ({}),
} as const satisfies Record<MonitorType, (draft: Draft) => Input>;

/** The schedule of a draft that has one. */
export function scheduleOf({ cron, timezone, early }: Draft['heartbeat']): Schemas['HeartbeatSchedule'] {
  return { cron: cron.trim(), timezone: timezone === '' ? 'UTC' : timezone, ...numbers({ early_seconds: early }) };
}

function requestOf({ headers, auth, body, contentType, traceparent }: RequestDraft): NonNullable<Input['request']> {
  const named = headers.filter(
    ({ name, value, kind }) => kind !== 'kept' && kind !== 'removed' && (name !== '' || value !== ''),
  );
  const mapOf = (kind: 'plain' | 'secret') =>
    Object.fromEntries(named.filter((header) => header.kind === kind).map(({ name, value }) => [name.trim(), value]));
  const removed = headers.flatMap(({ name, kind }) => (kind === 'removed' ? [name] : []));
  const plain = mapOf('plain');
  const secret = mapOf('secret');
  return {
    ...part('headers', plain),
    ...part('secretHeaders', secret),
    ...(headers.some(({ kind }) => kind === 'kept') && {
      preserveSecretHeaders: true,
      ...(removed.length > 0 && { removeSecretHeaders: removed }),
    }),
    ...(auth.type !== '' && { auth: { type: auth.type, ...(!auth.isKept && CREDENTIALS[auth.type](auth)) } }),
    ...secretOf(body, { value: 'body', secret: 'bodySecret', preserve: 'preserveBody' }),
    ...(contentType !== '' && { contentType }),
    ...(traceparent && { traceparent }),
  };
}

const CREDENTIALS = {
  bearer: ({ token }: RequestDraft['auth']) => ({ token }),
  basic: ({ username, password }: RequestDraft['auth']) => ({ username, password }),
} as const;

function transportOf({ payload, encoding, expect, expectMode }: TransportDraft): NonNullable<Input['transport']> {
  return {
    ...secretOf(payload, { value: 'payload', secret: 'payloadSecret', preserve: 'preservePayload' }),
    ...(encoding !== '' && { payloadEncoding: encoding }),
    ...(expect !== '' && { expect }),
    ...(expectMode !== '' && { expectMode }),
  };
}

function secretOf(
  { kind, text }: SecretText,
  keys: { value: string; secret: string; preserve: string },
): Record<string, string | boolean> {
  if (kind === 'none') return {};
  if (kind === 'kept') return { [keys.secret]: true, [keys.preserve]: true };
  return { [keys.value]: text, ...(kind === 'secret' && { [keys.secret]: true }) };
}

function assertionOf({ source, op, value, path, name }: AssertionDraft): NonNullable<Input['assertions']>[number] {
  return {
    source,
    // The form offers the operators of the description, which types them as any string in responses.
    op: op as NonNullable<Input['assertions']>[number]['op'],
    ...(op !== 'exists' && { value }),
    ...(source === 'json_body' && { path }),
    ...(source === 'header' && { name }),
  };
}

function recordOf({
  type,
  mode,
  expected,
}: Draft['dns']['records'][number]): NonNullable<NonNullable<Input['dns']>['records']>[number] {
  const values = expected.filter((value) => value !== '');
  return { type, mode, ...(mode !== 'exists' && mode !== 'absent' && { expected: values }) };
}

function part<K extends string, V extends object>(key: K, value: V): { [Key in K]?: V } {
  return Object.keys(value).length > 0 ? ({ [key]: value } as { [Key in K]: V }) : {};
}

function numbers<K extends string>(texts: Record<K, string>): { [Key in K]?: number } {
  const filled = Object.entries<string>(texts).filter(([, text]) => text.trim() !== '');
  return Object.fromEntries(filled.map(([key, text]) => [key, numberOf(text)])) as { [Key in K]?: number };
}

/** Parses a number. Any other text is sent as it is, despite the type, so that the API explains what it expects. */
export function numberOf(text: string): number {
  const number = Number(text);
  return Number.isFinite(number) ? number : (text as unknown as number);
}
