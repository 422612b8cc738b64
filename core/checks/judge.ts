import { quote } from '../foreign-text.ts';
import type { Assertion, CheckTarget } from '../monitors/monitor.ts';
import { judgeDns } from './dns/judge.ts';
import type { DnsAnswers, DnsObservation } from './dns/observation.ts';
import { judgeDomain } from './domain/observation.ts';
import type { PatternSearch } from './http/assertion-check.ts';
import { HttpJudging, conditionsOf, reachesConditions } from './http/judge.ts';
import type { HttpAnswered } from './http/observation.ts';
import { judgeIcmp } from './icmp/observation.ts';
import { overBudget, type Judging } from './judging.ts';
import type { Observation } from './observation.ts';
import { linearSearchFrom, measurePattern } from './pattern.ts';
import { judgeTcp, judgeUdp } from './transport/observation.ts';
import { judgeVendor, type VendorObservation } from './vendor/observation.ts';
import type { Judgement } from './verdict.ts';

/** A check's observation of its target, to be judged. */
type ObservedCheck = { target: CheckTarget; observation: Observation; search: PatternSearch };

/** Begins judging an observation of any type: no vote on one that cannot be checked here (D-20). */
export function beginJudging(observed: ObservedCheck): Judging {
  const { target, observation, search } = observed;
  return observation.type === 'http' ? new HttpJudging({ target, observation, search }) : judgeAtOnce(observed);
}

/** Judges a check with at most one condition: if interrupted, it starts over. */
function judgeAtOnce(observed: ObservedCheck): Judging {
  let judgement: Judgement | null = null;
  return {
    run() {
      judgement ??= judgeOther(observed);
    },
    judged() {
      if (judgement !== null) return { judgement, conditions: [], isOverBudget: false };
      const { transport } = observed.target.checkSpec;
      if (transport === undefined)
        return overBudget(
          `its ${observed.target.type === 'vendor' ? 'components' : 'records'}`,
          'expect fewer of them',
        );
      return overBudget(`the expected response ${quote(transport.expect ?? '')}`, 'simplify the pattern');
    },
  };
}

function judgeOther({ target, observation, search }: ObservedCheck): Judgement {
  switch (observation.type) {
    case 'tcp':
      return judgeTcp({ target, observation, search });
    case 'udp':
      return judgeUdp({ target, observation, search });
    case 'icmp':
      return judgeIcmp({ target, observation });
    case 'vendor':
      return judgeVendor({ target, observation });
    case 'dns':
      return judgeDns({ target, observation });
    case 'domain':
      return judgeDomain({ target, observation });
    case 'unsupported':
      return {
        verdict: 'none',
        cause: 'unsupported',
        reason: `Monitors of type ${observation.monitorType} cannot be checked here`,
      };
    case 'http':
      throw new TypeError('An http observation has conditions of its own');
    default:
      return observation satisfies never;
  }
}

/** Work is counted in units of 0.1 us, the worst-case cost of each kind. */
export const WORK_PER_MS = 10_000;

/** One step of a pattern on one character of a text. */
const PER_STEP = 1;

/** Compiling a pattern costs as much as searching this many characters with it. */
const COMPILING = 40;

/**
 * Parsing one character of JSON, and twice more for each assertion that serializes its value with the original numbers.
 */
const PER_JSON_CHARACTER = 1;

/**
 * Text search: per pair of a character of the text and one of the search string; or per character of the text, if
 * linear.
 */
const PER_PAIR = 0.004;
const PER_LINEAR_CHARACTER = 0.05;

/** Normalising an expected record, and comparing it with one that was found. */
const PER_RECORD = 10;
const PER_RECORD_PAIR = 0.5;

const PER_COMPONENT_PAIR = 3;

/** Returns an upper bound of the work of judging an observation. Counting stops above `WORK_PER_MS`. */
export function measureJudging(target: CheckTarget, observation: Observation): number {
  switch (observation.type) {
    case 'http':
      return reachesConditions(target, observation) ? measureConditions(conditionsOf(target), observation) : 0;
    case 'tcp':
      return observation.outcome === 'connected' && observation.answer !== null
        ? measureExpectation(target, observation.answer.text)
        : 0;
    case 'udp':
      return observation.outcome === 'replied' ? measureExpectation(target, observation.reply) : 0;
    case 'dns':
      return measureRecords(target, observation);
    case 'vendor':
      return measureComponents(target, observation);
    default:
      return 0;
  }
}

/** Returns an upper bound of the work of searching a text for a pattern. */
export function measureSearch(pattern: string, text: string): number {
  // A long pattern needs no measuring.
  const size = pattern.length > LONG_PATTERN ? pattern.length : Math.max(1, measurePattern(pattern));
  return size * (text.length + COMPILING) * PER_STEP;
}

const LONG_PATTERN = 500;

function measureConditions(conditions: readonly Assertion[], answer: HttpAnswered): number {
  let work = conditions.some(({ source }) => source === 'json_body')
    ? (answer.body?.length ?? 0) * PER_JSON_CHARACTER
    : 0;
  for (const assertion of conditions) {
    if (work > WORK_PER_MS) return work;
    work += measureCondition(assertion, answer);
  }
  return work;
}

function measureCondition({ source, op, value = '', name = '' }: Assertion, { body, headers }: HttpAnswered): number {
  if (source === 'response_time' || source === 'cert_expiry') return 0;
  const text = source === 'header' ? String(headers[name.toLowerCase()] ?? '') : (body ?? '');
  const writing = source === 'json_body' ? 2 * text.length * PER_JSON_CHARACTER : 0;
  return writing + (op === 'matches' ? measureSearch(value, text) : measureContains(value, text));
}

function measureContains(sought: string, text: string): number {
  return text.length >= linearSearchFrom(sought.length)
    ? text.length * PER_LINEAR_CHARACTER
    : text.length * sought.length * PER_PAIR;
}

function measureExpectation({ checkSpec: { transport } }: CheckTarget, text: string): number {
  const { expect = '', expectMode } = transport ?? {};
  return expectMode === 'regex' ? measureSearch(expect, text) : measureContains(expect, text);
}

function measureRecords({ checkSpec: { dns } }: CheckTarget, observation: DnsObservation): number {
  if (observation.outcome === 'not_queried') return 0;
  const opinions = [observation.answers, ...observation.opinions.map(({ answers }) => answers)];
  let work = 0;
  for (const { type, expected = [] } of dns?.records ?? []) {
    for (const answers of opinions)
      work += expected.length * (PER_RECORD + countRecords(answers, type) * PER_RECORD_PAIR);
  }
  return work;
}

function countRecords(answers: DnsAnswers, type: keyof DnsAnswers): number {
  const answer = answers[type];
  return answer?.outcome === 'records' ? answer.records.length : 0;
}

function measureComponents({ checkSpec: { vendor } }: CheckTarget, observation: VendorObservation): number {
  return observation.outcome === 'read'
    ? (vendor?.components?.length ?? 0) * observation.snapshot.components.length * PER_COMPONENT_PAIR
    : 0;
}
