import type { FixedCause } from '../verdict.ts';

type Started = {
  type: 'icmp';
  /** Unix milliseconds at which the probe began. */
  startedAt: number;
};

/** Echo requests that went out, and how many of them were answered in time. */
export type IcmpMeasured = Started & {
  outcome: 'measured';
  /**
   * The mean round trip of the answered requests in milliseconds, lookup not included; null when none was answered.
   */
  latencyMs: number | null;
  /** 1 or more. */
  sent: number;
  /** From 0 to `sent`: a request that is answered twice counts once. */
  received: number;
};

/** No request could be sent there; `reason` is a sentence for people. */
export type IcmpFailed = Started & { outcome: 'failed'; latencyMs: null; cause: FixedCause; reason: string };

/** Nothing on the probing machine could send echo requests; `reason` is a sentence for people. */
export type IcmpUnavailable = Started & { outcome: 'unavailable'; latencyMs: null; reason: string };

/** The facts of one icmp probe. */
export type IcmpObservation = IcmpMeasured | IcmpFailed | IcmpUnavailable;
