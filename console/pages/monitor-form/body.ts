import { sortParents } from '../../../core/monitors/dependencies.ts';
import { isAgentChecked } from '../../../core/monitors/monitor.ts';
import { sortTags, splitTags } from '../../../core/monitors/tags.ts';
import { SECRET_PLACEHOLDER, type ApiRequest } from '../../client/curl.ts';
import type { Schemas } from '../../client/shapes.ts';
import { checkSpecOf, isEmptySpec, numberOf } from './check-spec.ts';
import { defaultsOf, type Surroundings } from './defaults.ts';
import type { Draft, MonitorType, SecretText } from './draft.ts';

/** The fields of a monitor outside `check_spec`; undefined ones are not sent. */
type Fields = Omit<Schemas['MonitorPatch'], 'check_spec' | 'type'>;

/** The body that creates a monitor; empty fields are left to the service. */
export function createBody(draft: Draft): Schemas['MonitorCreate'] {
  const spec = checkSpecOf(draft);
  const { name = '', ...fields } = fieldsOf(draft);
  return { type: draft.type, name, ...withoutUndefined(fields), ...(!isEmptySpec(spec) && { check_spec: spec }) };
}

/**
 * The body that changes the monitor `original` into the draft. Unchanged fields are left out, so that another user's
 * change is not undone and an old value is not judged by a new plan. `check_spec` is sent whole, because an http
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
    // Left out, it becomes the default, which an empty field means.
    ...(hasQuorum(draft) && draft.quorum.trim() !== '' && { down_min_sources: numberOf(draft.quorum) }),
    ...(sendsSpec && { check_spec: withCleared(spec, draft.type) }),
  };
}

/** The request that saves the draft, without its secrets. */
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

/** Whether the draft differs from the original. */
export function isChanged(draft: Draft, original: Draft): boolean {
  return !isSame(draft, original);
}

function hasQuorum({ type }: Draft): boolean {
  return isAgentChecked(type);
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

/** The fields that apply to the type, as they were filled in. */
function fieldsOf(draft: Draft): Fields {
  const { type } = draft;
  return {
    name: draft.name.trim(),
    interval_seconds: number(draft.interval),
    sla_target: number(draft.slaTarget),
    sla: slaOf(draft),
    reopen_seconds: number(draft.reopen),
    monthly_drill: draft.monthlyDrill ? true : undefined,
    tags: draft.tags.trim() === '' ? undefined : sortTags(splitTags(draft.tags)),
    ...(type !== 'heartbeat' && { target: text(draft.target) }),
    ...(type !== 'vendor' && { dependencies: draft.dependencies.length > 0 ? [...draft.dependencies] : undefined }),
    depends_on: draft.parents.length > 0 ? sortParents(draft.parents) : undefined,
    ...(type !== 'heartbeat' && {
      timeout_ms: number(draft.timeout),
      down_after_failures: number(draft.failures),
      up_after_successes: number(draft.successes),
    }),
    ...(isAgentChecked(type) && {
      down_min_sources: number(draft.quorum),
      agent_sources: draft.sources.length > 0 ? draft.sources.toSorted() : undefined,
    }),
    ...(type === 'http' && {
      method: text(draft.method),
      expected_status: text(draft.expectedStatus),
      body_match: draft.bodyMatch === '' ? undefined : draft.bodyMatch,
      follow_redirects: draft.followRedirects ? undefined : false,
    }),
    ...((type === 'http' || type === 'domain') && { warn_days: number(draft.warnDays) }),
    ...(type === 'heartbeat' && { grace_seconds: number(draft.grace) }),
    ...(type === 'vendor' && {
      components: draft.components.length > 0 ? draft.components.filter((name) => name.trim() !== '') : undefined,
    }),
  };
}

/** Without a target and hours there is none. */
function slaOf({ sla: { target, hours, timezone, excludesMaintenance } }: Draft): Fields['sla'] {
  if (target.trim() === '' && hours.trim() === '') return undefined;
  return {
    target: numberOf(target),
    timezone: timezone === '' ? 'UTC' : timezone,
    hours: hours.trim(),
    exclude_maintenance: excludesMaintenance,
  };
}

/** The fields that apply to the type, with the service's defaults for empty ones. The quorum has a rule of its own. */
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

function number(written: string): number | undefined {
  return written.trim() === '' ? undefined : numberOf(written);
}

function text(written: string): string | undefined {
  return written.trim() === '' ? undefined : written.trim();
}

function withoutUndefined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Compares by JSON: drafts and bodies are built in one place each, so their keys have one order. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
