import type { StoredMessage } from './envelope.ts';

/** What makes an email of one delivery, the same in each of its attempts. */
export type EmailIdentity = {
  /** The part of the Message-ID before its `@`. */
  messageId: string;
  /** The part before the `@` of the reference that messages of one thread share; null = it stands alone. */
  threadId: string | null;
};

/**
 * Names the email of a delivery. Retries have the same Message-ID, so that a reader who gets it twice sees it once; a
 * redelivery has another, or it would be hidden. All of an incident refer to one id, which no message has itself.
 */
export function identifyEmail({
  deliveryId,
  attemptsBefore,
  message,
}: {
  deliveryId: string;
  attemptsBefore: number;
  message: StoredMessage;
}): EmailIdentity {
  const round = attemptsBefore === 0 ? '' : `.${attemptsBefore}`;
  return { messageId: `${deliveryId}${round}`, threadId: incidentOf(message) };
}

function incidentOf(message: StoredMessage): string | null {
  return 'detail' in message && 'incident_id' in message.detail ? message.detail.incident_id : null;
}
