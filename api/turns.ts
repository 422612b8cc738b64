import { RateLimiterRes } from 'rate-limiter-flexible';
import { ApiError } from './api-error.ts';
import { createLimiter, type RateLimitStore } from './middleware/rate-limit.ts';

/** What costs more than a request, and whose targets would feel it: so many a minute, over all processes. */
const TURNS = {
  /** Of one monitor: each is a probe by all of its sources. */
  check: { points: 6, what: 'checks of this monitor were asked for' },
  /** Of one person or token: a target that is given freely must not make this a scanner. */
  trial: { points: 10, what: 'trials were asked for' },
  /** Of one person or token: likewise. */
  page: { points: 10, what: 'status pages that are not in the catalogue were asked for' },
} as const;

/** Lets somebody have a turn; throws 429 where they had them all within the minute. */
export type Turns = { take: (kind: keyof typeof TURNS, key: string) => Promise<void> };

/** Makes the turns of an installation. */
export function createTurns(store: RateLimitStore): Turns {
  const limiterOf = (kind: keyof typeof TURNS) => createLimiter(store, { points: TURNS[kind].points, duration: 60, keyPrefix: `spotcheck-${kind}` });
  const limiters = { check: limiterOf('check'), trial: limiterOf('trial'), page: limiterOf('page') };
  return {
    async take(kind, key) {
      try {
        await limiters[kind].consume(key);
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        const seconds = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
        throw new ApiError(429, `${TURNS[kind].points} ${TURNS[kind].what} within a minute: wait ${seconds} s`, { 'Retry-After': String(seconds) });
      }
    },
  };
}
