import { findSecondFactor, takeRecoveryCode, takeTotpStep } from '../../models/second-factor.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { findTotpStep, normalizeCode } from './totp.ts';

/** Whether a code is good for a person's second factor: of the app, or a recovery code. A good one is used up. */
export async function takeCode(
  { database, now }: Pick<ApiDependencies, 'database' | 'now'>,
  userId: string,
  typed: string,
): Promise<boolean> {
  const code = normalizeCode(typed);
  const factor = await findSecondFactor(database, userId);
  if (factor === null || factor.confirmedAt === null) return false;
  const step = findTotpStep(factor.secret, code, now());
  return step === null ? await takeRecoveryCode(database, userId, code) : await takeTotpStep(database, userId, step);
}
