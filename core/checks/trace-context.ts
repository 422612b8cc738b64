/** Identity of a check: its monitor, its agent, and the moment of its result (Unix milliseconds). */
export type TracedCheck = { monitorId: string; sourceId: string; dueAtMs: number };

/** Ids of a check's trace and of its spans, in lower-case hex (W3C Trace Context). */
export type TraceIds = { traceId: string; spanId: string; stepIds: readonly string[] };

/** SHA-256 of a text, in hex. */
type Digest = (text: string) => string;

/** Maximum number of spans for steps of an exchange. */
const STEPS = 5;

/**
 * Derives the ids of a check's trace from the check, so that they need not be stored. The request contains them before
 * there is a result, and an incident derives them from its evidence.
 */
export function traceOf({ monitorId, sourceId, dueAtMs }: TracedCheck, digest: Digest): TraceIds {
  const hex = digest(`${monitorId} ${sourceId} ${dueAtMs}`);
  const spanId = hex.slice(32, 48);
  // The step ids differ in the last digit, and from the span's own id in others.
  const steps = hex.slice(48, 63);
  return { traceId: hex.slice(0, 32), spanId, stepIds: Array.from({ length: STEPS }, (_, step) => `${steps}${step}`) };
}

/** Returns the `traceparent` header of a request in the span, with the flag that the trace is recorded. */
export function traceparentOf({ traceId, spanId }: TraceIds): string {
  return `00-${traceId}-${spanId}-01`;
}
