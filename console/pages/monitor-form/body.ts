import { sortParents } from '../../../core/monitors/dependencies.ts';
import { isAgentChecked, sortTags, splitTags } from '../../../core/monitors/monitor.ts';
import type { Schemas } from '../../client/api.ts';
import { isSame } from '../../client/concurrent-edits.ts';
import { SECRET_PLACEHOLDER, type ApiRequest } from '../../client/curl.ts';
import type { AssertionDraft, Draft, MonitorType, RequestDraft, SecretText, TransportDraft } from './draft.ts';
import { defaultsOf, type Surroundings } from './problems.ts';

/** The fields of a monitor outside `check_spec`; undefined ones are not sent. */
type Fields = Omit<Schemas['MonitorPatch'], 'check_spec' | 'type'>;

/** Returns the body that creates a monitor; empty fields are left to the service. */
export function createBody(draft: Draft): Schemas['MonitorCreate'] {
  const spec = checkSpecOf(draft);
  const { name = '', ...fields } = fieldsOf(draft);
  return { type: draft.type, name, ...withoutUndefined(fields), ...(!isEmptySpec(spec) && { check_spec: spec }) };
}

/**
 * Returns the body that changes the monitor `original` into the draft. Unchanged fields are left out, so that another
 * user's change is not undone and an old value is not judged by a new plan. `check_spec` is sent whole, because an http
 * monitor would lose its settings without it.
 */
export function patchBody(
  draft: Draft,
  { original, surroundings }: { original: Draft; surroundings: Surroundings },
): Schemas['MonitorPatch'] {
  const before = new Map(Object.entries(effective(original, surroundings)));
  const changed = Object.entries(effective(draft, surroundings)).filter(
    ([key, value]) => !isSame(value, before.get(key)),
  );
  const spec = checkSpecOf(draft);
  const sendsSpec = draft.type === 'http' || !isSame(spec, checkSpecOf(original));
  return {
    ...Object.fromEntries(changed),
    // An absent quorum becomes the default, as does an empty field.
    ...(isAgentChecked(draft.type) && draft.quorum.trim() !== '' && { down_min_sources: numberOf(draft.quorum) }),
    ...(sendsSpec && { check_spec: withCleared(spec, draft.type) }),
  };
}

/** Returns the request that saves the draft, without its secrets. */
export function requestOf(
  draft: Draft,
  {
    original,
    surroundings,
    monitor,
  }: { original: Draft; surroundings: Surroundings; monitor: Schemas['MonitorDetail'] | null },
): ApiRequest {
  const { request, transport } = draft;
  const hide = (secret: string) => (secret === '' ? '' : SECRET_PLACEHOLDER);
  const hideSecret = (value: SecretText) => (value.kind === 'secret' ? { ...value, text: hide(value.text) } : value);
  const { auth } = request;
  const shown: Draft = {
    ...draft,
    request: {
      ...request,
      headers: request.headers.map((header) =>
        header.kind === 'secret' ? { ...header, value: hide(header.value) } : header,
      ),
      auth: { ...auth, token: hide(auth.token), password: hide(auth.password) },
      body: hideSecret(request.body),
    },
    transport: { ...transport, payload: hideSecret(transport.payload) },
  };
  return monitor === null
    ? { method: 'POST', path: '/monitors', body: createBody(shown) }
    : { method: 'PATCH', path: `/monitors/${monitor.id}`, body: patchBody(shown, { original, surroundings }) };
}

/** Replaces an empty `check_spec` by one that clears the settings, since the API keeps settings that are left out. */
function withCleared(spec: Schemas['CheckSpecInput'], type: MonitorType): Schemas['CheckSpecInput'] {
  const cleared = {
    tcp: { transport: {} },
    udp: { transport: {} },
    icmp: { ping: {} },
    heartbeat: { heartbeat: {} },
    dns: { dns: {} },
    http: {},
    domain: {},
    vendor: {},
  } as const satisfies Record<MonitorType, object>;
  return isEmptySpec(spec) ? cleared[type] : spec;
}

/** Returns the fields that apply to the type, as they were filled in. */
function fieldsOf(draft: Draft): Fields {
  const { type } = draft;
  return {
    name: draft.name.trim(),
    interval_seconds: filledNumber(draft.interval),
    sla_target: filledNumber(draft.slaTarget),
    sla: slaOf(draft),
    reopen_seconds: filledNumber(draft.reopen),
    monthly_drill: draft.monthlyDrill ? true : undefined,
    tags: draft.tags.trim() === '' ? undefined : sortTags(splitTags(draft.tags)),
    ...(type !== 'heartbeat' && { target: filledText(draft.target) }),
    ...(type !== 'vendor' && { dependencies: draft.dependencies.length > 0 ? [...draft.dependencies] : undefined }),
    depends_on: draft.parents.length > 0 ? sortParents(draft.parents) : undefined,
    ...(type !== 'heartbeat' && {
      timeout_ms: filledNumber(draft.timeout),
      down_after_failures: filledNumber(draft.failures),
      up_after_successes: filledNumber(draft.successes),
    }),
    ...(isAgentChecked(type) && {
      down_min_sources: filledNumber(draft.quorum),
      agent_sources: draft.sources.length > 0 ? draft.sources.toSorted() : undefined,
    }),
    ...(type === 'http' && {
      method: filledText(draft.method),
      expected_status: filledText(draft.expectedStatus),
      body_match: draft.bodyMatch === '' ? undefined : draft.bodyMatch,
      follow_redirects: draft.followRedirects ? undefined : false,
    }),
    ...((type === 'http' || type === 'domain') && { warn_days: filledNumber(draft.warnDays) }),
    ...(type === 'heartbeat' && { grace_seconds: filledNumber(draft.grace) }),
    ...(type === 'vendor' && {
      components: draft.components.length > 0 ? draft.components.filter((name) => name.trim() !== '') : undefined,
    }),
  };
}

/** Returns the SLA of a draft; undefined without a target and hours. */
function slaOf({ sla: { target, hours, timezone, excludesMaintenance } }: Draft): Fields['sla'] {
  if (target.trim() === '' && hours.trim() === '') return undefined;
  return {
    target: numberOf(target),
    timezone: timezone === '' ? 'UTC' : timezone,
    hours: hours.trim(),
    exclude_maintenance: excludesMaintenance,
  };
}

/**
 * Returns the fields that apply to the type, with the service's defaults for empty ones. The quorum has a separate
 * rule.
 */
function effective(draft: Draft, surroundings: Surroundings): Fields {
  const defaults = defaultsOf(draft, surroundings);
  const standard: Fields = {
    target: '',
    interval_seconds: defaults.interval,
    timeout_ms: defaults.timeout,
    down_after_failures: defaults.failures,
    up_after_successes: defaults.successes,
    method: defaults.method,
    expected_status: defaults.expectedStatus,
    body_match: null,
    follow_redirects: true,
    sla_target: null,
    sla: null,
    reopen_seconds: 0,
    monthly_drill: false,
    tags: [],
    grace_seconds: defaults.grace ?? undefined,
    agent_sources: [],
    warn_days: defaults.warnDays,
    components: [],
    dependencies: [],
    depends_on: [],
  };
  const { down_min_sources: _quorum, ...fields } = fieldsOf(draft);
  const filled = new Map(Object.entries(standard));
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, value ?? filled.get(key)]));
}

function filledNumber(written: string): number | undefined {
  return written.trim() === '' ? undefined : numberOf(written);
}

function filledText(written: string): string | undefined {
  return written.trim() === '' ? undefined : written.trim();
}

function withoutUndefined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

type Input = Schemas['CheckSpecInput'];

/**
 * Returns the `check_spec` of a draft; secrets that the service never shows are kept. Types without settings have an
 * empty one.
 */
function checkSpecOf(draft: Draft): Input {
  return PARTS[draft.type](draft);
}

/** Reports whether a `check_spec` has no settings. */
function isEmptySpec(spec: Input): boolean {
  return Object.keys(spec).length === 0;
}

const PARTS = {
  http: ({ request, assertions }) => ({
    ...part('request', requestSpecOf(request)),
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
  // Settings of these types are fields of the monitor.
  domain: () => ({}),
  vendor: () => ({}),
} as const satisfies Record<MonitorType, (draft: Draft) => Input>;

/** Returns the schedule of a draft that has one. */
export function scheduleOf({ cron, timezone, early }: Draft['heartbeat']): Schemas['HeartbeatSchedule'] {
  return { cron: cron.trim(), timezone: timezone === '' ? 'UTC' : timezone, ...numbers({ early_seconds: early }) };
}

function requestSpecOf({ headers, auth, body, contentType, traceparent }: RequestDraft): NonNullable<Input['request']> {
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
    // The form offers the operators of the API description, which types them as any string in responses.
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
function numberOf(text: string): number {
  const number = Number(text);
  return Number.isFinite(number) ? number : (text as unknown as number);
}
