import type { FailureCause } from '../net/failure.ts';

/** `delivered`; `retry` where another attempt may do better; `failed` where none will (D-50). */
export type AttemptOutcome = 'delivered' | 'retry' | 'failed';

/** What came of one attempt at one channel. */
export type AttemptResult = {
  outcome: AttemptOutcome;
  /** Null where no answer came. */
  statusCode: number | null;
  durationMs: number;
  /** A sentence for people without secrets; null when delivered. */
  error: string | null;
  /** The start of the answer's body as printable text; null where there was none. */
  response: string | null;
};

/** What a failed exchange means (D-50): only what our own rules refuse will not go better another time. */
export const OUTCOME_OF_FAILURE = {
  timeout: 'retry',
  dns_nxdomain: 'retry',
  dns_error: 'retry',
  conn_refused: 'retry',
  conn_error: 'retry',
  tls_error: 'retry',
  cert_expired: 'retry',
  blocked_target: 'failed',
  unsupported: 'failed',
} as const satisfies Record<FailureCause, AttemptOutcome>;
