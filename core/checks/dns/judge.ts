import { quote, cleanText } from '../../foreign-text.ts';
import type { CheckTarget, DnsRecordSpec } from '../../monitors/monitor.ts';
import type { Observation } from '../observation.ts';
import { UP, type FixedCause, type Judgement } from '../verdict.ts';
import type { DnsAnswer, DnsAnswers, DnsQueried, DnsFailure, DnsObservation, DnsNotQueried } from './observation.ts';
import { isDnsRecord, normaliseDnsRecord, type DnsMode, type DnsRecordType } from './records.ts';
import { isReverseName, splitDnsTarget } from './target.ts';

/**
 * Returns the record types on which the verdict on a target depends, each once. Without expected records the name must
 * resolve: to A or AAAA, for a reverse name to PTR.
 */
export function dnsQuestionTypes({
  target,
  checkSpec,
}: Pick<CheckTarget, 'target' | 'checkSpec'>): readonly DnsRecordType[] {
  const records = checkSpec.dns?.records ?? [];
  if (records.length > 0) return [...new Set(records.map(({ type }) => type))];
  return isReverseName(splitDnsTarget(target)?.name ?? '') ? ['PTR'] : ['A', 'AAAA'];
}

/**
 * Judges one dns observation (D-26). Each record type must match its mode, NXDOMAIN is good only if all must be absent,
 * and with a cross check the other resolvers' answers must lead to the same verdict.
 */
export function judgeDns({
  target,
  observation,
}: {
  target: Pick<CheckTarget, 'checkSpec'>;
  observation: DnsObservation;
}): Judgement {
  if (observation.outcome === 'not_queried') return judgeNotQueried(observation);
  const records = target.checkSpec.dns?.records ?? [];
  const own = judgeAnswers(observation.answers, {
    records,
    onFailure: (failure) => judgeFailure(failure, observation),
  });
  return judgeOpinions(own, { observation, records });
}

/** Fewer answers than this are no cross check. */
const MIN_OPINIONS = 2;

const MAX_LISTED = 5;
const NXDOMAIN: Judgement = { verdict: 'down', cause: 'dns_nxdomain', reason: 'The name does not exist (NXDOMAIN)' };

type Failing = { cause: FixedCause; words: string };

const FAILURES = {
  timeout: { cause: 'timeout', words: 'did not respond in time' },
  servfail: { cause: 'dns_error', words: 'responded with SERVFAIL' },
  refused: { cause: 'dns_error', words: 'refused to answer' },
  unreachable: { cause: 'dns_error', words: 'could not be reached' },
  invalid: { cause: 'dns_error', words: 'sent an invalid response' },
} as const satisfies Record<DnsFailure, Failing>;

// Failures that a working resolver reports if a name's own servers fail: SERVFAIL, or no response while it tries them.
const MAY_BE_THE_NAMES: Partial<Record<DnsFailure, string>> = {
  timeout: 'The name could not be resolved in time: its name servers do not respond, though our resolvers work',
  servfail: 'The name cannot be resolved (SERVFAIL): its name servers fail, though our resolvers work',
};

/** Counts of expected records, present and missing, and of found records, in all and unexpected. */
type Tally = { wanted: number; missing: number; found: number; surplus: number };

const MODES = {
  equals: { words: 'exactly', holds: ({ missing, surplus }) => missing === 0 && surplus === 0 },
  contains: { words: 'at least', holds: ({ missing }) => missing === 0 },
  any: { words: 'one of', holds: ({ wanted, missing }) => missing < wanted },
  exists: { words: 'a record', holds: ({ found }) => found > 0 },
  absent: { words: 'no record', holds: ({ found }) => found === 0 },
} as const satisfies Record<DnsMode, { words: string; holds: (tally: Tally) => boolean }>;

type Rules = { records: readonly DnsRecordSpec[]; onFailure: (failure: DnsFailure) => Judgement };

// A certain fault takes precedence over a failed query.
function judgeAnswers(answers: DnsAnswers, rules: Rules): Judgement {
  if (rules.records.length === 0) return judgeExistence(answers, rules);
  const judgements = rules.records.map((record) => judgeRecord(record, { answer: answers[record.type], rules }));
  return (
    judgements.find(({ verdict }) => verdict === 'down') ?? judgements.find(({ verdict }) => verdict === 'none') ?? UP
  );
}

function judgeExistence(answers: DnsAnswers, { onFailure }: Rules): Judgement {
  const all = Object.values(answers);
  if (all.some((answer) => answer.outcome === 'records' && answer.records.length > 0)) return UP;
  if (all.some(({ outcome }) => outcome === 'nxdomain')) return NXDOMAIN;
  const failed = all.find((answer) => answer.outcome === 'failed');
  if (failed !== undefined) return onFailure(failed.failure);
  return {
    verdict: 'down',
    cause: 'dns_mismatch',
    reason: `The name has no ${Object.keys(answers).join(' or ')} record`,
  };
}

function judgeRecord(
  { type, mode, expected = [] }: DnsRecordSpec,
  { answer, rules }: { answer: DnsAnswer | undefined; rules: Rules },
): Judgement {
  if (answer === undefined) return rules.onFailure('invalid');
  if (answer.outcome === 'failed') return rules.onFailure(answer.failure);
  if (answer.outcome === 'nxdomain') return mode === 'absent' ? UP : NXDOMAIN;

  const wanted = expected.map((text) => normaliseDnsRecord(type, text));
  const missing = wanted.filter(
    (one) => !answer.records.some((record) => isDnsRecord(type, { record, expected: one })),
  );
  const surplus = answer.records.filter(
    (record) => !wanted.some((one) => isDnsRecord(type, { record, expected: one })),
  );
  const { words, holds } = MODES[mode];
  if (holds({ wanted: wanted.length, missing: missing.length, found: answer.records.length, surplus: surplus.length }))
    return UP;
  const reason =
    `${type}: expected ${[words, ...(wanted.length > 0 ? [list(wanted)] : [])].join(' ')}, got ` +
    `${list(answer.records)}`;
  return { verdict: 'down', cause: 'dns_mismatch', reason };
}

function list(records: readonly string[]): string {
  if (records.length === 0) return 'none';
  const shown = records.slice(0, MAX_LISTED).map(quote).join(', ');
  return records.length > MAX_LISTED ? `${shown} and ${records.length - MAX_LISTED} more` : shown;
}

/**
 * A server named by the target is itself being monitored. Failures of the system's resolvers count against the name
 * only if they work otherwise (D-42).
 */
function judgeFailure(failure: DnsFailure, { server, ownResolversWork }: DnsQueried): Judgement {
  const { cause, words } = FAILURES[failure];
  if (server !== null) return { verdict: 'down', cause, reason: `The server ${quote(server)} ${words}` };
  const reason = MAY_BE_THE_NAMES[failure];
  if (reason !== undefined && ownResolversWork === true) return { verdict: 'down', cause, reason };
  return {
    verdict: 'none',
    cause,
    reason: `Our own resolvers are unavailable (one ${words}), which says nothing about the name`,
  };
}

function judgeNotQueried({ cause, reason, ownResolversWork }: DnsNotQueried): Judgement {
  const isOurs =
    cause === 'blocked_target' || cause === 'unsupported' || (cause !== 'dns_nxdomain' && ownResolversWork !== true);
  return { verdict: isOurs ? 'none' : 'down', cause, reason };
}

/**
 * Degrades the verdict if other resolvers' answers lead to another one. A failure of a named server is final: older
 * answers in other caches do not outweigh it. A no vote is not compared.
 */
function judgeOpinions(
  own: Judgement,
  { observation, records }: { observation: DnsQueried; records: readonly DnsRecordSpec[] },
): Judgement {
  if (own.verdict === 'none' || (own.verdict === 'down' && observation.server !== null)) return own;
  const opinions = observation.opinions
    .map(({ resolver, answers }) => ({
      resolver,
      judgement: judgeAnswers(answers, { records, onFailure: judgeTheirFailure }),
    }))
    .filter(({ judgement }) => judgement.verdict !== 'none');
  if (opinions.length < MIN_OPINIONS || opinions.every(({ judgement }) => judgement.verdict === own.verdict))
    return own;
  const says = [{ resolver: observation.server ?? 'ours', judgement: own }, ...opinions];
  return { verdict: 'degraded', cause: 'dns_disagree', reason: `Resolvers disagree. ${says.map(describe).join('; ')}` };
}

/** A resolver that cannot be queried has no opinion; one that cannot resolve the name has. */
function judgeTheirFailure(failure: DnsFailure): Judgement {
  const { cause, words } = FAILURES[failure];
  return { verdict: failure === 'servfail' ? 'down' : 'none', cause, reason: words };
}

function describe({ resolver, judgement }: { resolver: string; judgement: Judgement }): string {
  return `${resolver}: ${judgement.reason ?? 'as expected'}`;
}

/**
 * Answers of a dns check as stored with its result. By record type these are the records, or why there are none
 * (`nxdomain`, or how the query failed).
 */
export type StoredAnswers = Readonly<Record<string, readonly string[] | string>>;

/** Limits of stored answers: records per type, and characters of each. */
const MAX_RECORDS = 20;
const MAX_RECORD = 255;

/** Returns the storable answers of a dns check; undefined for every other observation, and if no query was made. */
export function toStoredAnswers(observation: Observation | null): StoredAnswers | undefined {
  if (observation?.type !== 'dns' || observation.outcome !== 'queried') return undefined;
  const stored = Object.entries(observation.answers).map(([type, answer]) => {
    if (answer.outcome === 'records')
      return [type, answer.records.slice(0, MAX_RECORDS).map((record) => cleanText(record, MAX_RECORD))] as const;
    return [type, answer.outcome === 'nxdomain' ? 'nxdomain' : answer.failure] as const;
  });
  return Object.fromEntries(stored);
}
