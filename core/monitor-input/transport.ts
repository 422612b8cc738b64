import type { MonitorSecrets, TransportSpec } from '../monitor.ts';
import { parsePattern } from '../pattern.ts';
import { decodePayload } from '../transport/payload.ts';
import { addProblem, flag, oneOf, shape, text, type Checked, type Problem } from './checks.ts';
import { preserveOrReplace, refuseMoved } from './secret-value.ts';

const FIELD = 'check_spec.transport';

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

/**
 * What is stored now of a transport that a request may ask to keep, and what RE2 says of a pattern. `isMoved`: the
 * target has another origin than the one that the secrets were stored for.
 */
export type TransportContext = {
  secrets: MonitorSecrets;
  isMoved: boolean;
  isValidPattern: (pattern: string) => boolean;
};

/**
 * Parts a transport into what is shown and the secret payload (D-17, D-23, D-24). An empty `expect` expects nothing and
 * is left out.
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
      expected: 'pairs of hexadecimal digits beside payloadEncoding hex, or a regular expression with expectMode regex',
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

// A stored payload is kept unseen, so that a new encoding may not fit it: then the encoding is what is wrong with the
// request.
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
