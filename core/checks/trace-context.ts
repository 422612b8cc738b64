/** Which check: its monitor, the agent that makes it, and the moment of its result (Unix milliseconds). */
export type TracedCheck = { monitorId: string; sourceId: string; dueAtMs: number };

/** The ids of a check's trace and of its spans, in lower-case hex (W3C Trace Context). */
export type TraceIds = { traceId: string; spanId: string; stepIds: readonly string[] };

/** SHA-256 of a text, in hex. */
type Digest = (text: string) => string;

/** A span for each step of an exchange, at most. */
const STEPS = 5;

/**
 * The ids of a check's trace follow from the check, so that none is stored. The request carries them before there is a
 * result, and an incident names them from its evidence.
 */
export function traceOf({ monitorId, sourceId, dueAtMs }: TracedCheck, digest: Digest): TraceIds {
  const hex = digest(`${monitorId} ${sourceId} ${dueAtMs}`);
  const spanId = hex.slice(32, 48);
  // They differ in the last digit, and from the span's own id in others.
  const steps = hex.slice(48, 63);
  return { traceId: hex.slice(0, 32), spanId, stepIds: Array.from({ length: STEPS }, (_, step) => `${steps}${step}`) };
}

/** The header `traceparent` of a request that belongs to the span; it says that the trace is recorded. */
export function traceparentOf({ traceId, spanId }: TraceIds): string {
  return `00-${traceId}-${spanId}-01`;
}
