import { createHash } from 'node:crypto';
import { RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import { DAY_SECONDS } from '../core/time.ts';
import { ApiError } from './api-error.ts';
import { createLimiter, type RateLimitStore } from './middleware/limits.ts';

const MINUTE = 60;
/** Previews and reads of custom status pages count together: each contacts an address that the caller names. */
const READS = {
  counter: 'read',
  points: 10,
  seconds: MINUTE,
  what: 'previews and lookups of status pages outside the catalog in this account',
} as const;

/** `isRefusedFromMemory`: beyond the limit a process refuses without a query until the period ends. */
type RateLimit = { counter: string; points: number; seconds: number; what: string; isRefusedFromMemory?: boolean };

/** Monitors of an agent in responses with its work, per minute; an agent with more gets one response. */
export const MAX_WORK_MONITORS = 15_000;

/**
 * Rate limits of operations that cost more than a request: the points of each key within a period, across processes
 * (D-315).
 */
const RATE_LIMITS = {
  /** Per monitor: each check is a probe by all of its sources. */
  check: { counter: 'check', points: 6, seconds: MINUTE, what: 'requested checks of this monitor' },
  /** Per account, for all of its monitors. */
  accountCheck: {
    counter: 'account-check',
    points: 120,
    seconds: MINUTE,
    what: 'requested checks of monitors in this account',
  },
  /** Per account: checks that begin before their tick because a monitor is new or was changed. */
  earlyCheck: {
    counter: 'early-check',
    points: 60,
    seconds: MINUTE,
    what: 'immediate checks of new or changed monitors in this account',
    // A bulk change takes one point for each of thousands of monitors.
    isRefusedFromMemory: true,
  },
  /** Per account: freely chosen targets must not turn the service into a scanner. */
  preview: READS,
  page: READS,
  /** Per account, in monitors: each costs as much as a single change. */
  bulk: {
    counter: 'bulk',
    points: 15_000,
    seconds: MINUTE,
    what: 'monitors selected for bulk changes in this account',
  },
  /** Per account: test deliveries of webhooks that are created or tested, and test messages to chats. */
  test: { counter: 'test', points: 60, seconds: MINUTE, what: 'test deliveries in this account' },
  /** Per channel. */
  channelTest: {
    counter: 'channel-test',
    points: 10,
    seconds: MINUTE,
    what: 'test deliveries to this channel',
  },
  /** Per account: each drill notifies all channels of a monitor twice. */
  drill: { counter: 'drill', points: 50, seconds: DAY_SECONDS, what: 'drills in this account' },
  /** Per account: deliveries that are sent again one by one. */
  redelivery: {
    counter: 'redelivery',
    points: 60,
    seconds: MINUTE,
    what: 'redeliveries in this account',
  },
  /** Per channel: each replay is a statement over all of its failed deliveries. */
  replay: { counter: 'replay', points: 6, seconds: MINUTE, what: 'replays of this channel' },
  /** Per account: each export reads and writes thousands of results. */
  export: { counter: 'export', points: 10, seconds: MINUTE, what: 'CSV exports in this account' },
  /** Per account: each reads a year of many monitors. */
  sla: { counter: 'sla', points: 30, seconds: MINUTE, what: 'SLAs of tags in this account' },
  /** Per account: each measures a monitor from more than 10,000 changes or maintenance times. */
  changes: { counter: 'changes', points: 30, seconds: MINUTE, what: 'statistics of many changes in this account' },
  /** Per account: each preview reads a month of its monitors' changes. */
  rules: { counter: 'rules', points: 10, seconds: MINUTE, what: 'previews of rules in this account' },
  /** Per account, in monitors, 1,000 for a window of tags or all: each has a row that is kept for years. */
  covered: {
    counter: 'covered',
    points: 1_000_000,
    seconds: DAY_SECONDS,
    what: 'monitors put into maintenance in this account, 1,000 for a window of tags or all,',
  },
  /** Per account: each preview reads a month of its monitors' alerts. */
  maintenance: { counter: 'maintenance', points: 60, seconds: MINUTE, what: 'previews of maintenance in this account' },
  /** Per account: each preview renders a template for every kind of message. */
  messages: { counter: 'messages', points: 20, seconds: MINUTE, what: 'previews of messages in this account' },
  /** Per account: each scrape writes all of its monitors. */
  metrics: { counter: 'metrics', points: 120, seconds: MINUTE, what: 'scrapes of metrics in this account' },
  /** Per link that connects Slack or an address: each attempt tries a code there. */
  connect: { counter: 'connect', points: 10, seconds: MINUTE, what: 'attempts to connect with this link' },
  /** Per invitation: each attempt hashes a password. */
  acceptance: {
    counter: 'acceptance',
    points: 10,
    seconds: MINUTE,
    what: 'attempts to accept this invitation',
  },
  /** Per inviting account: an owner can replace an invitation by another one at any time. */
  accountAcceptance: {
    counter: 'account-acceptance',
    points: 60,
    seconds: MINUTE,
    what: 'attempts to accept invitations of this account',
  },
  /** Per network: each sign-in sends up to four requests to the OpenID Connect provider. */
  openId: { counter: 'open-id', points: 120, seconds: MINUTE, what: 'sign-ins by a provider from this network' },
  /** Per network, which is a provider's: each token has a signature to verify. */
  logout: { counter: 'logout', points: 600, seconds: MINUTE, what: 'logout tokens from this network' },
  /** Per network: each request opens a sealed value. */
  watch: { counter: 'watch', points: 30, seconds: MINUTE, what: 'requests of other installations from this network' },
  /** Per account: each is an email to an address that the caller names. */
  confirmation: {
    counter: 'confirmation',
    points: 50,
    seconds: DAY_SECONDS,
    what: 'confirmations of email addresses in this account',
  },
  /** Per address, across accounts: its owner must not be flooded. */
  addressConfirmation: {
    counter: 'address-confirmation',
    points: 5,
    seconds: DAY_SECONDS,
    what: 'confirmations to this email address',
  },
  /** Per account, in characters: RE2 compiles patterns on the event loop, 2 ms for a thousand of them. */
  pattern: {
    counter: 'pattern',
    points: 200_000,
    seconds: MINUTE,
    what: 'characters of large regular expressions in this account',
  },
  /** Per account: ended tokens stay in the list, because the audit log refers to them. */
  token: { counter: 'token', points: 100, seconds: DAY_SECONDS, what: 'new API tokens in this account' },
  /** Per account: a ping key creates heartbeats, and a plan may have no limit. */
  slug: { counter: 'slug', points: 2000, seconds: MINUTE, what: 'heartbeats made by pings in this account' },
  /** Per agent: each monitor is read, sealed and sent; a check-in without changes does not count. */
  work: {
    counter: 'work',
    points: MAX_WORK_MONITORS,
    seconds: MINUTE,
    what: 'monitors in answers with the work of this agent',
  },
  agent: { counter: 'agent', points: 100, seconds: DAY_SECONDS, what: 'new agents in this account' },
} as const satisfies Record<string, RateLimit>;

type Kind = keyof typeof RATE_LIMITS;

export type RateLimits = {
  /** Takes `points` (default 1) from a key's rate limit; throws 429 if none is left within the period. */
  take: (kind: Kind, key: string, points?: number) => Promise<void>;
  /** Like `take`, but counts a key's operations on one thing only once within the minute. */
  takeFor: (thing: string, kind: Kind, key: string) => Promise<void>;
};

/** Makes the rate limits of an installation. */
export function createRateLimits(store: RateLimitStore): RateLimits {
  const counters = new Map(
    Object.values<RateLimit>(RATE_LIMITS).map(({ counter, points, seconds, isRefusedFromMemory = false }) => [
      counter,
      createLimiter(store, {
        points,
        duration: seconds,
        keyPrefix: `spotcheck-${counter}`,
        ...(isRefusedFromMemory && { inMemoryBlockOnConsumed: points + 1 }),
      }),
    ]),
  );
  const things = createLimiter(store, { points: 1, duration: MINUTE, keyPrefix: 'spotcheck-thing' });
  const take: RateLimits['take'] = async (kind, key, points = 1) => {
    const { counter, points: most, seconds: within, what } = RATE_LIMITS[kind];
    const refusal = await refusalOf(counters.get(counter), key, points);
    if (refusal === null) return;
    const seconds = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
    throw new ApiError(
      429,
      `at most ${most} ${what} per ${within === DAY_SECONDS ? 'day' : 'minute'}: wait ${seconds} s`,
      {
        'Retry-After': String(seconds),
      },
    );
  };
  return {
    take,
    async takeFor(thing, kind, key) {
      const hashed = createHash('sha256').update(`${RATE_LIMITS[kind].counter} ${key} ${thing}`).digest('base64url');
      if ((await refusalOf(things, hashed)) !== null) return;
      try {
        await take(kind, key);
      } catch (error) {
        // A refused operation was not done, so the next attempt counts too. The count is set to zero, not deleted:
        // deleting would wait until Redis responds.
        await things.set(hashed, 0, MINUTE);
        throw error;
      }
    },
  };
}

/** Returns the refusal if the key is over its limit, or null. */
async function refusalOf(
  limiter: RateLimiterAbstract | undefined,
  key: string,
  points = 1,
): Promise<RateLimiterRes | null> {
  try {
    await limiter?.consume(key, points);
    return null;
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return refusal;
    throw refusal;
  }
}
