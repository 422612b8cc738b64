import type { PatternSearch } from '../http/assertion-check.ts';
import { judgeFailure } from '../judge-failure.ts';
import type { CheckTarget } from '../monitor.ts';
import type { Judgement } from '../verdict.ts';
import { explainMismatch, isExpectedAnswer } from './expected-answer.ts';
import type { AnswerEnd, TcpObservation } from './tcp-observation.ts';

/** What the verdict on a tcp connection depends on. */
export type TcpExpectation = Pick<CheckTarget, 'checkSpec'>;

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
