import type { FixedCause } from '../../core/checks/verdict.ts';

/**
 * A number of echo requests to one address, all to be answered within the deadline in milliseconds. The address is in
 * its usual form.
 */
export type EchoRound = { address: string; count: number; deadlineMs: number };

/**
 * What became of a round. The round trips of the requests that were answered, in milliseconds; or no request could be
 * sent there; or none from here.
 */
export type EchoOutcome =
  | { outcome: 'measured'; sent: number; roundTripsMs: readonly number[] }
  | { outcome: 'failed'; cause: FixedCause; reason: string }
  | { outcome: 'unavailable'; reason: string };

/** What echo requests can be sent with. */
export type EchoMeansKind = 'datagram socket' | 'raw socket' | 'ping program';

/** A way to send echo requests over one family of addresses, for all monitors together. */
export type EchoMeans = {
  kind: EchoMeansKind;
  /** Rejects only where our own machine lacks something, which is no vote (D-20). */
  measure: (round: EchoRound) => Promise<EchoOutcome>;
  /** Lets go of what is open; rounds under way get no more replies. */
  close: () => Promise<void>;
};

/**
 * The pause between two requests of a round, in milliseconds. There are five a second at the most, and the last has
 * half the deadline left for its reply.
 */
export function gapMs({ count, deadlineMs }: Pick<EchoRound, 'count' | 'deadlineMs'>): number {
  return Math.min(200, deadlineMs / 2 / count);
}
