import type { StoredMessage } from '../../core/envelope.ts';
import type { Attempt, Delivery } from '../../models/delivery-record.ts';
import type { components } from '../schema.generated.ts';

/** A delivery as lists show it: never where it goes to. */
export function presentDelivery(delivery: Delivery): components['schemas']['Delivery'] {
  return {
    id: delivery.id,
    channel_id: delivery.channelId,
    monitor_id: delivery.monitorId,
    event: delivery.event,
    outcome: delivery.outcome,
    attempt_count: delivery.attemptCount,
    ...(delivery.merged > 0 && { merged: delivery.merged }),
    last_error: delivery.lastError,
    created_at: toUnixSeconds(delivery.createdAtMs),
    next_attempt_at: delivery.nextAttemptAtMs === null ? null : toUnixSeconds(delivery.nextAttemptAtMs),
    finished_at: delivery.finishedAtMs === null ? null : toUnixSeconds(delivery.finishedAtMs),
  };
}

/** A delivery with what was sent and what came of each attempt. */
export function presentDeliveryDetail(
  delivery: Delivery & { message: StoredMessage; attempts: Attempt[] },
): components['schemas']['DeliveryDetail'] {
  return { ...presentDelivery(delivery), message: delivery.message, attempts: delivery.attempts.map(presentAttempt) };
}

function presentAttempt(attempt: Attempt): components['schemas']['DeliveryAttempt'] {
  return {
    attempt: attempt.attempt,
    started_at: toUnixSeconds(attempt.startedAtMs),
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    status_code: attempt.statusCode,
    error: attempt.error,
    response: attempt.response,
  };
}

function toUnixSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
