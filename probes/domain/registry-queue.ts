import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DomainFacts, FailedLookup } from '../../core/checks/domain/facts.ts';

/**
 * What a request to a registry brought, and when the registry may be asked again (Unix milliseconds). Null = it named
 * no time.
 */
export type RegistryAnswer<Result> = { result: Result; askAgainAtMs: number | null };

/**
 * The outcome of a queued request to a registry: its answer, or when to retry (Unix milliseconds) where the registry
 * asked for a pause. Null = others were before it.
 */
export type RegistryOutcome<Result> =
  | { outcome: 'answered'; result: Result }
  | { outcome: 'busy'; retryAtMs: number | null };

/** Who waits for a request to a registry, and until when (Unix milliseconds). Accounts may join while it waits. */
export type RegistryTurn = { deadlineAtMs: number; accounts: ReadonlySet<string> };

/** A request to a registry; `ask` is given the milliseconds that are left. */
export type RegistryRequest<Result> = RegistryTurn & {
  ask: (deadlineMs: number) => Promise<RegistryAnswer<Result>>;
  /** The result where another request has brought it meanwhile, so that none is made; null = none has. */
  recall?: () => Result | null;
};

/** Asks a server when its queue is free. */
export type RunInRegistryQueue = <Result>(
  server: string,
  request: RegistryRequest<Result>,
) => Promise<RegistryOutcome<Result>>;

/** The reason where a request was not made: the registry asked for a pause, or others were before it. */
const NO_TURN = 'The registry was not queried: queries to it are limited, and this one had no turn in time';

/** What a lookup came to whose request was not made. Others who ask for the same may do so a pause later. */
export function failNoTurn({ retryAtMs }: { retryAtMs: number | null }, nowMs: number): FailedLookup {
  const failure = { outcome: 'failed', reason: NO_TURN, retryAtMs: retryAtMs ?? nowMs + PAUSE_MS } as const;
  return retryAtMs === null ? { ...failure, hadNoTurn: true } : failure;
}

/** Between two requests to one registry, in milliseconds. */
const PAUSE_MS = 1000;

/** How often a process polls for its turn at a registry, in milliseconds. */
const POLL_MS = 100;

/**
 * How much later a process polls for an account that had a turn lately, in milliseconds: others may be first in other
 * processes.
 */
const YIELD_MS = 300;

/**
 * How long a registry stays taken after the deadline, in milliseconds: for the queries around it, and for clocks that
 * differ.
 */
const MARGIN_MS = 2000;

/** Requests of an account that wait for one registry: more would have no turn in the time of a lookup. */
const MAX_WAITING = 8;

/**
 * Makes what keeps lookups gentle. One request at a time at each registry over all processes, a pause after each, and
 * none before the moment that the registry itself has named. In a process the accounts that wait take turns, and one
 * poll is made for all of them.
 */
export function createRegistryQueue(tools: { store: DomainStore; now: () => number }): RunInRegistryQueue {
  const queues = new Map<string, ServerQueue>();
  return async (server, request) => {
    const queue = queues.get(server) ?? new ServerQueue({ ...tools, server, onIdle: () => queues.delete(server) });
    queues.set(server, queue);
    return await queue.run(request);
  };
}

/** A request that waits for its turn; what its methods settle is the caller's promise. */
type Waiting = RegistryTurn & {
  /** Settles it by what is known meanwhile; false = nothing is. */
  isRecalled: () => boolean;
  /** Makes the request, until then at most; what settles it comes back, and when the registry may be asked again. */
  make: (untilMs: number) => Promise<{ settle: () => void; askAgainAtMs: number | null }>;
  end: (retryAtMs: number | null) => void;
  fail: (error: unknown) => void;
};

type ServerQueueParts = { server: string; store: DomainStore; now: () => number; onIdle: () => void };

/** Those of this process who wait for one server. */
class ServerQueue {
  readonly #parts: ServerQueueParts;
  #waiting: Waiting[] = [];
  /** The number of the last request that was made for each account, since anybody has been waiting. */
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
    // Its connections and what it reads are its account's.
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

  /** Those whose turn has begun are no longer among the waiting. */
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

  /** Takes a turn where the server is free, and waits a little where it is not. */
  async #tryTurn({ lastServed }: { lastServed: number }): Promise<void> {
    const { server, store, now } = this.#parts;
    // The next step of a lookup that is alone goes on at once.
    if (lastServed > 0 && this.#waiting.length > 1) await sleep(YIELD_MS);
    const untilMs = Math.max(now(), ...this.#waiting.map(({ deadlineAtMs }) => deadlineAtMs)) + MARGIN_MS;
    const freeAtMs = await store.acquireRegistry(server, { nowMs: now(), untilMs });
    if (freeAtMs !== null) {
      const outwaited = this.#waiting.filter(({ deadlineAtMs }) => deadlineAtMs <= freeAtMs);
      this.#end(outwaited, freeAtMs);
      if (this.#waiting.length > 0) await sleep(Math.max(POLL_MS, Math.min(freeAtMs - now() + 1, PAUSE_MS)));
      return;
    }
    // Others may have come or gone meanwhile.
    const chosen = this.#next();
    if (chosen === null) {
      await store.releaseRegistry(server, { untilMs, freeAtMs: now() });
      return;
    }
    this.#served += 1;
    this.#lastServed.set(chosen.account, this.#served);
    this.#remove(chosen.waiting);
    // Who came meanwhile may have longer than the server is taken for.
    const { settle, askAgainAtMs } = await chosen.waiting.make(untilMs - MARGIN_MS);
    try {
      await store.releaseRegistry(server, { untilMs, freeAtMs: Math.max(now() + PAUSE_MS, askAgainAtMs ?? 0) });
    } finally {
      settle();
    }
  }

  /** Settles those whose result is known by now. */
  #settleKnown(): void {
    this.#waiting = this.#waiting.filter((waiting) => !waiting.isRecalled());
  }

  /** Whose turn it is: of the accounts that wait, the one that has been without for longest; null = none waits. */
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

/** What lookups keep, shared by all processes and lasting over restarts. Times are Unix milliseconds. */
export type DomainStore = {
  /** What is known of a domain; null = nothing. */
  read(name: string): Promise<DomainFacts | null>;
  /** Takes on the lookup of a domain that is due, until `untilMs`; false when another has it, or had it just now. */
  claim(name: string, when: { nowMs: number; untilMs: number }): Promise<boolean>;
  /** Keeps what is known after a lookup, which ends its claim. */
  write(facts: DomainFacts): Promise<void>;
  /**
   * The RDAP service of a top-level domain by the refreshed registry: null = it has none; undefined = the registry was
   * never refreshed.
   */
  findRdapService(tld: string): Promise<string | null | undefined>;
  /**
   * Claims the one place at a server until `untilMs`: null = claimed. Otherwise when the server may be asked again as
   * far as it has said; the present holder may leave sooner or later.
   */
  acquireRegistry(server: string, when: { nowMs: number; untilMs: number }): Promise<number | null>;
  /** Gives the turn back; nobody is let in before `freeAtMs`. */
  releaseRegistry(server: string, when: { untilMs: number; freeAtMs: number }): Promise<void>;
};
