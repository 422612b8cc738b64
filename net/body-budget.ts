import { AsyncLocalStorage } from 'node:async_hooks';

/** Bytes of a body that cost nothing: so much every exchange may hold at any time, and most answers are shorter. */
export const FREE_BODY_BYTES = 64 * 1024;

/** Bytes beyond that which all bodies of a process hold together (D-322). */
const SHARED_BODY_BYTES = 128 * 1024 * 1024;

/** What one body holds. */
export type BodyCharge = {
  /** Takes more bytes; false where none are left, even after others were given up. */
  take: (bytes: number) => boolean;
  /** The body is complete: it is not given up any more, and holds what it has until it is released. */
  complete: () => void;
  release: () => void;
};

export type BodyBudget = { open: (giveUp: () => void) => BodyCharge; heldBytes: () => number };

/**
 * Says that a body was given up because bodies of other exchanges had all the memory, which is no fact about the
 * target.
 */
export class OutOfBodyMemory extends Error {
  constructor() {
    super('There was no memory left for the body of the answer');
  }
}

/**
 * Makes a budget of bytes for bodies. Where it is used up, the bodies that have been coming in for longest are given up
 * until there is room: an answer that drips holds its memory until its deadline, an honest one is through in a moment
 * and must not wait for it.
 */
export function createBodyBudget(mostBytes: number): BodyBudget {
  type Holder = { bytes: number; giveUp: () => void };
  /** Those that are still coming in, in the order in which they began. */
  const coming = new Set<Holder>();
  let held = 0;

  const release = (holder: Holder): void => {
    coming.delete(holder);
    held -= holder.bytes;
    holder.bytes = 0;
  };
  const makeRoom = (bytes: number, asking: Holder): boolean => {
    for (const holder of coming) {
      if (held + bytes <= mostBytes) break;
      if (holder === asking || holder.bytes === 0) continue;
      // At once, and not when its reader comes to it: else more would be given up than is asked for.
      release(holder);
      holder.giveUp();
    }
    return held + bytes <= mostBytes;
  };
  return {
    heldBytes: () => held,
    open(giveUp) {
      const holder: Holder = { bytes: 0, giveUp };
      coming.add(holder);
      return {
        take(bytes) {
          if (held + bytes > mostBytes && !makeRoom(bytes, holder)) return false;
          holder.bytes += bytes;
          held += bytes;
          return true;
        },
        complete: () => void coming.delete(holder),
        release: () => release(holder),
      };
    },
  };
}

/** The one of this process. */
export const bodyBudget = createBodyBudget(SHARED_BODY_BYTES);

const scopes = new AsyncLocalStorage<BodyCharge[]>();

/** Runs work that looks at whole bodies after they came: what its exchanges keep stays counted until it ends. */
export async function holdingBodies<Result>(work: () => Promise<Result>): Promise<Result> {
  const charges: BodyCharge[] = [];
  try {
    return await scopes.run(charges, work);
  } finally {
    for (const charge of charges) charge.release();
  }
}

/** What is released when the work ends that is under way here; undefined where there is none. */
export function bodyScope(): BodyCharge[] | undefined {
  return scopes.getStore();
}
