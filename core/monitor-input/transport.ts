import type { MonitorSecrets, TransportSpec } from '../monitor.ts';
import { addProblem, flag, oneOf, shape, text } from './checks.ts';
import type { Checked, Problem } from './checks.ts';
import { keepOrReplace } from './secret-value.ts';

const FIELD = 'check_spec.transport';
const HEX = /^(?:[\da-f]{2})*$/i;

/** `check_spec.transport` as a customer may send it. */
export const transportInput = shape({
  payload: text({ max: 65_536 }),
  payloadEncoding: oneOf(['utf8', 'hex']),
  expect: text({ max: 8192 }),
  expectMode: oneOf(['contains', 'regex']),
  payloadSecret: flag,
  preservePayload: flag,
});

type TransportInput = Checked<typeof transportInput>;

/** What is stored now of a transport that a request may ask to keep, and what RE2 says of a pattern. */
export type TransportContext = { secrets: MonitorSecrets; isValidPattern: (pattern: string) => boolean };

/** Parts a transport into what is shown and the secret payload (D-17, D-23, D-24). */
export function completeTransport(
  input: TransportInput,
  { secrets, isValidPattern }: TransportContext,
  problems: Problem[],
): { transport: TransportSpec; payload?: string } {
  const { payload, payloadSecret, preservePayload, ...plain } = input;
  if (payload !== undefined && input.payloadEncoding === 'hex' && !HEX.test(payload)) {
    addProblem(problems, `${FIELD}.payload`, { expected: 'pairs of hexadecimal digits', got: 'something else' });
  }
  if (input.expectMode === 'regex' && input.expect !== undefined && !isValidPattern(input.expect)) {
    addProblem(problems, `${FIELD}.expect`, { expected: 'a regular expression in RE2 syntax', got: JSON.stringify(input.expect.slice(0, 60)) });
  }
  const secret = keepOrReplace(
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
  if (payloadSecret) return { transport: { ...plain, payloadSecret: true }, ...(secret !== undefined && { payload: secret }) };
  return { transport: { ...plain, ...(payload !== undefined && { payload }) } };
}
