import type { Response } from 'express';
import { Secret, TOTP } from 'otpauth';
import { findSecondFactor, takeRecoveryCode, takeTotpStep } from '../../../models/accounts/second-factor.ts';
import { verifyPassword } from '../../../models/secrets/password.ts';
import { badRequest } from '../../api-error.ts';
import type { Parts } from '../../handler.ts';
import { personOf, type Exchange } from '../../request-context.ts';
import type { Throttle } from './throttle.ts';

/**
 * A proof that a person must give before a setting that protects their account changes. `field` is the request field
 * that contains it.
 */
type Proof = { field: string; isGiven: () => Promise<boolean>; wrong: string };

/**
 * Checks proofs in order and throws 400 at the first that fails. Each failure counts like a failed sign-in: otherwise a
 * stranger at an open browser could guess without limit. A password alone clears no failures of a person with
 * two-factor codes: that would allow more guesses at the code.
 */
export async function requireProofs(throttle: Throttle, exchange: Exchange, proofs: readonly Proof[]): Promise<void> {
  const attempt = await throttle.begin(personOf(exchange.response).user.id, exchange);
  for (const { field, isGiven, wrong } of proofs)
    if (!(await attempt.verify(isGiven))) throw badRequest(`${field} ${wrong}`);
  const hasCode =
    personOf(exchange.response).user.totpConfirmedAt === null || proofs.some(({ field }) => field === 'code');
  await (hasCode ? attempt.succeed() : attempt.excuse());
}

/** Proves that the person knows their password. */
export function passwordProof(response: Response, field: string, password: string): Proof {
  return {
    field,
    wrong: 'is not your password',
    isGiven: () => verifyPassword(password, personOf(response).user.passwordHash),
  };
}

const WRONG_CODE = 'is wrong or has already been used: the app shows a new one every 30 seconds';

/** Proves that the person has their second factor, or its first code; `isGiven` checks the code. */
export function codeProof(isGiven: Proof['isGiven']): Proof {
  return { field: 'code', wrong: WRONG_CODE, isGiven };
}

/**
 * Reports whether a code is valid for a person's second factor: from the app, or a recovery code. A valid one is used
 * up.
 */
export async function takeCode(
  { database, now }: Parts<'database' | 'now'>,
  userId: string,
  typed: string,
): Promise<boolean> {
  const code = normalizeCode(typed);
  // Recovery codes replace a secret that is lost, also because no key of the ring opens it.
  if (!SIX_DIGITS.test(code)) return await takeRecoveryCode(database, userId, code);
  const factor = await findSecondFactor(database, userId);
  if (factor === null || factor.confirmedAt === null) return false;
  const step = findTotpStep(factor.secret, code, now());
  return step !== null && (await takeTotpStep(database, userId, step));
}

const DIGITS = 6;
const STEP_MS = 30_000;
const SIX_DIGITS = /^[0-9]{6}$/;

/** Number of steps that a clock may be off, before and after (RFC 6238, 5.2). */
const SLACK_STEPS = 1;

/** RFC 4226 recommends a secret as long as a SHA-1 hash. */
const SECRET_BYTES = 20;
const RECOVERY_CODES = 10;
const RECOVERY_CODE_BYTES = 10;

/** Returns a new secret for an authenticator app, in base32 (RFC 4648). */
export function generateTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32;
}

/**
 * Returns new recovery codes of 80 bits each, as they are stored: `normalizeCode` converts typed codes to this form.
 */
export function generateRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => new Secret({ size: RECOVERY_CODE_BYTES }).base32.toLowerCase());
}

/** Formats a recovery code for reading: in groups of four. */
export function writeRecoveryCode(code: string): string {
  return code.replaceAll(/.{4}(?=.)/g, '$&-');
}

/** Removes the spaces and hyphens that people type for readability, and lowercases the code. */
export function normalizeCode(typed: string): string {
  return typed.replaceAll(/[\s-]+/g, '').toLowerCase();
}

/** Returns the time step (RFC 6238, SHA-1) of a code, now or one step off; null if it matches none of those. */
export function findTotpStep(secret: string, code: string, nowMs: number): number | null {
  // otpauth throws if a character of a code takes more than one byte.
  if (!SIX_DIGITS.test(code)) return null;
  const off = TOTP.validate({
    token: code,
    secret: Secret.fromBase32(secret),
    digits: DIGITS,
    period: STEP_MS / 1000,
    timestamp: nowMs,
    window: SLACK_STEPS,
  });
  return off === null ? null : Math.floor(nowMs / STEP_MS) + off;
}

/** Returns the content of the QR code for an authenticator app (Google's key URI format). */
export function otpauthUrl(secret: string, email: string): string {
  const parameters = `secret=${secret}&issuer=Spotcheck&algorithm=SHA1&digits=${DIGITS}&period=${STEP_MS / 1000}`;
  return `otpauth://totp/Spotcheck:${encodeURIComponent(email)}?${parameters}`;
}
