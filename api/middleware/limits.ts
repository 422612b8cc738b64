import type { RequestHandler, Response } from 'express';
import {
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
  RateLimiterRes,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible';
import { PLANS, PLAN_LIMITS } from '../../core/accounts/plans.ts';
import type { Database } from '../../models/database.ts';
import type { QueueBackend } from '../../queues/connection.ts';
import { ApiError } from '../api-error.ts';
import { networkOf } from '../client-address.ts';
import { addressOf, contextOf, type Caller, type RequestContext } from '../request-context.ts';

/** Store where all API processes count together. */
export type RateLimitStore =
  | { kind: 'postgres'; pool: Database['pool'] }
  | { kind: 'redis'; client: NonNullable<QueueBackend['redis']> };

const WINDOW_SECONDS = 60;

/**
 * Anonymous requests per address, for IPv6 per /64: enough for a whole office behind one, too few for guessing tokens.
 */
const ANONYMOUS_LIMIT = 600;

/** Requests of a person, on any plan: one page of the console makes a dozen. */
const PERSON_LIMIT = 600;

/** Key that a request is counted for, and the limit per minute. */
type Count = { key: string; limit: number };

/** Counts each request before any other work, per token or person across processes (D-04). */
export function rateLimit(store: RateLimitStore): RequestHandler {
  return limitRequests(store, {
    limits: [PERSON_LIMIT, ...PLANS.map((plan) => PLAN_LIMITS[plan].requestsPerMinute)],
    countOf: ({ caller }) => (caller === undefined ? null : countOfCaller(caller)),
  });
}

function countOfCaller(caller: Caller): Count {
  if (caller.kind === 'session') return { key: `user:${caller.user.id}`, limit: PERSON_LIMIT };
  return { key: `token:${caller.tokenId}`, limit: PLAN_LIMITS[caller.plan].requestsPerMinute };
}

/**
 * Counts each request for the key that `countOf` returns, with one of the `limits`; null = unknown caller, counted by
 * network.
 */
export function limitRequests(
  store: RateLimitStore,
  { limits, countOf }: { limits: readonly number[]; countOf: (context: RequestContext) => Count | null },
): RequestHandler {
  const limiters = new Map([...new Set([ANONYMOUS_LIMIT, ...limits])].map((limit) => [limit, limiterOf(store, limit)]));
  return async (_request, response, next) => {
    const { key, limit } = countOf(contextOf(response)) ?? {
      key: `address:${networkOf(addressOf(response) ?? '')}`,
      limit: ANONYMOUS_LIMIT,
    };
    const { isAllowed, count } = await consume(limiters.get(limit), key);
    const seconds = setHeaders(response, limit, count);
    if (!isAllowed) throw new ApiError(429, 'rate limit exceeded', { 'Retry-After': String(seconds) });
    next();
  };
}

async function consume(
  limiter: RateLimiterAbstract | undefined,
  key: string,
): Promise<{ isAllowed: boolean; count: RateLimiterRes }> {
  if (limiter === undefined) throw new Error('No limiter was made for this limit');
  try {
    return { isAllowed: true, count: await limiter.consume(key) };
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return { isAllowed: false, count: refusal };
    throw refusal;
  }
}

/**
 * Sets the headers and returns the seconds until the count resets, at least 1: an earlier retry would be refused again.
 */
function setHeaders(response: Response, limit: number, count: RateLimiterRes): number {
  const seconds = Math.max(1, Math.ceil(count.msBeforeNext / 1000));
  response.setHeader('RateLimit-Limit', limit);
  response.setHeader('RateLimit-Remaining', Math.max(0, count.remainingPoints));
  response.setHeader('RateLimit-Reset', seconds);
  return seconds;
}

function limiterOf(store: RateLimitStore, limit: number): RateLimiterAbstract {
  // A key over its limit is refused from memory for the rest of the window, so a caller in a loop costs no queries.
  return createLimiter(store, {
    points: limit,
    duration: WINDOW_SECONDS,
    keyPrefix: 'spotcheck-rate',
    inMemoryBlockOnConsumed: limit + 1,
  });
}

/** Makes a limiter of `points` within `duration` seconds for each key, across all processes of the installation. */
export function createLimiter(
  store: RateLimitStore,
  options: { points: number; duration: number; keyPrefix: string; inMemoryBlockOnConsumed?: number },
): RateLimiterAbstract {
  if (store.kind === 'postgres') {
    return new RateLimiterPostgres({
      ...options,
      storeClient: store.pool,
      storeType: 'pool',
      tableName: 'rate_limits',
      tableCreated: true,
      clearExpiredByTimeout: true,
    });
  }
  // While Redis is away, the API keeps working and each process counts for itself.
  const insuranceLimiter = new RateLimiterMemory({
    points: options.points,
    duration: options.duration,
    keyPrefix: options.keyPrefix,
  });
  return new RateLimiterRedis({ ...options, storeClient: store.client, rejectIfRedisNotReady: true, insuranceLimiter });
}
