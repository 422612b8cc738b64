import type { PingOutcome, TokenPing } from '../../models/heartbeats/heartbeats.ts';
import { ApiError } from '../api-error.ts';
import { networkOf } from '../client-address.ts';

/** The form of every token: its monitor's id, and a random part. */
const TOKEN = /^mon_[0-9a-hjkmnp-tv-z]{26}\.[\w-]{16,64}$/;

/**
 * Tokens that are remembered in this process, those that were good and those that were not, and for how long the
 * latter.
 */
const MOST_TOKENS = 20_000;
const UNKNOWN_FOR_MS = 60_000;

/**
 * Tokens that were none, from one network within a minute; beyond it only those get on that were good before. As many
 * as anonymous requests of the API.
 */
const MOST_UNKNOWN = 600;
const WINDOW_MS = 60_000;
const MOST_NETWORKS = 10_000;

/**
 * Pings under way with tokens that this process has not met: they must not take the place of those that are known to be
 * good.
 */
const MOST_UNVERIFIED = 1000;

type TakePing = (ping: TokenPing) => Promise<PingOutcome>;

/**
 * Makes the filter of pings by their tokens, so that a flood of unknown ones costs no query each (D-319). What has not
 * the form of a token, or was unknown a minute ago, is answered at once. Rejects with 429 a network that has sent too
 * many of these, and with 503 where too many unverified ones are under way. `now` is a monotonic clock in milliseconds.
 */
export function createPingTokens(
  take: TakePing,
  now: () => number,
): (ping: TokenPing, address: string) => Promise<PingOutcome> {
  const good = new Set<string>();
  const unknownUntilMs = new Map<string, number>();
  const counts = new Map<string, { count: number; endsMs: number }>();
  let unverified = 0;

  const countUnknown = (network: string): void => {
    const counted = counts.get(network);
    if (counted !== undefined && counted.endsMs > now()) counted.count += 1;
    else {
      counts.delete(network);
      counts.set(network, { count: 1, endsMs: now() + WINDOW_MS });
      forgetOldest(counts, MOST_NETWORKS);
    }
  };
  const requireRoom = (network: string): void => {
    const counted = counts.get(network);
    if (counted === undefined || counted.endsMs <= now() || counted.count < MOST_UNKNOWN) return;
    const seconds = Math.max(1, Math.ceil((counted.endsMs - now()) / 1000));
    throw new ApiError(429, 'too many pings with tokens that no heartbeat has came from this address: wait', {
      'Retry-After': String(seconds),
    });
  };
  const takeUnverified = async (ping: TokenPing): Promise<PingOutcome> => {
    if (unverified >= MOST_UNVERIFIED)
      throw new ApiError(503, 'too many pings are waiting for the database', { 'Retry-After': '5' });
    unverified += 1;
    try {
      return await take(ping);
    } finally {
      unverified -= 1;
    }
  };

  return async (ping, address) => {
    const { token } = ping;
    const isGood = good.has(token);
    const network = networkOf(address);
    if (!isGood) requireRoom(network);
    const isUnknown = !TOKEN.test(token) || (unknownUntilMs.get(token) ?? 0) > now();
    const outcome = isGood ? await take(ping) : isUnknown ? 'unknown' : await takeUnverified(ping);
    if (outcome !== 'unknown') {
      if (!isGood) good.add(token);
      forgetOldest(good, MOST_TOKENS);
      return outcome;
    }
    good.delete(token);
    countUnknown(network);
    if (isUnknown) return outcome;
    unknownUntilMs.delete(token);
    unknownUntilMs.set(token, now() + UNKNOWN_FOR_MS);
    forgetOldest(unknownUntilMs, MOST_TOKENS);
    return outcome;
  };
}

/** Keeps the newest: what was added longest ago goes first. */
function forgetOldest(entries: Map<string, unknown> | Set<string>, most: number): void {
  const [oldest] = entries.keys();
  if (entries.size > most && oldest !== undefined) entries.delete(oldest);
}
