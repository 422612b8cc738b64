import { setTimeout as sleep } from 'node:timers/promises';
import type { DomainFacts } from '../../core/checks/domain/facts.ts';

/**
 * What a request to a registry brought, and when the registry may be asked again (Unix milliseconds). Null = it named
 * no time.
 */
export type RegistryAnswer<Result> = { result: Result; askAgainAtMs: number | null };

/** The outcome of a queued request to a registry: its answer, or when to retry (Unix milliseconds). */
export type RegistryOutcome<Result> = { outcome: 'answered'; result: Result } | { outcome: 'busy'; retryAtMs: number };

/** Asks a server when its queue is free; `ask` is given the milliseconds that are left. */
export type RunInRegistryQueue = <Result>(
  server: string,
  deadlineAtMs: number,
  ask: (deadlineMs: number) => Promise<RegistryAnswer<Result>>,
) => Promise<RegistryOutcome<Result>>;

/** The reason where a request was not made: the registry asked for a pause, or others were before it. */
export const NO_TURN = 'The registry was not queried: queries to it are limited, and this one had no turn in time';

/** Between two requests to one registry, in milliseconds. */
const PAUSE_MS = 1000;

/** How often a waiting request polls for its turn, in milliseconds. */
const POLL_MS = 100;

/**
 * How long a registry stays taken after the deadline, in milliseconds: for the queries around it, and for clocks that
 * differ.
 */
const MARGIN_MS = 2000;

/**
 * Makes what keeps lookups gentle. One request at a time at each registry over all processes, a pause after each, and
 * none before the moment that the registry itself has named.
 */
export function createRegistryQueue({ store, now }: { store: DomainStore; now: () => number }): RunInRegistryQueue {
  return async (server, deadlineAtMs, ask) => {
    const untilMs = deadlineAtMs + MARGIN_MS;
    for (;;) {
      const nowMs = now();
      if (nowMs >= deadlineAtMs) return { outcome: 'busy', retryAtMs: nowMs + PAUSE_MS };
      const freeAtMs = await store.acquireRegistry(server, { nowMs, untilMs });
      if (freeAtMs === null) break;
      if (freeAtMs >= deadlineAtMs) return { outcome: 'busy', retryAtMs: freeAtMs };
      await sleep(POLL_MS);
    }
    let askAgainAtMs: number | null = null;
    try {
      const answered = await ask(Math.max(1, deadlineAtMs - now()));
      askAgainAtMs = answered.askAgainAtMs;
      return { outcome: 'answered', result: answered.result };
    } finally {
      await store.releaseRegistry(server, { untilMs, freeAtMs: Math.max(now() + PAUSE_MS, askAgainAtMs ?? 0) });
    }
  };
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
