import { Resolver } from 'node:dns/promises';
import { inquire } from './inquiry.ts';
import type { ResolverPool } from './resolver-pool.ts';

/** The resolvers that this machine is set up with. */
export type OwnResolvers = {
  /** Their addresses as the system's configuration has them now. */
  servers: () => readonly string[];
  /** Begins to watch them for one check that has `deadlineMs` milliseconds. */
  watch: (deadlineMs: number) => OwnResolversWatch;
};

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

/** Makes the view of the machine's own resolvers that all checks share. */
export function createOwnResolvers(servers: () => readonly string[], resolvers: ResolverPool): OwnResolvers {
  let known: { atMs: number; works: Promise<boolean> } | null = null;
  const askForRoot = async () => {
    const { NS } = await inquire({
      name: '.',
      types: ['NS'],
      servers: servers(),
      resolvers,
      deadlineMs: ASK_WITHIN_MS,
    });
    return NS !== undefined && NS.outcome !== 'failed';
  };
  const work = () => {
    const nowMs = performance.now();
    if (known === null || nowMs - known.atMs > KEEP_MS) known = { atMs: nowMs, works: askForRoot().catch(() => false) };
    return known.works;
  };
  return {
    servers,
    watch(deadlineMs) {
      const endsAtMs = performance.now() + deadlineMs;
      let works: Promise<boolean> | null = null;
      // At the deadline it would be too late to ask, so a check that takes long has it asked halfway.
      const halfway = setTimeout(() => {
        works = work();
      }, deadlineMs / 2);
      return {
        work: () => isTrueWithin(endsAtMs - performance.now(), works ?? work()),
        end: () => clearTimeout(halfway),
      };
    },
  };
}

async function isTrueWithin(deadlineMs: number, answer: Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, deadlineMs));
  });
  try {
    return await Promise.race([answer, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
