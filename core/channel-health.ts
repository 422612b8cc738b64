/** So many deliveries in a row that came to nothing, and the owner's other channels are notified. */
export const FAILING_AFTER_DELIVERIES = 100;

/**
 * So long without a success after the first that came to nothing, in milliseconds, and they are notified by the next
 * one: three days.
 */
export const FAILING_AFTER_MS = 3 * 86_400_000;

/**
 * Whether a channel has been failing for so many deliveries, or for so long, that its owner must be notified of it
 * elsewhere. Judged when a delivery has come to nothing.
 */
export function isFailing(
  { failures, failingSinceMs }: { failures: number; failingSinceMs: number },
  nowMs: number,
): boolean {
  return failures >= FAILING_AFTER_DELIVERIES || (failures > 0 && nowMs - failingSinceMs >= FAILING_AFTER_MS);
}
