import type { CheckTarget } from '../../monitors/monitor.ts';
import type { PatternSearch } from '../http/assertion-check.ts';
import { judgeFailure } from '../judging.ts';
import type { FixedCause, Timings, Judgement } from '../verdict.ts';
import { explainMismatch, isExpectedAnswer } from './payload.ts';

/** What the verdict on a tcp connection depends on. */
type TcpExpectation = Pick<CheckTarget, 'checkSpec'>;

/**
 * The verdict on one tcp observation (D-23): up on connect and, where an answer is expected, only with one that fits.
 */
export function judgeTcp({
  target,
  observation,
  search,
}: {
  target: TcpExpectation;
  observation: TcpObservation;
  search: PatternSearch;
}): Judgement {
  if (observation.outcome === 'failed') return judgeFailure(observation);
  const { answer } = observation;
  if (answer === null) return UP;
  // Also for a pattern that would be found in nothing: an answer was to come, and none did.
  if (answer.byteLength === 0) return { verdict: 'down', cause: 'tcp_no_banner', reason: explainSilence(answer.end) };
  const transport = target.checkSpec.transport ?? {};
  if (isExpectedAnswer(transport, answer, search)) return UP;
  return { verdict: 'down', cause: 'tcp_mismatch', reason: `The answer ${explainMismatch(transport)}` };
}

const UP: Judgement = { verdict: 'up', cause: null, reason: null };

function explainSilence(end: AnswerEnd): string {
  return end === 'closed'
    ? 'The connection was closed before anything arrived'
    : 'Connected, but nothing arrived in time';
}

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
