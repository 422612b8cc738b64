import type { PingOutcome } from '../../models/heartbeats/heartbeats.ts';
import { ApiError } from '../api-error.ts';
import { networkOf } from '../client-address.ts';

/**
 * The form of every token: the name of the cell that made it, if it has one, its monitor's id, and a random part. Ping
 * keys have one of their own.
 */
const TOKEN =
  /^(?:(?:[a-z][a-z0-9]{0,15}\.)?mon_[0-9a-hjkmnp-tv-z]{26}\.[\w-]{16,64}|spp_(?:[a-z][a-z0-9]{0,15}_)?[\w-]{43})$/;

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

type TakePing = () => Promise<PingOutcome>;

/**
 * Filters pings by their tokens and ping keys, so that a flood of unknown ones costs no query each (D-319). What has
 * not the form of a token, or was unknown a minute ago, is answered at once.
 */
export class PingTokens {
  readonly #now: () => number;
  readonly #good = new Set<string>();
  readonly #unknownUntilMs = new Map<string, number>();
  readonly #counts = new Map<string, { count: number; endsMs: number }>();
  #unverified = 0;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Has `take` store a ping with a token or a ping key. Rejects with 429 a network that has sent too many unknown
   * tokens, and with 503 where too many unverified ones are under way.
   */
  async take(token: string, address: string, take: TakePing): Promise<PingOutcome> {
    const isGood = this.#good.has(token);
    const network = networkOf(address);
    if (!isGood) this.#requireRoom(network);
    const isUnknown = !TOKEN.test(token) || (this.#unknownUntilMs.get(token) ?? 0) > this.#now();
    const outcome = isGood ? await take() : isUnknown ? 'unknown' : await this.#takeUnverified(take);
    if (outcome !== 'unknown') {
      if (!isGood) this.#good.add(token);
      forgetOldest(this.#good, MOST_TOKENS);
      return outcome;
    }
    this.#good.delete(token);
    this.#countUnknown(network);
    if (isUnknown) return outcome;
    this.#unknownUntilMs.delete(token);
    this.#unknownUntilMs.set(token, this.#now() + UNKNOWN_FOR_MS);
    forgetOldest(this.#unknownUntilMs, MOST_TOKENS);
    return outcome;
  }

  #requireRoom(network: string): void {
    const counted = this.#counts.get(network);
    if (counted === undefined || counted.endsMs <= this.#now() || counted.count < MOST_UNKNOWN) return;
    const seconds = Math.max(1, Math.ceil((counted.endsMs - this.#now()) / 1000));
    throw new ApiError(429, 'too many pings with unknown tokens from this address: wait before you try again', {
      'Retry-After': String(seconds),
    });
  }

  async #takeUnverified(take: TakePing): Promise<PingOutcome> {
    if (this.#unverified >= MOST_UNVERIFIED)
      throw new ApiError(503, 'too many pings are waiting for the database: try again in a few seconds', {
        'Retry-After': '5',
      });
    this.#unverified += 1;
    try {
      return await take();
    } finally {
      this.#unverified -= 1;
    }
  }

  #countUnknown(network: string): void {
    const counted = this.#counts.get(network);
    if (counted !== undefined && counted.endsMs > this.#now()) {
      counted.count += 1;
      return;
    }
    this.#counts.delete(network);
    this.#counts.set(network, { count: 1, endsMs: this.#now() + WINDOW_MS });
    forgetOldest(this.#counts, MOST_NETWORKS);
  }
}

/** Keeps the newest: what was added longest ago goes first. */
function forgetOldest(entries: Map<string, unknown> | Set<string>, most: number): void {
  const [oldest] = entries.keys();
  if (entries.size > most && oldest !== undefined) entries.delete(oldest);
}
