import type { FixedCause } from '../verdict.ts';
import type { DnsRecordType } from './records.ts';

/** Why a query got no answer: none in time, SERVFAIL, REFUSED, no server there, or an invalid response. */
export type DnsFailure = 'timeout' | 'servfail' | 'refused' | 'unreachable' | 'invalid';

/** Result of one query. `records` are normalised, sorted and unique; empty = the name has none of this type. */
export type DnsAnswer =
  | { outcome: 'records'; records: readonly string[] }
  | { outcome: 'nxdomain' }
  | { outcome: 'failed'; failure: DnsFailure };

/** One answer per queried type. */
export type DnsAnswers = Readonly<Partial<Record<DnsRecordType, DnsAnswer>>>;

/** Answers of another resolver; `resolver` is its address. */
export type DnsOpinion = { resolver: string; answers: DnsAnswers };

type Measured = {
  type: 'dns';
  /** Start of the probe, in Unix milliseconds. */
  startedAt: number;
  /** From the start to the last answer, in milliseconds, without the other resolvers. */
  latencyMs: number;
  /** Whether the system's resolvers answer another query; null = that was not tested. */
  ownResolversWork: boolean | null;
};

/**
 * Queries were sent. `server` is the one that the target names, null = the system's resolvers; `opinions` is empty
 * without a cross check.
 */
export type DnsQueried = Measured & {
  outcome: 'queried';
  server: string | null;
  answers: DnsAnswers;
  opinions: readonly DnsOpinion[];
};

/** The server named by the target could not be found, or may not be queried. `reason` is a sentence for people. */
export type DnsNotQueried = Measured & { outcome: 'not_queried'; cause: FixedCause; reason: string };

/** Facts of one dns probe. */
export type DnsObservation = DnsQueried | DnsNotQueried;
