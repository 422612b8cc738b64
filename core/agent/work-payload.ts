import { readExpectedBytes, type AnswerExpectation } from '../transport/expected-answer.ts';
import { decodePayload, type PayloadEncoding } from '../transport/payload.ts';

/** A payload on its way to an agent: `utf8` stands as it is sent, without escapes; what is no text goes as `hex`. */
export type WorkPayload = { payload: string; payloadEncoding: PayloadEncoding };

// A byte order mark is part of what is sent.
const TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * A stored payload with its escapes resolved (D-24); null where it does not fit its encoding, which nothing that was
 * checked at write does.
 */
export function resolvePayload(payload: string, encoding: PayloadEncoding): WorkPayload | null {
  const bytes = decodePayload(payload, encoding);
  if (!bytes.ok) return null;
  const text = encoding === 'utf8' ? readText(bytes.value) : null;
  return text === null
    ? { payload: hexOf(bytes.value), payloadEncoding: 'hex' }
    : { payload: text, payloadEncoding: 'utf8' };
}

/**
 * The text that an answer must contain, in the form that goes with the payload's encoding on the way (D-65): bytes that
 * had to become hex must not have it read as hex. A pattern is text beside either.
 */
export function expectationBeside<Spec extends AnswerExpectation>(spec: Spec, sentAs: PayloadEncoding): Spec {
  const { expect, expectMode } = spec;
  if (!expect || expectMode === 'regex' || sentAs === 'utf8' || readExpectedBytes(spec) !== null) return spec;
  return { ...spec, expect: hexOf(new TextEncoder().encode(expect)) };
}

/**
 * The payload of a work item as monitors have it: text with its backslashes escaped, so that nothing is resolved twice,
 * or hex.
 */
export function storedPayload({ payload, payloadEncoding }: WorkPayload): string {
  return payloadEncoding === 'hex' ? payload : payload.replaceAll('\\', String.raw`\\`);
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
