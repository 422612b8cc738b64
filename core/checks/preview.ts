import { cleanText } from '../foreign-text.ts';
import { extractAnswerEvidence, timingsOf, type AnswerEvidence } from '../incidents/evidence.ts';
import type { AssertionSource, CheckTarget } from '../monitors/monitor.ts';
import type { DnsAnswers } from './dns/observation.ts';
import { formatDate, type DomainFacts } from './domain/facts.ts';
import type { AssertionOutcome } from './http/assertion-check.ts';
import { DEFAULT_EXPECTED_STATUS } from './http/expected-status.ts';
import { conditionsOf, expectsStatus } from './http/judge.ts';
import type { CertificateFacts } from './http/observation.ts';
import type { JudgedCondition, Judged } from './judging.ts';
import type { Observation } from './observation.ts';
import type { VendorSnapshot } from './vendor/snapshot.ts';
import type { Judgement, Timings } from './verdict.ts';

/**
 * One condition of a check by itself; `not_reached` if there was no response to check, or the check's budget ran out
 * before. Absent parts are null.
 */
type PreviewCondition = {
  source: AssertionSource | 'status';
  op: string;
  value: string | null;
  path: string | null;
  name: string | null;
  outcome: AssertionOutcome | 'not_reached';
  reason: string | null;
};

/** An observed fact in words, for icmp, dns, domain and vendor, which have no response to show. */
type PreviewFact = { name: string; text: string };

/** Outcome of one probe of a draft. Times in whole milliseconds; null if there is none. */
export type PreviewOutcome = Judgement & {
  latencyMs: number | null;
  httpStatus: number | null;
  phases: Timings | null;
  answer: AnswerEvidence | null;
  certificate: CertificateFacts | null;
  conditions: PreviewCondition[];
  facts: PreviewFact[];
};

/** Limits of the facts: their number, and the characters of each. */
const MAX_FACTS = 50;
const MAX_FACT = 500;

/**
 * Builds the outcome of a probe of a draft, without secrets (D-17); a null observation means that the probe was
 * impossible.
 */
export function describePreview({
  target,
  observation,
  judged: { judgement, conditions },
}: {
  target: CheckTarget;
  observation: Observation | null;
  judged: Pick<Judged, 'judgement' | 'conditions'>;
}): PreviewOutcome {
  const isAnswered = observation?.type === 'http' && observation.outcome === 'answered';
  const latencyMs = observation?.latencyMs ?? null;
  return {
    ...judgement,
    latencyMs: latencyMs === null ? null : Math.round(latencyMs),
    httpStatus: isAnswered ? observation.status : null,
    phases: timingsOf(observation),
    answer: extractAnswerEvidence({ target, observation }),
    certificate:
      observation?.type === 'http' && observation.certificate !== null
        ? cleanCertificate(observation.certificate)
        : null,
    conditions: target.type === 'http' ? describeConditions({ target, observation, held: conditions }) : [],
    facts: factsOf(observation)
      .slice(0, MAX_FACTS)
      .map(({ name, text }) => ({ name: cleanText(name, MAX_FACT), text: cleanText(text, MAX_FACT) })),
  };
}

function cleanCertificate({ subject, issuer, ...times }: CertificateFacts): CertificateFacts {
  return { subject: cleanText(subject, MAX_FACT), issuer: cleanText(issuer, MAX_FACT), ...times };
}

function describeConditions({
  target,
  observation,
  held,
}: {
  target: CheckTarget;
  observation: Observation | null;
  held: readonly JudgedCondition[];
}): PreviewCondition[] {
  const answered = observation?.type === 'http' && observation.outcome === 'answered' ? observation : null;
  const expected = target.expectedStatus ?? DEFAULT_EXPECTED_STATUS;
  const isExpected = answered !== null && expectsStatus(target, answered.status);
  const status: PreviewCondition = {
    source: 'status',
    op: 'equals',
    value: expected,
    path: null,
    name: null,
    outcome: answered === null ? 'not_reached' : isExpected ? 'holds' : 'differs',
    reason: answered === null || isExpected ? null : `HTTP ${answered.status} instead of ${expected}`,
  };
  const others = conditionsOf(target).map(
    ({ source, op, value = null, path = null, name = null }, index): PreviewCondition => {
      const { outcome, reason } = held[index] ?? { outcome: 'unjudged', reason: null };
      return { source, op, value, path, name, outcome: outcome === 'unjudged' ? 'not_reached' : outcome, reason };
    },
  );
  return [status, ...others];
}

function factsOf(observation: Observation | null): PreviewFact[] {
  switch (observation?.type) {
    case 'icmp':
      return observation.outcome === 'measured'
        ? [{ name: 'Replies', text: `${observation.received} of ${observation.sent}` }]
        : [];
    case 'dns':
      return observation.outcome === 'queried'
        ? [
            { answers: observation.answers, at: '' },
            ...observation.opinions.map(({ resolver, answers }) => ({ answers, at: ` at ${resolver}` })),
          ].flatMap(dnsFacts)
        : [];
    case 'domain':
      return domainFacts(observation.facts);
    case 'vendor':
      return observation.outcome === 'read' ? vendorFacts(observation.snapshot) : [];
    default:
      return [];
  }
}

function dnsFacts({ answers, at }: { answers: DnsAnswers; at: string }): PreviewFact[] {
  return Object.entries(answers).map(([type, answer]) => {
    const text =
      answer.outcome === 'records'
        ? answer.records.join(', ') || 'no records'
        : answer.outcome === 'nxdomain'
          ? 'no such name'
          : answer.failure;
    return { name: `${type}${at}`, text };
  });
}

function domainFacts(facts: DomainFacts | null): PreviewFact[] {
  const expiresAt = facts?.registration?.expiresAt ?? null;
  const lines = [
    { name: 'Domain', text: facts?.name },
    { name: 'Registrar', text: facts?.registration?.registrar },
    { name: 'Expires', text: expiresAt === null ? null : formatDate(expiresAt) },
  ];
  return lines.flatMap(({ name, text }) => (text ? [{ name, text }] : []));
}

function vendorFacts({ name, overall, components, events }: VendorSnapshot): PreviewFact[] {
  const troubled = components
    .filter(({ state }) => state !== 'operational')
    .map((component) => ({ name: component.name, text: component.state }));
  return [
    { name: name ?? 'Vendor', text: overall ?? 'not said' },
    ...events.map(({ title }) => ({ name: 'Event', text: title })),
    ...troubled,
  ];
}
