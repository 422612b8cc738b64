import { Resolver } from 'node:dns/promises';
import type { DnsAnswer, DnsOpinion } from '../../core/checks/dns/observation.ts';
import { within } from '../../core/time.ts';
import { startDeadline } from '../../net/timeline.ts';
import { ask, inquire, type DnsQuestion, type ResolverPool } from './inquiry.ts';

/** Independent resolvers whose answers are held against ours (D-26). */
export type Panel = {
  /** What each of them answers within the deadline, in milliseconds; a question without an answer has timed out. */
  ask: (question: DnsQuestion & { deadlineMs: number }) => Promise<DnsOpinion[]>;
  /** Ends what is still being asked. */
  close: () => void;
};

const TIMED_OUT: DnsAnswer = { outcome: 'failed', failure: 'timeout' };

// 1, 2 and 4 seconds: what outlives a check ends by itself soon after it.
const TRIES = { timeout: 1000, tries: 3 };

/**
 * Makes a panel of resolvers (`address` or `address:port`). All checks share one socket to each: however many are under
 * way, the number of descriptors stays the same.
 */
export function createPanel(addresses: readonly string[]): Panel {
  const members = addresses.map((address) => {
    const resolver = new Resolver(TRIES);
    resolver.setServers([address]);
    return { address, resolver };
  });
  return {
    async ask({ name, types, deadlineMs }) {
      let callOff = (): void => {};
      const deadline = new Promise<DnsAnswer>((resolve) => {
        callOff = startDeadline(deadlineMs, () => resolve(TIMED_OUT));
      });
      const opinions = members.map(async ({ address, resolver }) => {
        const answers = types.map(
          async (type) => [type, await Promise.race([ask(resolver, { name, type }), deadline])] as const,
        );
        return { resolver: address, answers: Object.fromEntries(await Promise.all(answers)) };
      });
      try {
        return await Promise.all(opinions);
      } finally {
        callOff();
      }
    },
    close() {
      for (const { resolver } of members) resolver.cancel();
    },
  };
}

/** The means by which a name that fails is distinguished from resolvers of ours that do (D-42). */
export type OwnResolversWatch = {
  /**
   * Whether they answer what every resolver can, which are the servers of the root; false where that is not known by
   * the deadline.
   */
  work: () => Promise<boolean>;
  end: () => void;
};

const ASK_WITHIN_MS = 2000;

/** When many checks fail at once, one answer serves them all for so long. */
const KEEP_MS = 3000;

/**
 * Reads the resolvers that the system is set up with, as `address` or `address:port`. They are read anew each time:
 * they may have changed since the start.
 */
export function readSystemServers(): string[] {
  return new Resolver().getServers();
}

/** The resolvers that this machine is set up with, as all checks share the view of them. */
export class OwnResolvers {
  /** Their addresses as the system's configuration has them now. */
  readonly servers: () => readonly string[];
  readonly #resolvers: ResolverPool;
  #known: { atMs: number; works: Promise<boolean> } | null = null;

  constructor(servers: () => readonly string[], resolvers: ResolverPool) {
    this.servers = servers;
    this.#resolvers = resolvers;
  }

  /** Begins to watch them for one check that has `deadlineMs` milliseconds. */
  watch(deadlineMs: number): OwnResolversWatch {
    const endsAtMs = performance.now() + deadlineMs;
    let works: Promise<boolean> | null = null;
    // At the deadline it would be too late to ask, so a check that takes long has it asked halfway.
    const halfway = setTimeout(() => {
      works = this.#work();
    }, deadlineMs / 2);
    return {
      work: () => within(endsAtMs - performance.now(), works ?? this.#work(), false),
      end: () => clearTimeout(halfway),
    };
  }

  #work(): Promise<boolean> {
    const nowMs = performance.now();
    if (this.#known === null || nowMs - this.#known.atMs > KEEP_MS)
      this.#known = { atMs: nowMs, works: this.#askForRoot().catch(() => false) };
    return this.#known.works;
  }

  async #askForRoot(): Promise<boolean> {
    const { NS } = await inquire({
      name: '.',
      types: ['NS'],
      servers: this.servers(),
      resolvers: this.#resolvers,
      deadlineMs: ASK_WITHIN_MS,
    });
    return NS !== undefined && NS.outcome !== 'failed';
  }
}
