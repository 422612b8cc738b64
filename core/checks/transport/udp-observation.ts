import type { CheckTarget } from '../../monitors/monitor.ts';
import type { PatternSearch } from '../http/assertion-check.ts';
import { judgeFailure } from '../judging.ts';
import type { FixedCause, Judgement } from '../verdict.ts';
import { explainMismatch, isExpectedAnswer } from './payload.ts';

type Measured = {
  type: 'udp';
  /** Unix milliseconds at which the probe began. */
  startedAt: number;
  /** The lookup of the name in milliseconds; null where nothing was looked up. */
  dnsMs: number | null;
};

/**
 * The first reply, as UTF-8 text, in which bytes that are none are U+FFFD, and byte by byte as Latin-1. The latency is
 * the time from the datagram to the reply in milliseconds, without the lookup.
 */
export type UdpReplied = Measured & { outcome: 'replied'; latencyMs: number; reply: string; replyBytes: string };

/** The datagram went out and nothing came back; `isRefused` when the host said that no service listens on the port. */
export type UdpSilent = Measured & { outcome: 'silent'; latencyMs: null; isRefused: boolean };

/** No datagram could be sent there; `reason` is a sentence for people. */
export type UdpFailed = Measured & { outcome: 'failed'; latencyMs: null; cause: FixedCause; reason: string };

/** The facts of one udp probe. */
export type UdpObservation = UdpReplied | UdpSilent | UdpFailed;

/** What the verdict on a udp reply depends on. */
type UdpExpectation = Pick<CheckTarget, 'checkSpec'>;

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
