import { parseJson, quote } from '../../foreign-text.ts';
import type { Assertion, AssertionSource, CheckTarget } from '../../monitors/monitor.ts';
import { formatDays } from '../domain/facts.ts';
import { explainUnjudged, judgeFailure, type JudgedCondition, type Judged, type Judging } from '../judging.ts';
import { containsText } from '../pattern.ts';
import { UP, type Cause, type Judgement } from '../verdict.ts';
import {
  certificateDaysLeft,
  checkAssertion,
  type AssertedAnswer,
  type AssertionOutcome,
  type PatternSearch,
} from './assertion-check.ts';
import type { AssertionOp } from './assertions.ts';
import { DEFAULT_EXPECTED_STATUS, matchesStatus, parseExpectedStatus } from './expected-status.ts';
import type { HttpAnswered, HttpObservation } from './observation.ts';

/** A failed assertion, and how it failed. */
type FailedAssertion = {
  assertion: Assertion;
  outcome: Exclude<AssertionOutcome, 'holds'>;
  asserted: AssertedAnswer;
};

/**
 * Explains a failed assertion in one sentence. It contains the expected value, never the actual content of a body or
 * header: a target may echo the secrets of its request (D-17).
 */
function explainAssertion(failed: FailedAssertion): string {
  return SENTENCES[failed.assertion.source](failed);
}

const SENTENCES = {
  text_body: (failed) => `The body ${describeFailure(failed)}`,
  json_body: explainJson,
  header: (failed) => `Header ${failed.assertion.name} ${describeFailure(failed)}`,
  response_time: ({ assertion: { op, value }, asserted: { answer } }) =>
    `The response took ${Math.round(answer.latencyMs)} ms, expected ${LIMITS[op]} ${value} ms`,
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
  if (days === null) return 'There is no certificate: the response came without TLS';
  return `The certificate expires in ${formatDays(Math.floor(days))}, expected ${LIMITS[op]} ${value} days`;
}

/**
 * Inputs of the verdict on an http response. If the response `isShown`, all conditions are judged, even after a failed
 * one.
 */
export type HttpExpectation = Pick<CheckTarget, 'expectedStatus' | 'bodyMatch' | 'checkSpec' | 'isShown'>;

type HttpCheck = { target: HttpExpectation; observation: HttpObservation; search: PatternSearch };

/** Reports whether a verdict needs the body; a probe leaves it unread otherwise (D-21). */
export function needsBody({ bodyMatch, checkSpec }: HttpExpectation): boolean {
  return Boolean(bodyMatch) || Boolean(checkSpec.assertions?.some(({ source }) => PARTS[source] === 'body'));
}

/** Reports whether a status by itself leaves a check up. */
export function expectsStatus({ expectedStatus }: Pick<HttpExpectation, 'expectedStatus'>, status: number): boolean {
  const expected = parseExpectedStatus(expectedStatus ?? DEFAULT_EXPECTED_STATUS);
  return expected.ok && matchesStatus(expected.value, status);
}

/**
 * Returns the conditions of a check besides its status: `body_match` in the form of an assertion, then the assertions
 * as listed.
 */
export function conditionsOf({ bodyMatch, checkSpec }: Pick<HttpExpectation, 'bodyMatch' | 'checkSpec'>): Assertion[] {
  const match: Assertion[] = bodyMatch ? [{ source: 'text_body', op: 'contains', value: bodyMatch }] : [];
  return [...match, ...(checkSpec.assertions ?? [])];
}

/** Reports whether conditions are evaluated: there is a response, and its status does not decide alone. */
export function reachesConditions(target: HttpExpectation, observation: HttpObservation): observation is HttpAnswered {
  return observation.outcome === 'answered' && (target.isShown === true || expectsStatus(target, observation.status));
}

/**
 * Judges one http observation in D-21's order: transport, status, body_match, content assertions as listed, then
 * response_time and cert_expiry as listed, which only degrade. Each condition is judged once, regardless of
 * interruptions.
 */
export class HttpJudging implements Judging {
  readonly #target: HttpExpectation;
  readonly #observation: HttpObservation;
  /** Null if no condition is evaluated. */
  readonly #asserted: AssertedAnswer | null;
  readonly #listed: readonly Assertion[];
  /** Content, then measures. */
  readonly #inOrder: readonly Assertion[];
  readonly #outcomes = new Map<Assertion, AssertionOutcome>();

  constructor({ target, observation, search }: HttpCheck) {
    this.#target = target;
    this.#observation = observation;
    this.#asserted = reachesConditions(target, observation)
      ? { answer: observation, readJson: readJsonOnce(observation), search }
      : null;
    this.#listed = conditionsOf(target);
    this.#inOrder = [...this.#listed.filter(isContent), ...this.#listed.filter((assertion) => !isContent(assertion))];
  }

  run(): void {
    if (this.#asserted === null) return;
    for (const assertion of this.#inOrder) {
      const outcome = this.#outcomes.get(assertion) ?? this.#check(assertion, this.#asserted);
      this.#outcomes.set(assertion, outcome);
      if (outcome !== 'holds' && this.#target.isShown !== true) return;
    }
  }

  judged(): Judged {
    const { judgement, isOverBudget } = this.#verdict();
    return {
      judgement,
      isOverBudget,
      conditions: this.#asserted === null ? [] : this.#listed.map((assertion) => this.#describe(assertion)),
    };
  }

  #verdict(): Pick<Judged, 'judgement' | 'isOverBudget'> {
    const observation = this.#observation;
    if (observation.outcome === 'failed') return { judgement: judgeFailure(observation), isOverBudget: false };
    if (this.#asserted === null || !expectsStatus(this.#target, observation.status))
      return { judgement: this.#judgeStatus(observation.status), isOverBudget: false };
    for (const assertion of this.#inOrder) {
      const { outcome, reason } = this.#describe(assertion);
      if (outcome === 'unjudged') return { judgement: { verdict: 'none', cause: null, reason }, isOverBudget: true };
      if (outcome !== 'holds') return { judgement: { ...this.#blame(assertion), reason }, isOverBudget: false };
    }
    return { judgement: UP, isOverBudget: false };
  }

  #judgeStatus(status: number): Judgement {
    const expected = this.#target.expectedStatus ?? DEFAULT_EXPECTED_STATUS;
    return { verdict: 'down', cause: `status_${status}`, reason: `HTTP ${status} instead of ${expected}` };
  }

  #check(assertion: Assertion, asserted: AssertedAnswer): AssertionOutcome {
    if (!this.#isBodyMatch(assertion)) return checkAssertion(assertion, asserted);
    return containsText(asserted.answer.body ?? '', assertion.value ?? '') ? 'holds' : 'differs';
  }

  #describe(assertion: Assertion): JudgedCondition {
    const outcome = this.#outcomes.get(assertion);
    if (outcome === undefined || this.#asserted === null)
      return { outcome: 'unjudged', reason: explainUnjudged(assertion) };
    if (outcome === 'holds') return { outcome, reason: null };
    if (this.#isBodyMatch(assertion))
      return { outcome, reason: `The body does not contain ${quote(assertion.value ?? '')}` };
    return { outcome, reason: explainAssertion({ assertion, outcome, asserted: this.#asserted }) };
  }

  #blame(assertion: Assertion): Pick<Judgement, 'verdict' | 'cause'> {
    const { source, op } = assertion;
    if (this.#isBodyMatch(assertion)) return { verdict: 'down', cause: 'body_mismatch' };
    return {
      verdict: isContent(assertion) ? 'down' : 'degraded',
      cause: OWN_CAUSES[`${source} ${op}`] ?? `assert_${source}_${op}`,
    };
  }

  #isBodyMatch(assertion: Assertion): boolean {
    return Boolean(this.#target.bodyMatch) && assertion === this.#listed[0];
  }
}

const PARTS = {
  text_body: 'body',
  json_body: 'body',
  header: 'header',
  response_time: 'measure',
  cert_expiry: 'measure',
} as const satisfies Record<AssertionSource, string>;

// D-20 names these two failures itself. Their opposites, a response too fast and a certificate valid too long, do not
// match those names and keep the generic one.
const OWN_CAUSES: Readonly<Record<string, Cause>> = { 'response_time lt': 'slow', 'cert_expiry gt': 'cert_expiring' };

function isContent({ source }: Assertion): boolean {
  return PARTS[source] !== 'measure';
}

/** Parses the body as JSON on first use; undefined if it is not JSON. */
function readJsonOnce({ body }: HttpAnswered): () => unknown {
  let parsed: { value: unknown } | null = null;
  return () => {
    parsed ??= { value: body === null ? undefined : parseJson(body) };
    return parsed.value;
  };
}
