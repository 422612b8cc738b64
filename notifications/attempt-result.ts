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
