import { formatDays } from '../domain/days-left.ts';
import type { Assertion, AssertionSource } from '../monitor.ts';
import { quote } from '../quoted.ts';
import { certificateDaysLeft, type AssertedAnswer, type AssertionOutcome } from './assertion-check.ts';
import type { AssertionOp } from './assertions.ts';

/** An assertion that an answer did not meet, and how. */
export type FailedAssertion = {
  assertion: Assertion;
  outcome: Exclude<AssertionOutcome, 'holds'>;
  asserted: AssertedAnswer;
};

/**
 * One sentence on a failed assertion. It says what was expected and never what was found in a body or header: a target
 * may echo the secrets of its request (D-17).
 */
export function explainAssertion(failed: FailedAssertion): string {
  return SENTENCES[failed.assertion.source](failed);
}

const SENTENCES = {
  text_body: (failed) => `The body ${describeFailure(failed)}`,
  json_body: explainJson,
  header: (failed) => `Header ${failed.assertion.name} ${describeFailure(failed)}`,
  response_time: ({ assertion: { op, value }, asserted: { answer } }) =>
    `The answer took ${Math.round(answer.latencyMs)} ms, expected ${LIMITS[op]} ${value} ms`,
  cert_expiry: explainExpiry,
} satisfies Record<AssertionSource, (failed: FailedAssertion) => string>;

const LIMITS: Readonly<Record<string, string>> = { lt: 'less than', gt: 'more than' };

const FAILURES = {
  exists: () => 'is missing',
  equals: (value) => `is not ${value}`,
  not_equals: (value) => `is ${value}`,
  contains: (value) => `does not contain ${value}`,
  not_contains: (value) => `contains ${value}`,
  gt: (value) => `is not greater than ${value}`,
  lt: (value) => `is not less than ${value}`,
  matches: (value) => `does not match ${value}`,
} satisfies Record<AssertionOp, (value: string) => string>;

function describeFailure({ assertion, outcome }: FailedAssertion): string {
  return outcome === 'missing' ? 'is missing' : FAILURES[assertion.op as AssertionOp](quote(assertion.value ?? ''));
}

function explainJson(failed: FailedAssertion): string {
  const { assertion, asserted } = failed;
  if (asserted.readJson() !== undefined) return `JSON value ${quote(assertion.path ?? '$')} ${describeFailure(failed)}`;
  return asserted.answer.bodyTruncated ? 'The body is too long to be read as JSON' : 'The body is not JSON';
}

function explainExpiry({ assertion: { op, value }, asserted: { answer } }: FailedAssertion): string {
  const days = certificateDaysLeft(answer);
  if (days === null) return 'There is no certificate: the answer came without TLS';
  return `The certificate expires in ${formatDays(Math.floor(days))}, expected ${LIMITS[op]} ${value} days`;
}
