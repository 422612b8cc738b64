import { createHmac, createSecretKey } from 'node:crypto';

/** Input of a signature: the exact bytes sent, and their description in the headers. */
type SignedDelivery = { body: Buffer; event: string; deliveryId: string; sentAtSeconds: number };

/**
 * Builds the signed headers of one attempt, with two signatures. One is the service's own (HMAC-SHA256 of the body,
 * keyed with the whole secret), the other that of Standard Webhooks 1.0 (id, timestamp and body, keyed with the decoded
 * part), so that any of its libraries verifies it (D-53). A recently changed secret signs beside the new one in both,
 * so that a receiver verifies with either.
 */
export function signDelivery(
  delivery: SignedDelivery,
  signingSecret: string,
  previousSecret: string | null = null,
): Record<string, string> {
  const { event, deliveryId, sentAtSeconds } = delivery;
  const timestamp = String(sentAtSeconds);
  const standard = signStandard(delivery, signingSecret);
  return {
    'X-Service-Signature': signOwn(delivery, signingSecret),
    ...(previousSecret !== null && { 'X-Service-Signature-Previous': signOwn(delivery, previousSecret) }),
    'X-Service-Event': event,
    'X-Service-Delivery': deliveryId,
    'X-Service-Timestamp': timestamp,
    'webhook-id': deliveryId,
    'webhook-timestamp': timestamp,
    'webhook-signature': previousSecret === null ? standard : `${standard} ${signStandard(delivery, previousSecret)}`,
  };
}

function signOwn({ body }: SignedDelivery, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

function signStandard({ body, deliveryId, sentAtSeconds }: SignedDelivery, secret: string): string {
  // Node takes some 20 us longer with a key given as a buffer, which is more than the rest of this function.
  const key = createSecretKey(decodeSigningSecret(secret));
  const digest = createHmac('sha256', key).update(`${deliveryId}.${sentAtSeconds}.`).update(body).digest('base64');
  return `v1,${digest}`;
}

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/**
 * Generates a signing secret: `whsec_` and 32 random bytes in base64 (D-53). `randomBytes` must be a cryptographic
 * source.
 */
export function generateSigningSecret(randomBytes: (size: number) => Buffer): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** Returns the key that Standard Webhooks derives from a signing secret: the decoded part after its prefix. */
export function decodeSigningSecret(signingSecret: string): Buffer {
  return Buffer.from(signingSecret.slice(PREFIX.length), 'base64');
}
