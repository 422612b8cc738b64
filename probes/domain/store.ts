import type { DomainFacts } from '../../core/checks/domain/facts.ts';

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
