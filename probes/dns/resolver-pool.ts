import { Resolver } from 'node:dns/promises';

/**
 * Resolvers of one try each. Making one costs as much as the question that it is for, so those that are done with are
 * kept.
 */
export type ResolverPool = {
  /**
   * A resolver for one caller and one server (`address` or `address:port`). It has never asked that server:
   * its port is new, and its patience is whole.
   */
  take: (server: string) => Resolver;
  /** Ends what is still being asked, whose promises reject, and keeps the resolver for the next. */
  giveBack: (resolver: Resolver) => void;
};

// The longest that a check may take (`timeout_ms`); who needs it sooner gives the resolver back.
const ONE_TRY = { timeout: 10_000, tries: 1 };

/**
 * Never asked. c-ares learns how fast a server answers and gives up on it at five times that, though this once it may
 * just be slow; what it learnt goes with the server.
 */
const UNREACHABLE_SERVERS = ['127.0.0.1:1'];

const KEPT_AT_MOST = 64;

/** Makes an empty pool. What it keeps holds no socket, so it need not be closed. */
export function createResolverPool(): ResolverPool {
  const idle: Resolver[] = [];
  return {
    take(server) {
      const resolver = idle.pop() ?? new Resolver(ONE_TRY);
      resolver.setServers([server]);
      return resolver;
    },
    giveBack(resolver) {
      resolver.cancel();
      resolver.setServers(UNREACHABLE_SERVERS);
      if (idle.length < KEPT_AT_MOST) idle.push(resolver);
    },
  };
}
