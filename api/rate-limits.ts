import { createHash } from 'node:crypto';
import { RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import { DAY_SECONDS } from '../core/time.ts';
import { ApiError } from './api-error.ts';
import { createLimiter, type RateLimitStore } from './middleware/limits.ts';

const MINUTE = 60;
/** Previews and own status pages count together: each contacts an address that the caller names. */
const READS = {
  counter: 'read',
  points: 10,
  seconds: MINUTE,
  what: 'previews and lookups of status pages outside the catalog in this account',
} as const;

/** `isRefusedFromMemory`: beyond it a process refuses without a query until the period is over. */
type RateLimit = { counter: string; points: number; seconds: number; what: string; isRefusedFromMemory?: boolean };

/** Monitors of an agent in answers with its work, a minute; one that has more is answered once. */
export const MAX_WORK_MONITORS = 15_000;

/**
 * Rate limits of operations that cost more than a request: the points of each key within a period, over all processes
 * (D-315).
 */
const RATE_LIMITS = {
  /** Of one monitor: each is a probe by all of its sources. */
  check: { counter: 'check', points: 6, seconds: MINUTE, what: 'requested checks of this monitor' },
  /** Of one account, over all of its monitors. */
  accountCheck: {
    counter: 'account-check',
    points: 120,
    seconds: MINUTE,
    what: 'requested checks of monitors in this account',
  },
  /** Of one account: checks that begin before their tick because a monitor is new or was changed. */
  earlyCheck: {
    counter: 'early-check',
    points: 60,
    seconds: MINUTE,
    what: 'immediate checks of new or changed monitors in this account',
    // A bulk change takes one for each of thousands of monitors.
    isRefusedFromMemory: true,
  },
  /** Of one account: a target that is given freely must not make this a scanner. */
  preview: READS,
  page: READS,
  /** Of one account, in monitors: each costs as much as a change of its own. */
  bulk: {
    counter: 'bulk',
    points: 15_000,
    seconds: MINUTE,
    what: 'monitors selected for bulk changes in this account',
  },
  /** Of one account: test deliveries of webhooks that are created or tested, and test messages to chats. */
  test: { counter: 'test', points: 60, seconds: MINUTE, what: 'test deliveries in this account' },
  /** Of one channel. */
  channelTest: {
    counter: 'channel-test',
    points: 10,
    seconds: MINUTE,
    what: 'test deliveries to this channel',
  },
  /** Of one account: each notifies all channels of a monitor twice. */
  drill: { counter: 'drill', points: 50, seconds: DAY_SECONDS, what: 'drills in this account' },
  /** Of one account: deliveries that are sent again one by one. */
  redelivery: {
    counter: 'redelivery',
    points: 60,
    seconds: MINUTE,
    what: 'redeliveries in this account',
  },
  /** Of one channel: each is a statement over all that failed there. */
  replay: { counter: 'replay', points: 6, seconds: MINUTE, what: 'replays of this channel' },
  /** Of one account: each reads and writes thousands of results. */
  export: { counter: 'export', points: 10, seconds: MINUTE, what: 'CSV exports in this account' },
  /** Of one account: each reads a year of many monitors. */
  sla: { counter: 'sla', points: 30, seconds: MINUTE, what: 'SLAs of tags in this account' },
  /** Of one account: each measures a monitor by more than 10,000 changes. */
  changes: { counter: 'changes', points: 30, seconds: MINUTE, what: 'statistics of many changes in this account' },
  /** Of one account: each reads a month of its monitors' changes. */
  rules: { counter: 'rules', points: 10, seconds: MINUTE, what: 'previews of rules in this account' },
  /** Of one account, by monitors, 1,000 for a window of tags or all: each has a row that is kept for years. */
  covered: {
    counter: 'covered',
    points: 1_000_000,
    seconds: DAY_SECONDS,
    what: 'monitors put into maintenance in this account, 1,000 for a window of tags or all,',
  },
  /** Of one account: each reads a month of its monitors' alerts. */
  maintenance: { counter: 'maintenance', points: 60, seconds: MINUTE, what: 'previews of maintenance in this account' },
  /** Of one account: each renders a template for every kind of message. */
  messages: { counter: 'messages', points: 20, seconds: MINUTE, what: 'previews of messages in this account' },
  /** Of one account: each writes all of its monitors. */
  metrics: { counter: 'metrics', points: 120, seconds: MINUTE, what: 'scrapes of metrics in this account' },
  /** Of one link that connects Slack or an address: each tries a code there. */
  connect: { counter: 'connect', points: 10, seconds: MINUTE, what: 'attempts to connect with this link' },
  /** Of one invitation, which anyone who has an account can make: each is a password to hash. */
  acceptance: {
    counter: 'acceptance',
    points: 10,
    seconds: MINUTE,
    what: 'attempts to accept this invitation',
  },
  /** Of one network: each asks the OpenID Connect provider up to four times. */
  openId: { counter: 'open-id', points: 120, seconds: MINUTE, what: 'sign-ins by a provider from this network' },
  /** Of one network, which a provider is: each is a signature to verify. */
  logout: { counter: 'logout', points: 600, seconds: MINUTE, what: 'logout tokens from this network' },
  /** Of one network: each opens what is sealed. */
  watch: { counter: 'watch', points: 30, seconds: MINUTE, what: 'requests of other installations from this network' },
  /** Of one account: each is an email to an address that the caller names. */
  confirmation: {
    counter: 'confirmation',
    points: 50,
    seconds: DAY_SECONDS,
    what: 'confirmations of email addresses in this account',
  },
  /** Of one address, whoever asks: nobody who lives there shall be flooded. */
  addressConfirmation: {
    counter: 'address-confirmation',
    points: 5,
    seconds: DAY_SECONDS,
    what: 'confirmations to this email address',
  },
  /** Of one account, in characters: RE2 compiles patterns on the event loop, 2 ms for a thousand of them. */
  pattern: {
    counter: 'pattern',
    points: 200_000,
    seconds: MINUTE,
    what: 'characters of large regular expressions in this account',
  },
  /** Of one account: what has ended stays in the list, and the record of what it did needs it. */
  token: { counter: 'token', points: 100, seconds: DAY_SECONDS, what: 'new API tokens in this account' },
  /** Of one account: a ping key makes heartbeats, and a plan need not have a limit. */
  slug: { counter: 'slug', points: 2000, seconds: MINUTE, what: 'heartbeats made by pings in this account' },
  /** Of one agent: each is read, sealed and sent; a check-in without news counts nowhere here. */
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
  /** Takes `points` (1 unless given) from a key's rate limit; throws 429 where none is left within the period. */
  take: (kind: Kind, key: string, points?: number) => Promise<void>;
  /** The same, but counts only once what the key does with one thing within the minute. */
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
        // Refused, it was not done: the next try is not free either. Set to none, for deleting would wait for as long
        // as Redis is away.
        await things.set(hashed, 0, MINUTE);
        throw error;
      }
    },
  };
}

/** Null where the key is within its limit. */
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
