import {
  readExpectedBytes,
  type AnswerExpectation,
  type PayloadEncoding,
  decodePayload,
} from '../checks/transport/payload.ts';
import {
  AGENT_CHECKED_TYPES,
  HTTP_METHODS,
  type Assertion,
  type CheckTarget,
  type MonitorSecrets,
  type TransportSpec,
} from '../monitors/monitor.ts';
import type { WorkCheckSpec, WorkItem, WorkSecrets, WorkType } from './wire.ts';

/** A payload as sent to an agent: `utf8` without escapes; bytes that are not text as `hex`. */
type WorkPayload = { payload: string; payloadEncoding: PayloadEncoding };

// A byte order mark is part of the payload.
const TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Resolves the escapes of a stored payload (D-24); null if it does not fit its encoding, which validation on write
 * prevents.
 */
function resolvePayload(payload: string, encoding: PayloadEncoding): WorkPayload | null {
  const bytes = decodePayload(payload, encoding);
  if (!bytes.ok) return null;
  const text = encoding === 'utf8' ? readText(bytes.value) : null;
  return text === null
    ? { payload: hexOf(bytes.value), payloadEncoding: 'hex' }
    : { payload: text, payloadEncoding: 'utf8' };
}

/**
 * Encodes the text that a response must contain like the payload on the wire (D-65). Text beside bytes that had to
 * become hex would be read as hex. A pattern is text in both cases.
 */
function expectationBeside<Spec extends AnswerExpectation>(spec: Spec, sentAs: PayloadEncoding): Spec {
  const { expect, expectMode } = spec;
  if (!expect || expectMode === 'regex' || sentAs === 'utf8' || readExpectedBytes(spec) !== null) return spec;
  return { ...spec, expect: hexOf(new TextEncoder().encode(expect)) };
}

/**
 * Returns the payload of a work item in stored form: text with its backslashes escaped, so that nothing is resolved
 * twice, or hex.
 */
function storedPayload({ payload, payloadEncoding }: WorkPayload): string {
  return payloadEncoding === 'hex' ? payload : payload.replaceAll('\\', String.raw`\\`);
}

function readText(bytes: Uint8Array): string | null {
  try {
    return TEXT.decode(bytes);
  } catch {
    return null;
  }
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * A monitor as described in an agent's work, without its secrets. `askedAt`: when a recheck was last requested, in Unix
 * seconds; null = never.
 */
export type AssignedMonitor = {
  monitorId: string;
  intervalSeconds: number;
  settings: Omit<CheckTarget, 'secrets'>;
  askedAt: number | null;
};

type WorkSpecPart = (settings: AssignedMonitor['settings']) => WorkCheckSpec | null;

/**
 * Returns a monitor's work item for its agent, without secrets. Null if agents do not check its type, or its payload
 * does not fit its encoding.
 */
export function workItemOf(
  { monitorId, intervalSeconds, settings, askedAt }: AssignedMonitor,
  sourceKey: string,
): WorkItem | null {
  const type = workTypeOf(settings.type);
  const checkSpec = type === null ? null : SPECS[type](settings);
  if (type === null || checkSpec === null) return null;
  const { target, timeoutMs, method, expectedStatus, followRedirects } = settings;
  return {
    monitorId,
    sourceKey,
    type,
    target,
    intervalSeconds,
    timeoutMs,
    method,
    expectedStatus,
    followRedirects,
    checkSpec,
    ...(askedAt !== null && { askedAt }),
  };
}

/**
 * Returns the secrets for an agent, in plain text, to be sealed. Null if the secret payload does not fit its encoding.
 */
export function workSecretsOf(
  { payload, ...secrets }: MonitorSecrets,
  transport: TransportSpec | undefined,
): WorkSecrets | null {
  if (payload === undefined) return secrets;
  const resolved = resolvePayload(payload, transport?.payloadEncoding ?? 'utf8');
  return resolved === null ? null : { ...secrets, ...resolved };
}

/** Returns an item to be sent with its secrets: the expected response is encoded like the sealed payload (D-65). */
export function besideSecrets(
  item: WorkItem,
  { payloadEncoding }: WorkSecrets,
  stored: TransportSpec | undefined,
): WorkItem {
  const { transport } = item.checkSpec;
  if (transport === undefined || stored === undefined || payloadEncoding === undefined) return item;
  const { expect } = expectationBeside(stored, payloadEncoding);
  return {
    ...item,
    checkSpec: { ...item.checkSpec, transport: { ...transport, ...(expect !== undefined && { expect }) } },
  };
}

/** Returns the probe's target of an item and its opened secrets. Null for a type or method unknown to this version. */
export function checkTargetOf(item: WorkItem, secrets: WorkSecrets): CheckTarget | null {
  const type = workTypeOf(item.type);
  const method = HTTP_METHODS.find((known) => known === item.method) ?? null;
  if (type === null || method !== item.method) return null;
  const { target, timeoutMs, expectedStatus, followRedirects, checkSpec } = item;
  const { request, assertions, ping, transport } = checkSpec;
  const { payload, payloadEncoding = 'utf8', ...others } = secrets;
  return {
    type,
    target,
    timeoutMs,
    method,
    expectedStatus,
    // The body match is among the assertions.
    bodyMatch: null,
    followRedirects,
    checkSpec: {
      ...(request && { request }),
      ...(assertions && { assertions }),
      ...(ping && { ping }),
      ...(transport && { transport: transportOf(transport, payloadEncoding) }),
    },
    secrets: { ...others, ...(payload !== undefined && { payload: storedPayload({ payload, payloadEncoding }) }) },
  };
}

const SPECS = {
  http: httpSpec,
  tcp: transportSpec,
  udp: transportSpec,
  icmp: ({ checkSpec: { ping } }) => ({ ...(ping && { ping }) }),
} satisfies Record<WorkType, WorkSpecPart>;

function httpSpec({ checkSpec: { request, assertions = [] }, bodyMatch }: AssignedMonitor['settings']): WorkCheckSpec {
  const bodyAssertions: Assertion[] = bodyMatch ? [{ source: 'text_body', op: 'contains', value: bodyMatch }] : [];
  const all = [...bodyAssertions, ...assertions];
  return { ...(request && { request }), ...(all.length > 0 && { assertions: all }) };
}

/**
 * Omits even the encoding of a secret payload. It is sealed with the payload, and `besideSecrets` adapts the expected
 * response to it.
 */
function transportSpec({ checkSpec: { transport } }: AssignedMonitor['settings']): WorkCheckSpec | null {
  if (transport === undefined) return {};
  const { payload, payloadEncoding = 'utf8', ...rest } = transport;
  if (rest.payloadSecret) return { transport: rest };
  if (payload === undefined) return { transport: { ...rest, ...(payloadEncoding === 'hex' && { payloadEncoding }) } };
  const resolved = resolvePayload(payload, payloadEncoding);
  if (resolved === null) return null;
  const {
    payloadEncoding: _stored,
    payload: _payload,
    ...expected
  } = expectationBeside(transport, resolved.payloadEncoding);
  return { transport: { ...expected, ...resolved } };
}

/** Returns a transport in stored form; a secret payload's encoding, `sealedAs`, comes from its box. */
function transportOf(
  { payload, ...transport }: NonNullable<WorkCheckSpec['transport']>,
  sealedAs: PayloadEncoding,
): TransportSpec {
  const { payloadEncoding = transport.payloadSecret ? sealedAs : 'utf8' } = transport;
  return {
    ...transport,
    payloadEncoding,
    ...(payload !== undefined && { payload: storedPayload({ payload, payloadEncoding }) }),
  };
}

function workTypeOf(type: string): WorkType | null {
  return AGENT_CHECKED_TYPES.find((known) => known === type) ?? null;
}
