import { decodePayload, type PayloadEncoding } from '../transport/payload.ts';

/** A payload on its way to an agent: `utf8` stands as it is sent, without escapes; what is no text goes as `hex`. */
export type WorkPayload = { payload: string; payloadEncoding: PayloadEncoding };

// A byte order mark is part of what is sent.
const TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A stored payload with its escapes resolved (D-24); null where it does not fit its encoding, which nothing that was checked at write does. */
export function resolvePayload(payload: string, encoding: PayloadEncoding): WorkPayload | null {
  const bytes = decodePayload(payload, encoding);
  if (!bytes.ok) return null;
  const text = encoding === 'utf8' ? readText(bytes.value) : null;
  return text === null ? { payload: hexOf(bytes.value), payloadEncoding: 'hex' } : { payload: text, payloadEncoding: 'utf8' };
}

/** The payload of a work item in the one form of our own that has no escapes, so that none is resolved twice: pairs of hexadecimal digits. */
export function hexPayload({ payload, payloadEncoding }: WorkPayload): string {
  return payloadEncoding === 'hex' ? payload : hexOf(new TextEncoder().encode(payload));
}

function readText(bytes: Uint8Array): string | null {
  try {
    return TEXT.decode(bytes);
  } catch {
    return null;
  }
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
