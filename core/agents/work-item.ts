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

/** A payload on its way to an agent: `utf8` stands as it is sent, without escapes; what is no text goes as `hex`. */
type WorkPayload = { payload: string; payloadEncoding: PayloadEncoding };

// A byte order mark is part of what is sent.
const TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * A stored payload with its escapes resolved (D-24); null where it does not fit its encoding, which nothing that was
 * checked at write does.
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
 * The text that an answer must contain, in the form that goes with the payload's encoding on the way (D-65). Bytes that
 * had to become hex must not have it read as hex. A pattern is text beside either.
 */
function expectationBeside<Spec extends AnswerExpectation>(spec: Spec, sentAs: PayloadEncoding): Spec {
  const { expect, expectMode } = spec;
  if (!expect || expectMode === 'regex' || sentAs === 'utf8' || readExpectedBytes(spec) !== null) return spec;
  return { ...spec, expect: hexOf(new TextEncoder().encode(expect)) };
}

/**
 * The payload of a work item as monitors have it: text with its backslashes escaped, so that nothing is resolved twice,
 * or hex.
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
 * A monitor as an agent's work describes it, without its secrets. `askedAt`: when a recheck was last requested, Unix
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
 * What a monitor is to the agent that checks it, without secrets. Null where no agent checks its type, or its payload
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
 * What an agent must know beside the item, in clear: to be sealed. Null where the secret payload does not fit its
 * encoding.
 */
export function workSecretsOf(
  { payload, ...secrets }: MonitorSecrets,
  transport: TransportSpec | undefined,
): WorkSecrets | null {
  if (payload === undefined) return secrets;
  const resolved = resolvePayload(payload, transport?.payloadEncoding ?? 'utf8');
  return resolved === null ? null : { ...secrets, ...resolved };
}

/**
 * An item whose secrets go along: what is expected of an answer is in the form that goes with the sealed payload's
 * encoding (D-65).
 */
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

/**
 * What a probe of ours needs to know of an item and its opened secrets. Null for a type or method that this version
 * does not know.
 */
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
    // It is among the assertions.
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
 * Of a secret payload not even the encoding is said here. It goes with the payload, and `besideSecrets` brings what is
 * expected in line with it.
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

/** A transport as monitors have it; a secret payload has its encoding, `sealedAs`, from its box. */
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
