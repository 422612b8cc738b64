import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const DIGITS = 6;
const STEP_MS = 30_000;

/** As many steps a clock may be off, before and after (RFC 6238, 5.2). */
const SLACK_STEPS = 1;

/** RFC 4226 asks for as long a secret as SHA-1 is. */
const SECRET_BYTES = 20;
const RECOVERY_CODES = 10;
const RECOVERY_CODE_BYTES = 10;

/** A new secret for an authenticator app, in base32 (RFC 4648). */
export function generateTotpSecret(): string {
  return toBase32(randomBytes(SECRET_BYTES));
}

/** New recovery codes of 80 bits each, as they are stored: `normalizeCode` makes the same of what people type. */
export function generateRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => toBase32(randomBytes(RECOVERY_CODE_BYTES)).toLowerCase());
}

/** A recovery code as people read it: in groups of four. */
export function writeRecoveryCode(code: string): string {
  return code.replaceAll(/.{4}(?=.)/g, '$&-');
}

/** A code without what people put into it for the eye. */
export function normalizeCode(typed: string): string {
  return typed.replaceAll(/[\s-]+/g, '').toLowerCase();
}

/** The code of a secret at a time step (RFC 6238 with SHA-1, six digits). */
export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 0xf;
  return String((digest.readUInt32BE(offset) & 0x7fff_ffff) % 10 ** DIGITS).padStart(DIGITS, '0');
}

/** The time step that a code is of, now or one step off; null where it is of none of those. */
export function findTotpStep(secret: string, code: string, nowMs: number): number | null {
  const current = Math.floor(nowMs / STEP_MS);
  const steps = Array.from({ length: 2 * SLACK_STEPS + 1 }, (_, index) => current - SLACK_STEPS + index);
  return steps.findLast((step) => isSame(totpCode(secret, step), code)) ?? null;
}

/** What an authenticator app reads from the picture (Google's key URI format). */
export function otpauthUrl(secret: string, email: string): string {
  const parameters = `secret=${secret}&issuer=Spotcheck&algorithm=SHA1&digits=${DIGITS}&period=${STEP_MS / 1000}`;
  return `otpauth://totp/Spotcheck:${encodeURIComponent(email)}?${parameters}`;
}

function isSame(expected: string, actual: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(actual)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function toBase32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five, 2)]).join('');
}

function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}
