import type { Parent } from '../../../core/monitors/dependencies.ts';
import type { Schemas } from '../../client/api.ts';

export type MonitorType = Schemas['MonitorType'];
/** A monitor with its settings, as the API returns a single one. */
type MonitorDetail = Schemas['MonitorDetail'];
type CheckSpec = Schemas['CheckSpec'];
type Request = NonNullable<CheckSpec['request']>;
type Transport = NonNullable<CheckSpec['transport']>;

/**
 * A header of the form. `kept`: a stored secret that the service never shows. `removed`: deleted on save. `isStored`:
 * its name is that of a stored secret, even while a new value is entered.
 */
export type HeaderDraft = {
  name: string;
  value: string;
  kind: 'plain' | 'secret' | 'kept' | 'removed';
  isStored: boolean;
};

/** A text that may be secret; `kept`: the service stores it and never shows it. */
export type SecretText = { kind: 'none' | 'plain' | 'secret' | 'kept'; text: string };

/** Credentials; `isKept`: the stored ones stay. */
type AuthDraft = {
  type: '' | 'bearer' | 'basic';
  isKept: boolean;
  token: string;
  username: string;
  password: string;
};

export type RequestDraft = {
  headers: readonly HeaderDraft[];
  auth: AuthDraft;
  body: SecretText;
  contentType: string;
  traceparent: boolean;
};
export type AssertionDraft = {
  source: Schemas['AssertionSource'];
  op: string;
  value: string;
  path: string;
  name: string;
};
export type TransportDraft = {
  payload: SecretText;
  encoding: '' | NonNullable<Transport['payloadEncoding']>;
  expect: string;
  expectMode: '' | NonNullable<Transport['expectMode']>;
};
/** An SLA over service hours; unset without a target and hours. */
export type ServiceHoursDraft = { target: string; hours: string; timezone: string; excludesMaintenance: boolean };

export type DnsRecordDraft = {
  type: Schemas['DnsRecord']['type'];
  mode: Schemas['DnsRecord']['mode'];
  expected: readonly string[];
};

/**
 * State of the form, with the settings of all types, so that a change of type keeps those that apply. Numbers are
 * strings as entered, times in seconds except the timeout in milliseconds. Empty means the service's default; a boolean
 * of `null` means unset.
 */
export type Draft = {
  type: MonitorType;
  name: string;
  target: string;
  interval: string;
  timeout: string;
  method: string;
  expectedStatus: string;
  bodyMatch: string;
  followRedirects: boolean;
  failures: string;
  successes: string;
  quorum: string;
  sources: readonly string[];
  slaTarget: string;
  sla: ServiceHoursDraft;
  reopen: string;
  monthlyDrill: boolean;
  /** As entered, separated by commas or blanks. */
  tags: string;
  grace: string;
  warnDays: string;
  components: readonly string[];
  dependencies: readonly string[];
  parents: readonly Parent[];
  /** Ids of the channels chosen for the monitor; they are stored with the channels, not with the monitor. */
  channels: readonly string[];
  request: RequestDraft;
  assertions: readonly AssertionDraft[];
  transport: TransportDraft;
  ping: { count: string; lossDegradedPct: string; rttDegradedMs: string };
  /** Heartbeat settings; without `cron` pings are expected by the interval. */
  heartbeat: { failEnabled: boolean | null; maxDuration: string; cron: string; timezone: string; early: string };
  dns: { records: readonly DnsRecordDraft[]; crossCheck: boolean | null };
};

/** Creates a draft that has only a type. */
export function emptyDraft(type: MonitorType): Draft {
  return {
    type,
    name: '',
    target: '',
    interval: '',
    timeout: '',
    method: '',
    expectedStatus: '',
    bodyMatch: '',
    followRedirects: true,
    failures: '',
    successes: '',
    quorum: '',
    sources: [],
    slaTarget: '',
    sla: draftOfServiceHours(null),
    reopen: '',
    monthlyDrill: false,
    tags: '',
    grace: '',
    warnDays: '',
    components: [],
    dependencies: [],
    parents: [],
    channels: [],
    request: draftOfRequest({}),
    assertions: [],
    transport: draftOfTransport({}),
    ping: draftOfPing({}),
    heartbeat: { failEnabled: null, maxDuration: '', cron: '', timezone: '', early: '' },
    dns: { records: [], crossCheck: null },
  };
}

/** Converts a stored monitor to a draft. */
export function draftOf(monitor: MonitorDetail): Draft {
  const { check_spec: spec } = monitor;
  return {
    type: monitor.type,
    name: monitor.name,
    target: monitor.target,
    interval: textOf(monitor.interval_seconds),
    timeout: textOf(monitor.timeout_ms),
    method: monitor.method ?? '',
    expectedStatus: monitor.expected_status ?? '',
    bodyMatch: monitor.body_match ?? '',
    followRedirects: monitor.follow_redirects === 1,
    failures: textOf(monitor.down_after_failures),
    successes: textOf(monitor.up_after_successes),
    quorum: textOf(monitor.down_min_sources),
    sources: monitor.agent_sources,
    slaTarget: textOf(monitor.sla_target),
    sla: draftOfServiceHours(monitor.sla),
    reopen: textOf(monitor.reopen_seconds),
    monthlyDrill: monitor.monthly_drill,
    tags: monitor.tags.join(', '),
    grace: textOf(monitor.heartbeat_grace_seconds),
    warnDays: textOf(spec.domain?.warnDays),
    components: spec.vendor?.components ?? [],
    dependencies: spec.dependencies ?? [],
    parents: monitor.depends_on,
    channels: [],
    request: draftOfRequest(spec.request ?? {}),
    assertions: (spec.assertions ?? []).map(({ source, op, value = '', path = '', name = '' }) => ({
      source,
      op,
      value,
      path,
      name,
    })),
    transport: draftOfTransport(spec.transport ?? {}),
    ping: draftOfPing(spec.ping ?? {}),
    heartbeat: {
      failEnabled: spec.heartbeat?.failEnabled ?? null,
      maxDuration: textOf(spec.heartbeat?.maxDurationSeconds),
      cron: spec.heartbeat?.schedule?.cron ?? '',
      timezone: spec.heartbeat?.schedule?.timezone ?? '',
      early: textOf(spec.heartbeat?.schedule?.early_seconds),
    },
    dns: {
      records: (spec.dns?.records ?? []).map(({ type, mode, expected = [] }) => ({ type, mode, expected })),
      crossCheck: spec.dns?.crossCheck ?? null,
    },
  };
}

/** Returns the draft of a copy. Secrets cannot be read, so their fields are empty and have to be filled in. */
export function cloneOf(draft: Draft): Draft {
  const { request, transport } = draft;
  const secretAgain = (text: SecretText): SecretText => (text.kind === 'kept' ? { kind: 'secret', text: '' } : text);
  return {
    ...draft,
    name: `${Array.from(draft.name)
      .slice(0, MAX_NAME - COPY.length)
      .join('')}${COPY}`,
    request: {
      ...request,
      headers: request.headers.map((header) =>
        header.kind === 'kept' ? { ...header, kind: 'secret', isStored: false } : header,
      ),
      auth: { ...request.auth, isKept: false },
      body: secretAgain(request.body),
    },
    transport: { ...transport, payload: secretAgain(transport.payload) },
  };
}

const COPY = ' (copy)';
/** Longest name that the API takes, in characters. */
const MAX_NAME = 255;

function draftOfServiceHours(sla: MonitorDetail['sla']): ServiceHoursDraft {
  const { target = null, hours = '', timezone = '', exclude_maintenance: excludesMaintenance = true } = sla ?? {};
  return { target: textOf(target), hours, timezone, excludesMaintenance };
}

function draftOfRequest({
  headers = {},
  secretHeaderNames = [],
  auth,
  body,
  bodySecret = false,
  contentType = '',
  traceparent = false,
}: Request): RequestDraft {
  return {
    headers: [
      ...Object.entries(headers).map(([name, value]): HeaderDraft => ({ name, value, kind: 'plain', isStored: false })),
      ...secretHeaderNames.map((name): HeaderDraft => ({ name, value: '', kind: 'kept', isStored: true })),
    ],
    auth: { type: auth?.type ?? '', isKept: auth !== undefined, token: '', username: '', password: '' },
    body: draftOfSecret(body, bodySecret),
    contentType,
    traceparent,
  };
}

function draftOfTransport({
  payload,
  payloadEncoding,
  payloadSecret = false,
  expect = '',
  expectMode,
}: Partial<Transport>): TransportDraft {
  return {
    payload: draftOfSecret(payload, payloadSecret),
    encoding: payloadEncoding ?? '',
    expect,
    expectMode: expectMode ?? '',
  };
}

function draftOfPing({ count, lossDegradedPct, rttDegradedMs }: NonNullable<CheckSpec['ping']>): Draft['ping'] {
  return { count: textOf(count), lossDegradedPct: textOf(lossDegradedPct), rttDegradedMs: textOf(rttDegradedMs) };
}

function draftOfSecret(text: string | undefined, isSecret: boolean): SecretText {
  if (isSecret) return { kind: 'kept', text: '' };
  return text === undefined ? { kind: 'none', text: '' } : { kind: 'plain', text };
}

function textOf(value: number | null | undefined): string {
  return value === null || value === undefined ? '' : String(value);
}

/** Removes a header. A stored one stays visible, marked as removed, until the form is saved. */
export function removeHeader(headers: readonly HeaderDraft[], index: number): HeaderDraft[] {
  return headers.flatMap((header, at) =>
    at !== index ? [header] : header.isStored ? [{ ...header, value: '', kind: 'removed' }] : [],
  );
}

type Component = Schemas['VendorComponent'];

/** Returns the name under which a component is watched: its id if several components share its name. */
function watchName({ id, name }: Component, listed: readonly Component[]): string {
  return listed.some((other) => other.id !== id && fold(other.name) === fold(name)) ? id : name;
}

/** Reports whether the watched names contain the component, by id or by name. */
export function isWatched({ id, name }: Component, watched: readonly string[]): boolean {
  return watched.some((text) => fold(text) === fold(id) || fold(text) === fold(name));
}

/** Returns the watched names with the component, or without it. */
export function withComponent(
  component: Component,
  { listed, watched, isOn }: { listed: readonly Component[]; watched: readonly string[]; isOn: boolean },
): readonly string[] {
  const others = watched.filter((text) => text.trim() !== '' && !isWatched(component, [text]));
  return isOn ? [...others, watchName(component, listed)] : others;
}

/** Returns the watched names that the page does not list. */
export function unlisted(watched: readonly string[], listed: readonly Component[]): readonly string[] {
  return watched.filter((text) => !listed.some((component) => isWatched(component, [text])));
}

function fold(text: string): string {
  return text.trim().toLowerCase();
}

/** Removes the values of secrets from a draft, and credentials from its URL. The user enters them again. */
export function withoutSecrets(draft: Draft): Draft {
  const { request, transport } = draft;
  const withoutText = <Text extends { kind: string; text: string }>(secret: Text): Text =>
    secret.kind === 'secret' ? { ...secret, text: '' } : secret;
  return {
    ...draft,
    target: draft.target.replace(/\/\/[^/?#]*@/, '//'),
    request: {
      ...request,
      headers: request.headers.map((header) => (header.kind === 'secret' ? { ...header, value: '' } : header)),
      auth: { ...request.auth, token: '', username: '', password: '' },
      body: withoutText(request.body),
    },
    transport: { ...transport, payload: withoutText(transport.payload) },
  };
}
