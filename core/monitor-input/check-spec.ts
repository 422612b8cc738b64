import { normaliseAssertion } from '../http/assertions.ts';
import type { Assertion, CheckSpec, MonitorSecrets, MonitorType } from '../monitor.ts';
import { refuseTogether } from '../pattern.ts';
import { addProblem, anyText, listOf, shape, text, type Checked, type Problem } from './checks.ts';
import { completeRequest, requestInput } from './request.ts';
import { completeTransport, transportInput } from './transport.ts';
import { completeDns, dnsInput, domainInput, heartbeatInput, pingInput, vendorInput } from './type-settings.ts';

/** The largest check_spec, in bytes of its JSON (D-15). */
const MAX_BYTES = 131_072;
const MAX_ASSERTIONS = 50;

/** Ids of which those that are no vendor monitors of the caller are ignored, however they look; 50 at most. */
export const dependencyIds = listOf(anyText, 50);

const assertionInput = shape({
  source: text({ max: 64 }),
  op: text({ max: 64 }),
  value: text({ max: 8192 }),
  path: text({ max: 1024 }),
  name: text({ max: 256 }),
});

/**
 * `check_spec` as a customer may send it, for any type. `vendor`, `dependencies` and other read-only parts of a read
 * are ignored.
 */
export const checkSpecInput = shape({
  request: requestInput,
  assertions: listOf(assertionInput, MAX_ASSERTIONS),
  transport: transportInput,
  domain: domainInput,
  ping: pingInput,
  heartbeat: heartbeatInput,
  dns: dnsInput,
  vendor: vendorInput,
  dependencies: dependencyIds,
});

type CheckSpecInput = Checked<typeof checkSpecInput>;

// An http monitor shows `domain` when its owner turned the expiry warning on, so that a read can be sent back.
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
 * The type, what is stored now, and what RE2 says of a pattern. `isMoved`: the target has another origin than the one
 * that the stored secrets are for.
 */
export type CheckSpecContext = {
  type: MonitorType;
  stored: { checkSpec: CheckSpec; secrets: MonitorSecrets; isMoved: boolean };
  isValidPattern: (pattern: string) => boolean;
};

/**
 * Replaces the settings of a type by those sent (D-16), parted into what is shown and what is sealed (D-17). `domain`,
 * `dependencies`, `vendor` and the heartbeat's token live by rules of their own and are not part of the result.
 */
export function completeCheckSpec(
  input: CheckSpecInput,
  { type, stored, isValidPattern }: CheckSpecContext,
  problems: Problem[],
): { checkSpec: CheckSpec; secrets: MonitorSecrets } {
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
  // Reading the parts of what is too large would hold up everybody else's requests.
  if (bytes > MAX_BYTES || patterns !== null) return { checkSpec: {}, secrets: {} };

  const http =
    input.request && completeRequest(input.request, { ...stored, request: stored.checkSpec.request ?? {} }, problems);
  const transport = input.transport && completeTransport(input.transport, { ...stored, isValidPattern }, problems);
  const assertions = (input.assertions ?? []).flatMap((assertion, index) =>
    completeAssertion(assertion, { index, isValidPattern }, problems),
  );
  const { token: _serverMade, ...heartbeat } = input.heartbeat ?? {};
  return {
    checkSpec: {
      ...(http && { request: http.request }),
      ...(assertions.length > 0 && { assertions }),
      ...(transport && { transport: transport.transport }),
      ...(input.ping && { ping: input.ping }),
      ...(input.heartbeat && { heartbeat }),
      ...(input.dns && { dns: completeDns(input.dns, problems) }),
    },
    secrets: { ...http?.secrets, ...(transport?.payload !== undefined && { payload: transport.payload }) },
  };
}

function completeAssertion(
  input: Checked<typeof assertionInput>,
  { index, isValidPattern }: { index: number; isValidPattern: (pattern: string) => boolean },
  problems: Problem[],
): Assertion[] {
  const field = `check_spec.assertions[${index}]`;
  const { source, op, ...rest } = input;
  if (source === undefined || op === undefined) {
    addProblem(problems, `${field}.${source === undefined ? 'source' : 'op'}`, { expected: 'a text', got: 'nothing' });
    return [];
  }
  const assertion = normaliseAssertion({ source, op, ...rest }, isValidPattern);
  if (assertion.ok) return [assertion.value];
  problems.push({ field, message: `${field}.${assertion.message}` });
  return [];
}
