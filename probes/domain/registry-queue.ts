import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DomainFacts, FailedLookup } from '../../core/checks/domain/facts.ts';

/**
 * Result of a request to a registry, and when the registry accepts the next one (Unix milliseconds); null if it named
 * no time.
 */
export type RegistryAnswer<Result> = { result: Result; askAgainAtMs: number | null };

/**
 * Outcome of a queued request to a registry: its answer, or when to retry (Unix milliseconds) if the registry requested
 * a pause. Null if other requests were ahead.
 */
type RegistryOutcome<Result> = { outcome: 'answered'; result: Result } | { outcome: 'busy'; retryAtMs: number | null };

/**
 * Accounts that wait for a request to a registry, and their deadline (Unix milliseconds). Accounts may join while it
 * waits.
 */
export type RegistryTurn = { deadlineAtMs: number; accounts: ReadonlySet<string> };

/** A request to a registry; `ask` receives the remaining milliseconds. */
type RegistryRequest<Result> = RegistryTurn & {
  ask: (deadlineMs: number) => Promise<RegistryAnswer<Result>>;
  /** Returns the result if another request has found it meanwhile, so that none is made; null otherwise. */
  recall?: () => Result | null;
};

/** Runs a request to a server when its queue is free. */
export type RunInRegistryQueue = <Result>(
  server: string,
  request: RegistryRequest<Result>,
) => Promise<RegistryOutcome<Result>>;

/** The reason of a request that was not made: the registry requested a pause, or other requests were ahead. */
const NO_TURN = 'The registry was not queried: queries to it are limited, and this one had no turn in time';

/** Returns the failure of a lookup whose request was not made. Other accounts may request the same after a pause. */
export function failNoTurn({ retryAtMs }: { retryAtMs: number | null }, nowMs: number): FailedLookup {
  const failure = { outcome: 'failed', reason: NO_TURN, retryAtMs: retryAtMs ?? nowMs + PAUSE_MS } as const;
  return retryAtMs === null ? { ...failure, hadNoTurn: true } : failure;
}

/** Pause after a request to a registry before the next one, in milliseconds. */
const PAUSE_MS = 1000;

/** Interval at which a process polls for its turn at a registry, in milliseconds. */
const POLL_MS = 100;

/**
 * Additional delay before a process polls for an account that had a turn recently, in milliseconds: other accounts in
 * other processes may go first.
 */
const YIELD_MS = 300;

/**
 * How long a claim on a registry outlasts the deadline, in milliseconds: for the queries around it, and for differing
 * clocks.
 */
const MARGIN_MS = 2000;

/** Maximum requests of an account that wait for one registry: more would have no turn within a lookup. */
const MAX_WAITING = 8;

/**
 * Creates the queue that limits requests to registries. Over all processes it makes one request at a time at each
 * registry, a pause after each, and none before the time that the registry itself named. Within a process the waiting
 * accounts take turns, and one poll serves all of them.
 */
export function createRegistryQueue(tools: { store: DomainStore; now: () => number }): RunInRegistryQueue {
  const queues = new Map<string, ServerQueue>();
  return async (server, request) => {
    const queue = queues.get(server) ?? new ServerQueue({ ...tools, server, onIdle: () => queues.delete(server) });
    queues.set(server, queue);
    return await queue.run(request);
  };
}

/** A request that waits for its turn; its methods settle the caller's promise. */
type Waiting = RegistryTurn & {
  /** Settles the promise if the result is known by now; returns false otherwise. */
  isRecalled: () => boolean;
  /**
   * Makes the request, until `untilMs` at most; returns the function that settles the promise, and when the registry
   * accepts the next request.
   */
  make: (untilMs: number) => Promise<{ settle: () => void; askAgainAtMs: number | null }>;
  end: (retryAtMs: number | null) => void;
  fail: (error: unknown) => void;
};

type ServerQueueParts = { server: string; store: DomainStore; now: () => number; onIdle: () => void };

/** The requests of this process that wait for one server. */
class ServerQueue {
  readonly #parts: ServerQueueParts;
  #waiting: Waiting[] = [];
  /** Number of the last request made for each account, since the queue was last idle. */
  readonly #lastServed = new Map<string, number>();
  #served = 0;
  #isServing = false;

  constructor(parts: ServerQueueParts) {
    this.#parts = parts;
  }

  run<Result>(request: RegistryRequest<Result>): Promise<RegistryOutcome<Result>> {
    if (this.#isFullFor(request)) return Promise.resolve({ outcome: 'busy', retryAtMs: null });
    const { promise, resolve, reject } = Promise.withResolvers<RegistryOutcome<Result>>();
    const { now } = this.#parts;
    const { deadlineAtMs, ask, recall = () => null } = request;
    // Connections and bodies of the request count for its account.
    const inItsContext = AsyncLocalStorage.snapshot();
    const waiting: Waiting = {
      ...request,
      isRecalled() {
        const result = recall();
        if (result !== null) resolve({ outcome: 'answered', result });
        return result !== null;
      },
      async make(untilMs) {
        try {
          const leftMs = Math.min(deadlineAtMs, untilMs) - now();
          const { result, askAgainAtMs } = await inItsContext(ask, Math.max(1, leftMs));
          return { settle: () => resolve({ outcome: 'answered', result }), askAgainAtMs };
        } catch (error) {
          return { settle: () => reject(error), askAgainAtMs: null };
        }
      },
      end: (retryAtMs) => resolve({ outcome: 'busy', retryAtMs }),
      fail: reject,
    };
    this.#waiting.push(waiting);
    const callOff = setTimeout(() => this.#end([waiting], null), Math.max(0, deadlineAtMs - now()));
    if (!this.#isServing) void this.#serve();
    return promise.finally(() => clearTimeout(callOff));
  }

  #isFullFor({ accounts }: RegistryTurn): boolean {
    return [...accounts].every(
      (account) => this.#waiting.filter((waiting) => waiting.accounts.has(account)).length >= MAX_WAITING,
    );
  }

  /** Ends requests that still wait; those whose turn has begun have left the list. */
  #end(ended: readonly Waiting[], retryAtMs: number | null): void {
    for (const waiting of ended) if (this.#remove(waiting)) waiting.end(retryAtMs);
  }

  #remove(waiting: Waiting): boolean {
    const count = this.#waiting.length;
    this.#waiting = this.#waiting.filter((other) => other !== waiting);
    return this.#waiting.length < count;
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    try {
      for (let next = this.#next(); next !== null; next = this.#next()) await this.#tryTurn(next);
    } catch (error) {
      for (const waiting of this.#waiting.splice(0)) waiting.fail(error);
    }
    this.#isServing = false;
    this.#parts.onIdle();
  }

  /** Takes a turn if the server is free, and otherwise waits a little. */
  async #tryTurn({ lastServed }: { lastServed: number }): Promise<void> {
    const { server, store, now } = this.#parts;
    // If only one lookup waits, its next step continues at once.
    if (lastServed > 0 && this.#waiting.length > 1) await sleep(YIELD_MS);
    const untilMs = Math.max(now(), ...this.#waiting.map(({ deadlineAtMs }) => deadlineAtMs)) + MARGIN_MS;
    const freeAtMs = await store.acquireRegistry(server, { nowMs: now(), untilMs });
    if (freeAtMs !== null) {
      const outwaited = this.#waiting.filter(({ deadlineAtMs }) => deadlineAtMs <= freeAtMs);
      this.#end(outwaited, freeAtMs);
      if (this.#waiting.length > 0) await sleep(Math.max(POLL_MS, Math.min(freeAtMs - now() + 1, PAUSE_MS)));
      return;
    }
    // Requests may have joined or left meanwhile.
    const chosen = this.#next();
    if (chosen === null) {
      await store.releaseRegistry(server, { untilMs, freeAtMs: now() });
      return;
    }
    this.#served += 1;
    this.#lastServed.set(chosen.account, this.#served);
    this.#remove(chosen.waiting);
    // A request that joined meanwhile may have a later deadline than the claim on the server.
    const { settle, askAgainAtMs } = await chosen.waiting.make(untilMs - MARGIN_MS);
    try {
      await store.releaseRegistry(server, { untilMs, freeAtMs: Math.max(now() + PAUSE_MS, askAgainAtMs ?? 0) });
    } finally {
      settle();
    }
  }

  /** Settles the requests whose result is known by now. */
  #settleKnown(): void {
    this.#waiting = this.#waiting.filter((waiting) => !waiting.isRecalled());
  }

  /**
   * Returns the next request: of the waiting accounts, the one that has had no turn for longest; null if none waits.
   */
  #next(): { waiting: Waiting; account: string; lastServed: number } | null {
    this.#settleKnown();
    const claims = this.#waiting.flatMap((waiting) =>
      [...waiting.accounts].map((account) => ({ waiting, account, lastServed: this.#lastServed.get(account) ?? 0 })),
    );
    return claims.reduce<(typeof claims)[number] | null>(
      (first, claim) => (first !== null && first.lastServed <= claim.lastServed ? first : claim),
      null,
    );
  }
}

/** Storage of lookups, shared by all processes and persistent. Times are Unix milliseconds. */
export type DomainStore = {
  /** Returns the stored facts about a domain; null if there are none. */
  read(name: string): Promise<DomainFacts | null>;
  /** Claims the due lookup of a domain until `untilMs`; false if another process has it, or has just had it. */
  claim(name: string, when: { nowMs: number; untilMs: number }): Promise<boolean>;
  /** Stores the facts after a lookup, which ends its claim. */
  write(facts: DomainFacts): Promise<void>;
  /**
   * Returns the RDAP service of a top-level domain from the refreshed registry: null if it has none; undefined if the
   * registry was never refreshed.
   */
  findRdapService(tld: string): Promise<string | null | undefined>;
  /**
   * Claims the single slot at a server until `untilMs`: null if claimed. Otherwise returns when the server is free as
   * far as is known; the present holder may release it sooner or later.
   */
  acquireRegistry(server: string, when: { nowMs: number; untilMs: number }): Promise<number | null>;
  /** Releases the slot; no request is let in before `freeAtMs`. */
  releaseRegistry(server: string, when: { untilMs: number; freeAtMs: number }): Promise<void>;
};
