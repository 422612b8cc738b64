import { createHmac, timingSafeEqual } from 'node:crypto';

// Older deliveries are refused, so that a recorded one cannot be replayed.
const TOLERANCE_SECONDS = 300;

/**
 * Reports whether a request came from Spotcheck: both of its signatures are good, and it is not old.
 * body: the raw bytes, as a Buffer; headers: request.headers; secret: all of it, whsec_ included.
 */
export function isFromSpotcheck(body, headers, secret) {
  // For 24 hours after a change of the secret the previous one signs as well.
  const own = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  const given = [headers['x-service-signature'], headers['x-service-signature-previous']];
  if (!given.some((signature) => isEqual(signature, own))) return false;

  const timestamp = headers['webhook-timestamp'] ?? '';
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!(age <= TOLERANCE_SECONDS)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const hmac = createHmac('sha256', key).update(`${headers['webhook-id']}.${timestamp}.`).update(body);
  const standard = `v1,${hmac.digest('base64')}`;
  return (headers['webhook-signature'] ?? '').split(' ').some((signature) => isEqual(signature, standard));
}

function isEqual(given, expected) {
  const a = Buffer.from(given ?? '');
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
}
