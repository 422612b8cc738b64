import { Resolver } from 'node:dns/promises';

// The longest that a check may take (`timeout_ms`); a caller with less time gives the resolver back sooner.
const ONE_TRY = { timeout: 10_000, tries: 1 };

/**
 * The server of an idle resolver, which is never asked. Setting it makes c-ares forget how fast the last server
 * answers: c-ares gives up on a server at five times that, though this once it may just be slow.
 */
const UNREACHABLE_SERVERS = ['127.0.0.1:1'];

const KEPT_AT_MOST = 64;

/**
 * Keeps idle resolvers of one try each for reuse: making one costs as much as the query that it is for. They hold no
 * socket, so the pool need not be closed.
 */
export class ResolverPool {
  readonly #idle: Resolver[] = [];

  /**
   * Takes a resolver for one caller and one server (`address` or `address:port`). It has never asked that server: its
   * port is new, and its timeout is whole.
   */
  take(server: string): Resolver {
    const resolver = this.#idle.pop() ?? new Resolver(ONE_TRY);
    resolver.setServers([server]);
    return resolver;
  }

  /** Ends its pending queries, whose promises reject, and keeps the resolver for the next caller. */
  giveBack(resolver: Resolver): void {
    resolver.cancel();
    resolver.setServers(UNREACHABLE_SERVERS);
    if (this.#idle.length < KEPT_AT_MOST) this.#idle.push(resolver);
  }
}
