import type { FixedCause, Timings } from '../verdict.ts';

type Measured = {
  type: 'tcp';
  /** Unix milliseconds at which the probe began. */
  startedAt: number;
  timings: Timings;
};

/**
 * What ended the wait for an answer: enough of it came, the peer closed or reset the connection, or the deadline
 * passed.
 */
export type AnswerEnd = 'enough' | 'closed' | 'deadline';

/** A connection that came about, and what was received over it. */
export type TcpConnected = Measured & {
  outcome: 'connected';
  /**
   * From the start, lookup included, to the connection or, where an answer came, to its last byte that was read; in
   * milliseconds.
   */
  latencyMs: number;
  /** Null where no answer was waited for. */
  answer: TcpAnswer | null;
};

/**
 * The first 4096 bytes at most of what arrived. `text` reads them as UTF-8: bytes that are none are U+FFFD, and half a
 * character at the end is left out. `bytes` has one Latin-1 character for each. `byteLength` 0: nothing arrived.
 */
export type TcpAnswer = { text: string; bytes: string; byteLength: number; end: AnswerEnd };

/** No connection; `reason` is a sentence for people. */
export type TcpFailed = Measured & { outcome: 'failed'; latencyMs: null; cause: FixedCause; reason: string };

/** The facts of one tcp probe. */
export type TcpObservation = TcpConnected | TcpFailed;
