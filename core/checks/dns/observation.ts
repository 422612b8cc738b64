import type { FixedCause } from '../verdict.ts';
import type { DnsRecordType } from './records.ts';

/**
 * Why a question brought no answer: none in time, SERVFAIL, REFUSED, no server there, or something that is no proper
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

/** One answer for each type that was queried. */
export type DnsAnswers = Readonly<Partial<Record<DnsRecordType, DnsAnswer>>>;

/** What another resolver says; `resolver` is its address. */
export type DnsOpinion = { resolver: string; answers: DnsAnswers };

type Measured = {
  type: 'dns';
  /** Unix milliseconds at which the probe began. */
  startedAt: number;
  /** From the start to the last answer, in milliseconds; what other resolvers took is not in it. */
  latencyMs: number;
  /** Whether the system's resolvers answer another question; null = that was not in question. */
  ownResolversWork: boolean | null;
};

/**
 * Questions that were put. `server` is the one that the target names, null = the system's resolvers; `opinions` is
 * empty without a cross check.
 */
export type DnsQueried = Measured & {
  outcome: 'queried';
  server: string | null;
  answers: DnsAnswers;
  opinions: readonly DnsOpinion[];
};

/** The server that the target names could not be found, or may not be queried. `reason` is a sentence for people. */
export type DnsNotQueried = Measured & { outcome: 'not_queried'; cause: FixedCause; reason: string };

/** The facts of one dns probe. */
export type DnsObservation = DnsQueried | DnsNotQueried;
