import { parseDnsRecord, type DnsRecordType } from '../../checks/dns/records.ts';
import { normaliseAssertion, type AssertionInput } from '../../checks/http/assertions.ts';
import { parsePattern, refuseTogether } from '../../checks/pattern.ts';
import { decodePayload } from '../../checks/transport/payload.ts';
import type { ReadSchedule, ScheduleInput } from '../../heartbeats/schedule.ts';
import { addProblem, show, type Problem } from '../../input.ts';
import type { Assertion, CheckSpec, DnsRecordSpec, MonitorSecrets, MonitorType, TransportSpec } from '../monitor.ts';
import type { CheckSpecInput, DnsInput, DnsRecordInput, TransportInput } from './fields.ts';
import { completeRequest } from './request.ts';
import { preserveOrReplace, refuseMoved } from './stored-secrets.ts';

const FIELD = 'check_spec.transport';

/**
 * The stored secrets that a request may keep, and RE2's validation. `isMoved`: the target has another origin than the
 * one for which the secrets were stored.
 */
type TransportContext = {
  secrets: MonitorSecrets;
  isMoved: boolean;
  isValidPattern: (pattern: string) => boolean;
};

/**
 * Splits a transport into its visible part and the secret payload (D-17, D-23, D-24). An empty `expect` expects nothing
 * and is left out.
 */
export function completeTransport(
  input: TransportInput,
  { secrets, isMoved, isValidPattern }: TransportContext,
  problems: Problem[],
): { transport: TransportSpec; payload?: string } {
  const { payload, payloadSecret, preservePayload, expect, ...rest } = input;
  const plain = { ...rest, ...(expect && { expect }) };
  if (input.expectMode === 'regex' && expect !== undefined) {
    const pattern = parsePattern(expect, isValidPattern);
    if (!pattern.ok) problems.push({ field: `${FIELD}.expect`, message: `${FIELD}.expect ${pattern.message}` });
  }
  const isHexExpected = input.payloadEncoding === 'hex' && input.expectMode !== 'regex';
  if (isHexExpected && expect !== undefined && !decodePayload(expect, 'hex').ok) {
    addProblem(problems, `${FIELD}.expect`, {
      expected:
        'pairs of hexadecimal digits when payloadEncoding is hex, or a regular expression when expectMode is regex',
      got: 'something else',
    });
  }
  const secret = preserveOrReplace(
    {
      field: FIELD,
      keys: { value: 'payload', secret: 'payloadSecret', preserve: 'preservePayload' },
      value: payload,
      isSecret: payloadSecret,
      preserves: preservePayload,
      stored: secrets.payload,
    },
    problems,
  );
  if (isMoved && payload === undefined && secret !== undefined) refuseMoved(`${FIELD}.payload`, problems);
  checkPayload(input, secret ?? payload, problems);
  if (payloadSecret)
    return { transport: { ...plain, payloadSecret: true }, ...(secret !== undefined && { payload: secret }) };
  return { transport: { ...plain, ...(payload !== undefined && { payload }) } };
}

// A kept payload is not in the request, so a mismatch with a new encoding is reported as a fault of the encoding.
function checkPayload(
  { payload: sent, payloadEncoding = 'utf8' }: TransportInput,
  payload: string | undefined,
  problems: Problem[],
): void {
  const decoded = decodePayload(payload ?? '', payloadEncoding);
  if (decoded.ok) return;
  if (sent !== undefined) problems.push({ field: `${FIELD}.payload`, message: `${FIELD}.payload ${decoded.message}` });
  else
    addProblem(problems, `${FIELD}.payloadEncoding`, {
      expected: 'the encoding of the stored payload, which is kept',
      got: payloadEncoding,
    });
}

/** Maximum size of check_spec, in bytes of its JSON (D-15). */
const MAX_BYTES = 131_072;

// An http monitor shows `domain` if its owner enabled the expiry warning, so that a read can be sent back.
const KEYS_BY_TYPE = {
  http: ['request', 'assertions', 'domain', 'dependencies'],
  tcp: ['transport', 'dependencies'],
  udp: ['transport', 'dependencies'],
  icmp: ['ping', 'dependencies'],
  domain: ['domain', 'dependencies'],
  heartbeat: ['heartbeat', 'dependencies'],
  dns: ['dns', 'dependencies'],
  vendor: ['vendor'],
} as const satisfies Record<MonitorType, readonly (keyof CheckSpecInput)[]>;

/**
 * The type, the stored settings, RE2's validation of patterns, and croner's of schedules. `isMoved`: the target has
 * another origin than the one of the stored secrets.
 */
type CheckSpecContext = {
  type: MonitorType;
  stored: { checkSpec: CheckSpec; secrets: MonitorSecrets; isMoved: boolean };
  isValidPattern: (pattern: string) => boolean;
  readSchedule: (schedule: ScheduleInput) => ReadSchedule;
  minIntervalSeconds: number;
};

/**
 * Replaces the settings of a type by those sent (D-16), split into visible and sealed ones (D-17). `domain`,
 * `dependencies`, `vendor` and the heartbeat's token have their own rules and are not part of the result.
 */
export function completeCheckSpec(
  input: CheckSpecInput,
  context: CheckSpecContext,
  problems: Problem[],
): { checkSpec: CheckSpec; secrets: MonitorSecrets } {
  const { type, stored, isValidPattern } = context;
  const known: readonly string[] = KEYS_BY_TYPE[type];
  for (const key of Object.keys(input).filter((candidate) => !known.includes(candidate))) {
    problems.push({
      field: `check_spec.${key}`,
      message: `check_spec.${key} does not apply to ${type} monitors, only ${known.join(', ')}`,
    });
  }
  const bytes = new TextEncoder().encode(JSON.stringify(input)).length;
  const patterns = refuseTogether(
    (input.assertions ?? []).flatMap(({ op, value }) => (op === 'matches' && value !== undefined ? [value] : [])),
  );
  if (bytes > MAX_BYTES)
    addProblem(problems, 'check_spec', { expected: `at most ${MAX_BYTES} bytes of JSON`, got: String(bytes) });
  if (patterns !== null)
    problems.push({ field: 'check_spec.assertions', message: `check_spec.assertions ${patterns}` });
  // Reading an oversized input further would block all other requests.
  if (bytes > MAX_BYTES || patterns !== null) return { checkSpec: {}, secrets: {} };

  const http =
    input.request && completeRequest(input.request, { ...stored, request: stored.checkSpec.request ?? {} }, problems);
  const transport = input.transport && completeTransport(input.transport, { ...stored, isValidPattern }, problems);
  const assertions = (input.assertions ?? []).flatMap((assertion, index) =>
    completeAssertion(assertion, { index, isValidPattern }, problems),
  );
  return {
    checkSpec: {
      ...(http && { request: http.request }),
      ...(assertions.length > 0 && { assertions }),
      ...(transport && { transport: transport.transport }),
      ...(input.ping && { ping: input.ping }),
      ...(input.heartbeat && { heartbeat: completeHeartbeat(input.heartbeat, context, problems) }),
      ...(input.dns && { dns: completeDns(input.dns, problems) }),
    },
    secrets: { ...http?.secrets, ...(transport?.payload !== undefined && { payload: transport.payload }) },
  };
}

/** Returns the settings of a heartbeat without token and slug, which belong to the server. */
function completeHeartbeat(
  { token: _token, slug: _slug, schedule, ...rest }: NonNullable<CheckSpecInput['heartbeat']>,
  { readSchedule, minIntervalSeconds }: CheckSpecContext,
  problems: Problem[],
): NonNullable<CheckSpec['heartbeat']> {
  if (schedule === undefined) return rest;
  const field = 'check_spec.heartbeat.schedule';
  const read = readSchedule(schedule);
  if (!read.ok) {
    problems.push({ field: `${field}.${read.field}`, message: `${field}.${read.message}` });
    return rest;
  }
  if (read.shortestSeconds < minIntervalSeconds)
    addProblem(problems, `${field}.cron`, {
      expected: `an expression whose runs are ${minIntervalSeconds} seconds apart or more on this plan`,
      got: `runs ${read.shortestSeconds} seconds apart`,
    });
  return { ...rest, schedule: read.schedule };
}

function completeAssertion(
  input: AssertionInput,
  { index, isValidPattern }: { index: number; isValidPattern: (pattern: string) => boolean },
  problems: Problem[],
): Assertion[] {
  const field = `check_spec.assertions[${index}]`;
  const assertion = normaliseAssertion(input, isValidPattern);
  if (assertion.ok) return [assertion.value];
  problems.push({ field, message: `${field}.${assertion.message}` });
  return [];
}

/** Returns the dns settings with each record's expected values if its mode compares any, and without them otherwise. */
function completeDns({ records, ...rest }: DnsInput, problems: Problem[]): NonNullable<CheckSpec['dns']> {
  return records === undefined
    ? rest
    : { ...rest, records: records.flatMap((record, index) => completeDnsRecord(record, index, problems)) };
}

function completeDnsRecord(
  { type, mode, expected = [] }: DnsRecordInput,
  index: number,
  problems: Problem[],
): DnsRecordSpec[] {
  const field = `check_spec.dns.records[${index}]`;
  if (mode === 'exists' || mode === 'absent') return [{ type, mode }];
  if (expected.length === 0)
    addProblem(problems, `${field}.expected`, { expected: `a list of at least one value for ${mode}`, got: 'none' });
  checkExpected(expected, { type, field: `${field}.expected` }, problems);
  return [{ type, mode, expected }];
}

/** A value that no record of the type can have would raise an alarm for ever. */
function checkExpected(
  expected: readonly string[],
  { type, field }: { type: DnsRecordType; field: string },
  problems: Problem[],
): void {
  for (const [index, value] of expected.entries()) {
    const record = parseDnsRecord(type, value);
    if (!record.ok)
      addProblem(problems, `${field}[${index}]`, { expected: `${record.message} for ${type}`, got: show(value) });
  }
}
