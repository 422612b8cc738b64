import type { CheckTarget } from '../../monitors/monitor.ts';
import type { PatternSearch } from '../http/assertion-check.ts';
import { judgeFailure } from '../judging.ts';
import type { FixedCause, Judgement, Timings } from '../verdict.ts';
import { explainMismatch, isExpectedAnswer } from './payload.ts';

/** What the verdict on an answer depends on. */
type Expectation = Pick<CheckTarget, 'checkSpec'>;

const UP: Judgement = { verdict: 'up', cause: null, reason: null };

/**
 * The verdict on one tcp observation (D-23): up on connect and, where an answer is expected, only with one that fits.
 */
export function judgeTcp({
  target,
  observation,
  search,
}: {
  target: Expectation;
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
  return { verdict: 'down', cause: 'tcp_mismatch', reason: `The response ${explainMismatch(transport)}` };
}

function explainSilence(end: AnswerEnd): string {
  return end === 'closed'
    ? 'The connection was closed before anything arrived'
    : 'Connected, but nothing arrived in time';
}

type TcpMeasured = {
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
export type TcpConnected = TcpMeasured & {
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
export type TcpFailed = TcpMeasured & { outcome: 'failed'; latencyMs: null; cause: FixedCause; reason: string };

/** The facts of one tcp probe. */
export type TcpObservation = TcpConnected | TcpFailed;

type UdpMeasured = {
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
export type UdpReplied = UdpMeasured & { outcome: 'replied'; latencyMs: number; reply: string; replyBytes: string };

/** The datagram went out and nothing came back; `isRefused` when the host said that no service listens on the port. */
export type UdpSilent = UdpMeasured & { outcome: 'silent'; latencyMs: null; isRefused: boolean };

/** No datagram could be sent there; `reason` is a sentence for people. */
export type UdpFailed = UdpMeasured & { outcome: 'failed'; latencyMs: null; cause: FixedCause; reason: string };

/** The facts of one udp probe. */
export type UdpObservation = UdpReplied | UdpSilent | UdpFailed;

/** The verdict on one udp observation (D-24): the first reply decides, and none is down. */
export function judgeUdp({
  target,
  observation,
  search,
}: {
  target: Expectation;
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
      if (isExpectedAnswer(transport, { text: observation.reply, bytes: observation.replyBytes }, search)) return UP;
      return { verdict: 'down', cause: 'udp_mismatch', reason: `The reply ${explainMismatch(transport)}` };
    default:
      return observation satisfies never;
  }
}
