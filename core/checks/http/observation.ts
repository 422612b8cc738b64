import type { FixedCause, Timings } from '../verdict.ts';

/**
 * The certificate that a server showed. Names are common names, or whole distinguished names where there is none; that
 * of a certificate without any is the host that showed it. Times are Unix seconds.
 */
export type CertificateFacts = { subject: string; issuer: string; validFrom: number; validTo: number };

type Measured = {
  type: 'http';
  /** Unix milliseconds at which the probe began. */
  startedAt: number;
  /** From the start to the end of what was read, redirects included, in milliseconds. */
  latencyMs: number;
  /** Each timing summed over all hops, so that they add up to about the latency. */
  timings: Timings;
  /** Of all certificates met on the way, the one that expires first; null without TLS. */
  certificate: CertificateFacts | null;
};

/**
 * The last answer of an exchange. Header names are in lower case; `body` is null when nothing looks at it, and decoded
 * text otherwise.
 */
export type HttpAnswered = Measured & {
  outcome: 'answered';
  status: number;
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  body: string | null;
  /** True when the body was longer than what is kept of it. */
  bodyTruncated: boolean;
  /**
   * The first kilobyte of the body, its content coding undone, for people who look into a failure; null where nothing
   * was read.
   */
  bodyStart: Uint8Array | null;
  /** True when something secret was sent on the way, which the answer may repeat. */
  hadSecrets: boolean;
};

/** An exchange that brought no answer that could be judged; `reason` is a sentence for people without secrets. */
export type HttpFailed = Measured & { outcome: 'failed'; cause: FixedCause; reason: string };

/** The facts of one http probe. */
export type HttpObservation = HttpAnswered | HttpFailed;
