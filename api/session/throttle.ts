import { createHash } from 'node:crypto';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { ApiError } from '../api-error.ts';
import { createLimiter, type RateLimitStore } from '../middleware/rate-limit.ts';
import { networkOf } from './network.ts';

const WINDOW_SECONDS = 15 * 60;

/** Failures within the window after which nothing is looked at any more. A whole office may sit behind one address. */
const FAILURES = { account: 10, address: 30 } as const;

/** Whose password or code is about to be looked at, and where it came from. */
export type Attempt = { email: string; address: string };

/**
 * Counts wrong passwords and codes, over all processes. An attempt is counted before it is looked at, or a thousand at once would all be looked at;
 * `succeed` forgets the account's failures, `excuse` this attempt only.
 */
export type Throttle = { begin: (attempt: Attempt) => Promise<{ succeed: () => Promise<void>; excuse: () => Promise<void> }> };

/**
 * Makes the throttle of an installation. `begin` throws the 429 of an account or an address that has failed too often. `onAccountShut` is told of the first
 * attempt of a window that an account's own failures refuse.
 */
export function createThrottle(store: RateLimitStore, onAccountShut: (attempt: Attempt) => Promise<void>): Throttle {
  const limiterOf = (kind: keyof typeof FAILURES) => createLimiter(store, { points: FAILURES[kind], duration: WINDOW_SECONDS, keyPrefix: `spotcheck-sign-in-${kind}` });
  const [accounts, addresses] = [limiterOf('account'), limiterOf('address')];
  return {
    async begin({ email, address }) {
      const [account, network] = [keyOf(email.toLowerCase()), networkOf(address)];
      // The address first: who is over its limit must not use up other people's.
      await consume(() => addresses.consume(network));
      await consume(() => accounts.consume(account), async (attempts) => void (attempts === FAILURES.account + 1 && (await onAccountShut({ email, address }))));
      return {
        // Set to none and not deleted: deleting alone would wait for as long as Redis is away.
        succeed: async () => void (await Promise.all([accounts.set(account, 0, WINDOW_SECONDS), addresses.reward(network)])),
        excuse: async () => void (await Promise.all([accounts.reward(account), addresses.reward(network)])),
      };
    },
  };
}

async function consume(count: () => Promise<unknown>, onRefused: (attempts: number) => Promise<void> = async () => undefined): Promise<void> {
  try {
    await count();
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    await onRefused(refusal.consumedPoints);
    const seconds = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
    const minutes = Math.ceil(seconds / 60);
    throw new ApiError(429, `too many wrong passwords or codes: wait ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`, { 'Retry-After': String(seconds) });
  }
}

/** Any text as a short key; the table of counts need not tell who was tried. */
function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
