import type { Response } from 'express';
import { findSecondFactor, takeRecoveryCode, takeTotpStep } from '../../../models/accounts/second-factor.ts';
import { verifyPassword } from '../../../models/secrets/password.ts';
import { badRequest } from '../../api-error.ts';
import type { Parts } from '../../handler.ts';
import { personOf, type Exchange } from '../../request-context.ts';
import type { Throttle } from './throttle.ts';
import { findTotpStep, normalizeCode } from './totp.ts';

/**
 * Something that a person must prove before a setting that guards their account changes. `field` is the field of the
 * request that holds it.
 */
type Proof = { field: string; isGiven: () => Promise<boolean>; wrong: string };

/**
 * Checks proofs in order and throws 400 at the first that is not given. Each failure counts like a failed sign-in:
 * otherwise a stranger at an open browser could guess for as long as they like.
 */
export async function requireProofs(throttle: Throttle, exchange: Exchange, proofs: readonly Proof[]): Promise<void> {
  const attempt = await throttle.begin(personOf(exchange.response).user.id, exchange);
  for (const { field, isGiven, wrong } of proofs)
    if (!(await attempt.verify(isGiven))) throw badRequest(`${field} ${wrong}`);
  await attempt.succeed();
}

/** Proves that the person knows their password. */
export function passwordProof(response: Response, field: string, password: string): Proof {
  return {
    field,
    wrong: 'is not your password',
    isGiven: () => verifyPassword(password, personOf(response).user.passwordHash),
  };
}

/** Whether a code is valid for a person's second factor: one of the app, or a recovery code. A valid one is used up. */
export async function takeCode(
  { database, now }: Parts<'database' | 'now'>,
  userId: string,
  typed: string,
): Promise<boolean> {
  const code = normalizeCode(typed);
  const factor = await findSecondFactor(database, userId);
  if (factor === null || factor.confirmedAt === null) return false;
  const step = findTotpStep(factor.secret, code, now());
  return step === null ? await takeRecoveryCode(database, userId, code) : await takeTotpStep(database, userId, step);
}
