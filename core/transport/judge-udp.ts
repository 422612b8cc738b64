import type { PatternSearch } from '../http/assertion-check.ts';
import { judgeFailure } from '../judge-failure.ts';
import type { CheckTarget } from '../monitor.ts';
import type { Judgement } from '../verdict.ts';
import { explainMismatch, isExpectedAnswer } from './expected-answer.ts';
import type { UdpObservation } from './udp-observation.ts';

/** What the verdict on a udp reply depends on. */
export type UdpExpectation = Pick<CheckTarget, 'checkSpec'>;

/** The verdict on one udp observation (D-24): the first reply decides, and none is down. */
export function judgeUdp({
  target,
  observation,
  search,
}: {
  target: UdpExpectation;
  observation: UdpObservation;
  search: PatternSearch;
}): Judgement {
  const transport = target.checkSpec.transport ?? {};
  switch (observation.outcome) {
    case 'failed':
      return judgeFailure(observation);
    case 'silent':
      return {
        verdict: 'down',
        cause: 'udp_no_reply',
        reason: observation.isRefused ? 'Port unreachable: no service listens there' : 'No reply came in time',
      };
    case 'replied':
      if (isExpectedAnswer(transport, { text: observation.reply, bytes: observation.replyBytes }, search))
        return { verdict: 'up', cause: null, reason: null };
      return { verdict: 'down', cause: 'udp_mismatch', reason: `The reply ${explainMismatch(transport)}` };
    default:
      return observation satisfies never;
  }
}
