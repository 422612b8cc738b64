import { Resolver } from 'node:dns/promises';

// The longest that a check may take (`timeout_ms`); who needs it sooner gives the resolver back.
const ONE_TRY = { timeout: 10_000, tries: 1 };

/**
 * Never asked. c-ares learns how fast a server answers and gives up on it at five times that, though this once it may
 * just be slow; what it learnt goes with the server.
 */
const UNREACHABLE_SERVERS = ['127.0.0.1:1'];

const KEPT_AT_MOST = 64;

/**
 * Keeps resolvers of one try each that are done with: making one costs as much as the question that it is for. They
 * hold no socket, so the pool need not be closed.
 */
export class ResolverPool {
  readonly #idle: Resolver[] = [];

  /**
   * A resolver for one caller and one server (`address` or `address:port`). It has never asked that server: its port is
   * new, and its patience is whole.
   */
  take(server: string): Resolver {
    const resolver = this.#idle.pop() ?? new Resolver(ONE_TRY);
    resolver.setServers([server]);
    return resolver;
  }

  /** Ends what is still being asked, whose promises reject, and keeps the resolver for the next. */
  giveBack(resolver: Resolver): void {
    resolver.cancel();
    resolver.setServers(UNREACHABLE_SERVERS);
    if (this.#idle.length < KEPT_AT_MOST) this.#idle.push(resolver);
  }
}
