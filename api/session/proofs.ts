import type { Request, Response } from 'express';
import { verifyPassword } from '../../models/password.ts';
import { badRequest } from '../api-error.ts';
import { addressOf, personOf } from '../request-context.ts';
import type { Throttle } from './throttle.ts';

/** What a person has to know before something is changed that guards their account; `field` is where the request says it. */
type Proof = { field: string; isGiven: () => Promise<boolean>; wrong: string };

/** A request and its answer. */
export type Exchange = { request: Request; response: Response };

/**
 * Holds a person to proofs, in order: a 400 at the first that is not given, counted like a failure to sign in, or somebody who found an open browser could
 * guess for as long as they like.
 */
export async function requireProofs(throttle: Throttle, { response }: Exchange, proofs: readonly Proof[]): Promise<void> {
  const attempt = await throttle.begin({ email: personOf(response).user.email, address: addressOf(response) ?? '' });
  for (const { field, isGiven, wrong } of proofs) if (!(await isGiven())) throw badRequest(`${field} ${wrong}`);
  await attempt.succeed();
}

/** That the person knows their password. */
export function passwordProof(response: Response, field: string, password: string): Proof {
  return { field, wrong: 'is not your password', isGiven: () => verifyPassword(password, personOf(response).user.passwordHash) };
}
