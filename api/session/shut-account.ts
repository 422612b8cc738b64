import { authorOf, recordThrottledSignIn, systemActor } from '../../models/audit-log.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { ShutAccount } from './throttle.ts';

/**
 * Makes what writes into an account's audit log that a member's sign-ins are refused for a while: the one failure that
 * is recorded, for its owners to know of the guessing. What is wrong with the database does not change the
 * answer, which is a refusal already.
 */
export function createShutAccountRecorder({
  database,
  makeId,
  now,
  logger,
}: Pick<ApiDependencies, 'database' | 'makeId' | 'now' | 'logger'>): (shut: ShutAccount) => Promise<void> {
  return async ({ account, address }) => {
    const author = {
      ...authorOf(systemActor('Spotcheck'), 'member.sign_in_throttled', { newId: makeId, nowMs: now() }),
      address: address === '' ? null : address,
    };
    try {
      await recordThrottledSignIn(database, { author, userId: account });
    } catch (error) {
      logger.error({ err: error }, 'sign_in.not_recorded');
    }
  };
}
