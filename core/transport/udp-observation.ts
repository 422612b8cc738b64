import type { FixedCause } from '../verdict.ts';

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
