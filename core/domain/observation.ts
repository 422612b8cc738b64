import type { DomainFacts } from './facts.ts';

/** The facts of one lookup of a domain. */
export type DomainObservation = {
  type: 'domain';
  /** Unix milliseconds at which the probe began. */
  startedAt: number;
  /** How long the registry took to answer, in milliseconds; null when the answer came from what was known already. */
  latencyMs: number | null;
  /** Null where the target has no registrable domain. */
  facts: DomainFacts | null;
};
