/** What the agent asks of the service. */
export type Request = 'pull' | 'ingest';

export type ReachabilityOptions = {
  now: () => number;
  onAway: (reason: string) => void;
  /** Called with how long it was away, in milliseconds. */
  onBack: (awayMs: number) => void;
};

/**
 * Whether the service does what it is asked: away from the first request that fails until those that failed succeed.
 */
export type Reachability = {
  /** True where this request had failed the last time. */
  succeeded: (request: Request) => boolean;
  failed: (request: Request, reason: string) => void;
};

/** Makes the watch over one service; its changes are reported once. */
export function createReachability({ now, onAway, onBack }: ReachabilityOptions): Reachability {
  const failing = new Set<Request>();
  let sinceMs = 0;
  return {
    succeeded(request) {
      const hadFailed = failing.delete(request);
      if (hadFailed && failing.size === 0) onBack(now() - sinceMs);
      return hadFailed;
    },
    failed(request, reason) {
      if (failing.size === 0) {
        sinceMs = now();
        onAway(reason);
      }
      failing.add(request);
    },
  };
}
