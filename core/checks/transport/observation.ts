import type { CheckTarget } from '../../monitors/monitor.ts';
import type { PatternSearch } from '../http/assertion-check.ts';
import { judgeFailure } from '../judging.ts';
import { UP, type FixedCause, type Judgement, type Timings } from '../verdict.ts';
import { explainMismatch, isExpectedAnswer } from './payload.ts';

/** Inputs of the verdict on a response. */
type Expectation = Pick<CheckTarget, 'checkSpec'>;

/** Judges one tcp observation (D-23): up on connect and, if a response is expected, only with a matching one. */
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
  // This holds even for a pattern that matches the empty text: the expected response did not arrive.
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
  /** Start of the probe, in Unix milliseconds. */
  startedAt: number;
  timings: Timings;
};

/**
 * End of the wait for a response: enough of it arrived, the peer closed or reset the connection, or the deadline
 * passed.
 */
type AnswerEnd = 'enough' | 'closed' | 'deadline';

/** An established connection, and the data received over it. */
type TcpConnected = TcpMeasured & {
  outcome: 'connected';
  /**
   * From the start, lookup included, to the connection or, if there was a response, to its last byte read; in
   * milliseconds.
   */
  latencyMs: number;
  /** Null if no response was awaited. */
  answer: TcpAnswer | null;
};

/**
 * At most the first 4096 bytes received. `text` decodes them as UTF-8: invalid bytes become U+FFFD, and half a
 * character at the end is left out. `bytes` has one Latin-1 character per byte. `byteLength` 0: nothing arrived.
 */
export type TcpAnswer = { text: string; bytes: string; byteLength: number; end: AnswerEnd };

/** No connection; `reason` is a sentence for people. */
type TcpFailed = TcpMeasured & { outcome: 'failed'; latencyMs: null; cause: FixedCause; reason: string };

/** Facts of one tcp probe. */
export type TcpObservation = TcpConnected | TcpFailed;

type UdpMeasured = {
  type: 'udp';
  /** Start of the probe, in Unix milliseconds. */
  startedAt: number;
  /** Duration of the name lookup in milliseconds; null if there was none. */
  dnsMs: number | null;
};

/**
 * The first reply, as UTF-8 text with U+FFFD for invalid bytes, and byte by byte as Latin-1. The latency is the time
 * from the datagram to the reply in milliseconds, without the lookup.
 */
type UdpReplied = UdpMeasured & { outcome: 'replied'; latencyMs: number; reply: string; replyBytes: string };

/** The datagram was sent and no reply arrived; `isRefused` if the host reported that no service listens on the port. */
type UdpSilent = UdpMeasured & { outcome: 'silent'; latencyMs: null; isRefused: boolean };

/** No datagram could be sent; `reason` is a sentence for people. */
type UdpFailed = UdpMeasured & { outcome: 'failed'; latencyMs: null; cause: FixedCause; reason: string };

/** Facts of one udp probe. */
export type UdpObservation = UdpReplied | UdpSilent | UdpFailed;

/** Judges one udp observation (D-24): the first reply decides, and none is down. */
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
