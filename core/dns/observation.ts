import type { FixedCause } from '../verdict.ts';
import type { DnsRecordType } from './records.ts';

/**
 * Why a question brought no answer: none in time, SERVFAIL, REFUSED, nobody there, or something that is no proper
 * answer.
 */
export type DnsFailure = 'timeout' | 'servfail' | 'refused' | 'unreachable' | 'invalid';

/**
 * What came of one question. `records` are normalised, sorted and each once; empty = the name has none of this type.
 */
export type DnsAnswer =
  | { outcome: 'records'; records: readonly string[] }
  | { outcome: 'nxdomain' }
  | { outcome: 'failed'; failure: DnsFailure };

/** One answer for each type that was asked for. */
export type DnsAnswers = Readonly<Partial<Record<DnsRecordType, DnsAnswer>>>;

/** What another resolver says; `resolver` is its address. */
export type DnsOpinion = { resolver: string; answers: DnsAnswers };

type Measured = {
  type: 'dns';
  /** Unix milliseconds at which the probe began. */
  startedAt: number;
  /** From the start to the last answer, in milliseconds; what other resolvers took is not in it. */
  latencyMs: number;
  /** Whether the system's resolvers answer another question; null = they were not in doubt. */
  ownResolversWork: boolean | null;
};

/**
 * Questions that were put. `server` is the one that the target names, null = the system's resolvers; `opinions` is
 * empty without a cross check.
 */
export type DnsAsked = Measured & {
  outcome: 'asked';
  server: string | null;
  answers: DnsAnswers;
  opinions: readonly DnsOpinion[];
};

/** The server that the target names could not be found, or may not be asked. `reason` is a sentence for people. */
export type DnsUnasked = Measured & { outcome: 'unasked'; cause: FixedCause; reason: string };

/** The facts of one dns probe. */
export type DnsObservation = DnsAsked | DnsUnasked;
