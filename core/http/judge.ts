import { checkAssertion } from './assertion-check.ts';
import type { AssertedAnswer, PatternSearch } from './assertion-check.ts';
import { DEFAULT_EXPECTED_STATUS, matchesStatus, parseExpectedStatus } from './expected-status.ts';
import type { HttpAnswered, HttpObservation } from './observation.ts';
import { explainAssertion } from './reasons.ts';
import { judgeFailure } from '../judge-failure.ts';
import type { Assertion, AssertionSource, CheckTarget } from '../monitor.ts';
import { quote } from '../quoted.ts';
import { containsText } from '../text-search.ts';
import type { Cause, Judgement } from '../verdict.ts';

/** What the verdict on an http answer depends on. */
export type HttpExpectation = Pick<CheckTarget, 'expectedStatus' | 'bodyMatch' | 'checkSpec'>;

/** True when a verdict needs the body; a probe leaves it unread otherwise (D-21). */
export function looksAtBody({ bodyMatch, checkSpec }: HttpExpectation): boolean {
  return Boolean(bodyMatch) || Boolean(checkSpec.assertions?.some(({ source }) => PARTS[source] === 'body'));
}

/** True for a status that does not take a check down by itself. */
export function expectsStatus({ expectedStatus }: Pick<HttpExpectation, 'expectedStatus'>, status: number): boolean {
  const expected = parseExpectedStatus(expectedStatus ?? DEFAULT_EXPECTED_STATUS);
  return expected.ok && matchesStatus(expected.value, status);
}

/** The verdict on one http observation, in D-21's order: transport, status, body_match, content assertions as listed, then response_time and cert_expiry as listed, which only degrade. */
export function judgeHttp(
  { target, observation, search }: { target: HttpExpectation; observation: HttpObservation; search: PatternSearch },
): Judgement {
  if (observation.outcome === 'failed') return judgeFailure(observation);

  if (!expectsStatus(target, observation.status)) {
    const expected = target.expectedStatus ?? DEFAULT_EXPECTED_STATUS;
    return { verdict: 'down', cause: `status_${observation.status}`, reason: `HTTP ${observation.status} instead of ${expected}` };
  }
  if (target.bodyMatch && !containsText(observation.body ?? '', target.bodyMatch)) {
    return { verdict: 'down', cause: 'body_mismatch', reason: `The body does not contain ${quote(target.bodyMatch)}` };
  }
  return judgeAssertions(target.checkSpec.assertions ?? [], assertedAnswer(observation, search));
}

/** An answer as assertions are held against it; its body is read as JSON once, when the first one asks. */
export function assertedAnswer(answer: HttpAnswered, search: PatternSearch): AssertedAnswer {
  return { answer, readJson: readJsonOnce(answer), search };
}

const UP: Judgement = { verdict: 'up', cause: null, reason: null };

const PARTS = {
  text_body: 'body',
  json_body: 'body',
  header: 'header',
  response_time: 'measure',
  cert_expiry: 'measure',
} as const satisfies Record<AssertionSource, string>;

// D-20 names these two failures itself. Their opposites, an answer too fast and a certificate too long-lived, are not
// what the names say and keep the family's name.
const OWN_CAUSES: Readonly<Record<string, Cause>> = { 'response_time lt': 'slow', 'cert_expiry gt': 'cert_expiring' };

function judgeAssertions(assertions: readonly Assertion[], asserted: AssertedAnswer): Judgement {
  const content = assertions.filter(({ source }) => PARTS[source] !== 'measure');
  const measures = assertions.filter(({ source }) => PARTS[source] === 'measure');
  return firstFailure({ assertions: content, asserted, verdict: 'down' })
    ?? firstFailure({ assertions: measures, asserted, verdict: 'degraded' })
    ?? UP;
}

function firstFailure(
  { assertions, asserted, verdict }: { assertions: readonly Assertion[]; asserted: AssertedAnswer; verdict: 'down' | 'degraded' },
): Judgement | null {
  for (const assertion of assertions) {
    const outcome = checkAssertion(assertion, asserted);
    if (outcome === 'holds') continue;
    const { source, op } = assertion;
    const cause = OWN_CAUSES[`${source} ${op}`] ?? `assert_${source}_${op}` as const;
    return { verdict, cause, reason: explainAssertion({ assertion, outcome, asserted }) };
  }
  return null;
}

/** Reads the body as JSON when first asked for; undefined where it is none. */
function readJsonOnce({ body }: HttpAnswered): () => unknown {
  let parsed: { value: unknown } | null = null;
  return () => {
    parsed ??= { value: parseJson(body) };
    return parsed.value;
  };
}

function parseJson(body: string | null): unknown {
  if (body === null) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
