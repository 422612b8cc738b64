import { createHmac } from 'node:crypto';
import { decodeSigningSecret } from './signing-secret.ts';

/** What is signed: the very bytes that are sent, and what the headers say of them. */
export type SignedDelivery = { body: Buffer; event: string; deliveryId: string; sentAtSeconds: number };

/**
 * The headers of one attempt, signed in two ways: the service's own (HMAC-SHA256 of the body, keyed with the whole secret) and that of
 * Standard Webhooks 1.0 (id, timestamp and body, keyed with the decoded part), so that any of its libraries verifies it (D-53).
 */
export function signDelivery({ body, event, deliveryId, sentAtSeconds }: SignedDelivery, signingSecret: string): Record<string, string> {
  const timestamp = String(sentAtSeconds);
  const own = createHmac('sha256', signingSecret).update(body).digest('hex');
  const standard = createHmac('sha256', decodeSigningSecret(signingSecret)).update(`${deliveryId}.${timestamp}.`).update(body).digest('base64');
  return {
    'X-Service-Signature': `sha256=${own}`,
    'X-Service-Event': event,
    'X-Service-Delivery': deliveryId,
    'X-Service-Timestamp': timestamp,
    'webhook-id': deliveryId,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${standard}`,
  };
}
