import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { authorOf, recordThrottledSignIn, systemActor } from '../../../models/accounts/audit-log.ts';
import { generateSessionSecret } from '../../../models/accounts/sessions.ts';
import { findSignInClients, recordSignInClients } from '../../../models/accounts/sign-in-clients.ts';
import type { Database } from '../../../models/database.ts';
import type { IdPrefix } from '../../../models/secrets/ids.ts';
import { ApiError } from '../../api-error.ts';
import { networkOf } from '../../client-address.ts';
import { createLimiter, type RateLimitStore } from '../../middleware/limits.ts';
import { addressOf, type Exchange } from '../../request-context.ts';
import { browserCookie } from './cookie.ts';

const WINDOW_SECONDS = 15 * 60;

/** Failures within the window after which nothing is verified any more. A whole office may share a network. */
const FAILURES = { account: 10, network: 30 } as const;

/** Attempts in a minute, right ones too: each hash takes time that everybody waits for. */
const ATTEMPTS_A_MINUTE = 30;

/** An attempt that was counted and may be verified. */
type Attempt = {
  /** Runs the verification; an error of ours is not counted as a failure. */
  verify: <Verified>(verification: () => Promise<Verified>) => Promise<Verified>;
  /** Forgets the failures that it was counted with. */
  succeed: () => Promise<void>;
  /** Forgets this attempt only. */
  excuse: () => Promise<void>;
};

/**
 * Counts passwords and codes of every way to sign in, above all wrong ones, over all processes. An attempt is counted
 * before it is verified, or a thousand at once would all be verified. An account is a user's id, or whatever stands for
 * what has none.
 */
export type Throttle = {
  /** `isHashed` where verifying takes a password's hash, which is the default. */
  begin: (account: string, exchange: Exchange, how?: { isHashed: boolean }) => Promise<Attempt>;
};

/** Whose attempts are refused from now on, and where the one came from with which it began. */
type ShutAccount = { account: string; address: string };

/**
 * Makes the throttle of an installation. `begin` throws the 429 of an account or a network that has failed too often,
 * or of an account with more attempts than a person makes. A browser that has signed in to the account before, or else
 * a network, has counts of its own: those of strangers do not count against it. `onAccountShut` is called for the first
 * attempt of a window that is refused for an account's failures.
 */
export function createThrottle(
  { database, store, publicUrl }: { database: Pick<Database, 'pool'>; store: RateLimitStore; publicUrl: string },
  onAccountShut: (shut: ShutAccount) => Promise<void>,
): Throttle {
  const limiterOf = (kind: keyof typeof FAILURES, keyPrefix: string) =>
    createLimiter(store, { points: FAILURES[kind], duration: WINDOW_SECONDS, keyPrefix });
  const accounts = limiterOf('account', 'spotcheck-sign-in-account');
  const networks = limiterOf('network', 'spotcheck-sign-in-address');
  const paces = createLimiter(store, {
    points: ATTEMPTS_A_MINUTE,
    duration: 60,
    keyPrefix: 'spotcheck-sign-in-pace',
  });
  const cookie = browserCookie(publicUrl);

  return {
    async begin(account, { request, response }, { isHashed } = { isHashed: true }) {
      const address = addressOf(response) ?? '';
      const [secret, network] = [cookie.read(request), networkOf(address)];
      const [byBrowser, byNetwork] = [secret === null ? null : clientOfBrowser(secret), clientOfNetwork(network)];
      const clients = byBrowser === null ? [byNetwork] : [byBrowser, byNetwork];
      const known = await findSignInClients(database, account, clients);
      const isKnownBrowser = byBrowser !== null && known.includes(byBrowser);
      const client = isKnownBrowser ? byBrowser : known.includes(byNetwork) ? byNetwork : '';
      const key = keyOf(`${account} ${client}`);

      // The network first: who is over its limit must not use up other people's. What others of its network do is not
      // held against a known browser.
      if (!isKnownBrowser) await consume(() => networks.consume(network), TOO_MANY_FAILURES);
      await consume(
        () => accounts.consume(key),
        TOO_MANY_FAILURES,
        async (attempts) => void (attempts === FAILURES.account + 1 && (await onAccountShut({ account, address }))),
      );
      const giveBack = async () => void (isKnownBrowser || (await networks.reward(network)));
      const excuse = async () => void (await Promise.all([accounts.reward(key), giveBack()]));
      // What would be hashed, with one count for all known clients: who has the password may have as many of those as
      // they like.
      const pace = keyOf(`${account} ${client === '' ? 'strangers' : 'known'}`);
      if (isHashed) await consume(() => paces.consume(pace), 'too many sign-ins', excuse);
      return {
        async verify(verification) {
          try {
            return await verification();
          } catch (error) {
            await excuse();
            throw error;
          }
        },
        // Set to none and not deleted: deleting alone would wait for as long as Redis is away.
        succeed: async () => void (await Promise.all([accounts.set(key, 0, WINDOW_SECONDS), giveBack()])),
        excuse,
      };
    },
  };
}

const TOO_MANY_FAILURES = 'too many wrong passwords or codes';

async function consume(
  count: () => Promise<unknown>,
  refused: string,
  onRefused: (attempts: number) => Promise<void> = async () => undefined,
): Promise<void> {
  try {
    await count();
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    await onRefused(refusal.consumedPoints);
    const seconds = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
    const minutes = Math.ceil(seconds / 60);
    const wait = `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
    throw new ApiError(429, `${refused}: wait ${wait}`, { 'Retry-After': String(seconds) });
  }
}

/** Any text as a short key; the table of counts need not tell who was tried. */
function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

type RecorderParts = {
  database: Database;
  makeId: (prefix: IdPrefix) => string;
  now: () => number;
  logger: Logger;
};

/**
 * Makes the recorder of shut accounts: an entry in the audit log, so that owners learn of the guessing. A database that
 * is away does not change the answer, which is a refusal already.
 */
export function createShutAccountRecorder({
  database,
  makeId,
  now,
  logger,
}: RecorderParts): (shut: ShutAccount) => Promise<void> {
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

type ClientTools = { database: Pick<Database, 'pool'>; now: () => number; publicUrl: string };

/** The client that is a browser, by what its cookie holds: nothing stores that itself. */
function clientOfBrowser(secret: string): string {
  return `browser:${createHash('sha256').update(secret).digest('base64url')}`;
}

/** The client that is a network, as `networkOf` writes it. */
export function clientOfNetwork(network: string): string {
  return `network:${network}`;
}

/**
 * Records the browser and the network of a successful sign-in. A browser unknown to the account gets a new cookie,
 * whatever it brings: that may have been planted.
 */
export async function recordClients(
  { database, now, publicUrl }: ClientTools,
  { request, response }: Exchange,
  userId: string,
): Promise<void> {
  const cookie = browserCookie(publicUrl);
  const brought = cookie.read(request);
  const isKnown =
    brought !== null && (await findSignInClients(database, userId, [clientOfBrowser(brought)])).length > 0;
  const secret = isKnown ? brought : generateSessionSecret();
  const address = addressOf(response);
  const clients = [clientOfBrowser(secret), ...(address === null ? [] : [clientOfNetwork(networkOf(address))])];
  await recordSignInClients(database, { account: userId, userId }, { clients, nowMs: now() });
  cookie.give(response, secret);
}
