import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { systemAuthorOf, recordThrottledSignIn, systemActor } from '../../../models/accounts/audit-log.ts';
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

/** Failures within the window after which nothing more is verified. A whole office may share a network. */
const FAILURES = { account: 10, network: 30 } as const;

/** Attempts of a person in a minute, successful ones included: each hash delays all other requests. */
const ATTEMPTS_A_MINUTE = 30;

/** Those of all members of a tenant together, whose owners can invite any number of people. */
const TENANT_ATTEMPTS_A_MINUTE = 120;

/** An attempt that was counted and may be verified. */
type Attempt = {
  /** Runs the verification; if it throws, the attempt does not count as a failure. */
  verify: <Verified>(verification: () => Promise<Verified>) => Promise<Verified>;
  /** Clears the failures counted so far. */
  succeed: () => Promise<void>;
  /** Takes back this attempt only. */
  excuse: () => Promise<void>;
};

/**
 * Counts passwords and codes of all sign-in methods, above all wrong ones, across processes. An attempt is counted
 * before it is verified, or a thousand concurrent ones would all be verified. An account is a user's id, or a
 * placeholder where there is no user.
 */
export type Throttle = {
  /**
   * `isHashed` (the default): verifying computes a password hash. `tenantId` is that of a person who signs in. Null
   * (the default) = not counted for a tenant, as prompts of signed-in people, few of which run at a time.
   */
  begin: (
    account: string,
    exchange: Exchange,
    how?: { isHashed?: boolean; tenantId?: string | null },
  ) => Promise<Attempt>;
};

/** The account whose further attempts are refused, and the address of the attempt that triggered this. */
type ShutAccount = { account: string; address: string };

/**
 * Makes the throttle of an installation. `begin` throws 429 for an account or network with too many failures, or an
 * account with more attempts than a person makes. A browser that has signed in to the account before, or else a
 * network, has its own counts: strangers' failures do not count against it. `onAccountShut` is called for the first
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
  const paceOf = (points: number, keyPrefix: string) => createLimiter(store, { points, duration: 60, keyPrefix });
  const paces = paceOf(ATTEMPTS_A_MINUTE, 'spotcheck-sign-in-pace');
  const tenantPaces = paceOf(TENANT_ATTEMPTS_A_MINUTE, 'spotcheck-sign-in-tenant');
  const cookie = browserCookie(publicUrl);

  return {
    async begin(account, { request, response }, { isHashed = true, tenantId = null } = {}) {
      const address = addressOf(response) ?? '';
      const [secret, network] = [cookie.read(request), networkOf(address)];
      const [byBrowser, byNetwork] = [secret === null ? null : clientOfBrowser(secret), clientOfNetwork(network)];
      const clients = byBrowser === null ? [byNetwork] : [byBrowser, byNetwork];
      const known = await findSignInClients(database, account, clients);
      const isKnownBrowser = byBrowser !== null && known.includes(byBrowser);
      const client = isKnownBrowser ? byBrowser : known.includes(byNetwork) ? byNetwork : '';
      const key = keyOf(`${account} ${client}`);

      // The network is counted first: a client over its limit must not use up other people's. A known browser is not
      // affected by others on its network.
      if (!isKnownBrowser) await consume(() => networks.consume(network), TOO_MANY_FAILURES);
      await consume(
        () => accounts.consume(key),
        TOO_MANY_FAILURES,
        async (attempts) => void (attempts === FAILURES.account + 1 && (await onAccountShut({ account, address }))),
      );
      const giveBack = async () => void (isKnownBrowser || (await networks.reward(network)));
      const excuse = async () => void (await Promise.all([accounts.reward(key), giveBack()]));
      // All known clients share one count of hashes: a person with the password may have any number of clients.
      const pace = keyOf(`${account} ${client === '' ? 'strangers' : 'known'}`);
      if (isHashed) await consume(() => paces.consume(pace), 'too many sign-ins', excuse);
      // Strangers are left out: a refusal would reveal to them whose address belongs to a busy tenant. Their own limits
      // are lower.
      if (tenantId !== null && client !== '')
        await consume(() => tenantPaces.consume(tenantId), 'too many sign-ins in this account', excuse);
      return {
        async verify(verification) {
          try {
            return await verification();
          } catch (error) {
            await excuse();
            throw error;
          }
        },
        // The count is set to zero, not deleted: deleting would wait until Redis responds.
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

/** Hashes any text to a short key; the table of counts need not reveal whose account was tried. */
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
 * Makes the recorder of shut accounts: an audit log entry, so that owners learn of the guessing. A database failure is
 * only logged, because the attempt is already refused.
 */
export function createShutAccountRecorder({
  database,
  makeId,
  now,
  logger,
}: RecorderParts): (shut: ShutAccount) => Promise<void> {
  return async ({ account, address }) => {
    const made = { newId: makeId, nowMs: now(), address: address === '' ? null : address };
    const author = systemAuthorOf(systemActor('Spotcheck'), 'member.sign_in_throttled', made);
    try {
      await recordThrottledSignIn(database, { author, userId: account });
    } catch (error) {
      logger.error({ err: error }, 'sign_in.not_recorded');
    }
  };
}

type ClientTools = { database: Pick<Database, 'pool'>; now: () => number; publicUrl: string };

/** Returns the client key of a browser: the hash of its cookie's secret, which itself is never stored. */
function clientOfBrowser(secret: string): string {
  return `browser:${createHash('sha256').update(secret).digest('base64url')}`;
}

/** Returns the client key of a network, in the form that `networkOf` returns. */
export function clientOfNetwork(network: string): string {
  return `network:${network}`;
}

/**
 * Records the browser and the network of a successful sign-in. A browser unknown to the account gets a new cookie,
 * because one that it sends may have been planted.
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
