import type { FixedCause, Timings } from '../verdict.ts';

/**
 * A server's certificate. Names are common names, or whole distinguished names without one; a certificate without any
 * name gets that of its host. Times are Unix seconds.
 */
export type CertificateFacts = { subject: string; issuer: string; validFrom: number; validTo: number };

type Measured = {
  type: 'http';
  /** Start of the probe, in Unix milliseconds. */
  startedAt: number;
  /** From the start to the last byte read, redirects included, in milliseconds. */
  latencyMs: number;
  /** Each timing summed over all hops, so that they add up to about the latency. */
  timings: Timings;
  /** Of all certificates on the way, the one that expires first; null without TLS. */
  certificate: CertificateFacts | null;
};

/**
 * The last response of an exchange. Header names are in lower case; `body` is decoded text, or null if it is not
 * needed.
 */
export type HttpAnswered = Measured & {
  outcome: 'answered';
  status: number;
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  body: string | null;
  /** Whether the body was longer than the part kept. */
  bodyTruncated: boolean;
  /** First kilobyte of the body, decoded, for people who investigate a failure; null if it was not read. */
  bodyStart: Uint8Array | null;
  /** Whether secrets were sent on the way, which the response may repeat. */
  hadSecrets: boolean;
};

/** An exchange without a response to judge; `reason` is a sentence for people without secrets. */
export type HttpFailed = Measured & { outcome: 'failed'; cause: FixedCause; reason: string };

/** Facts of one http probe. */
export type HttpObservation = HttpAnswered | HttpFailed;
