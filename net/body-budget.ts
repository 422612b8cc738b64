import { AsyncLocalStorage } from 'node:async_hooks';

/** Bytes of a body that cost nothing: so much every exchange may hold at any time, and most answers are shorter. */
export const FREE_BODY_BYTES = 64 * 1024;

/** Bytes beyond that which all bodies of a process hold together (D-322). */
const SHARED_BODY_BYTES = 128 * 1024 * 1024;

/** Of what others leave, an account with several bodies has this part (D-395): some is left for the next one. */
const PART_OF_AN_ACCOUNT = 1 / 4;

/** How often bodies that wait look for others that have held memory for long, in milliseconds. */
const RECHECK_MS = 100;

/** What one body holds. */
export type BodyCharge = {
  /** Takes more bytes; false where none are left, even after others were given up. */
  take: (bytes: number) => boolean;
  /**
   * Takes bytes once there is room, and calls back then: at once, or in turn. Others are given up only where they have
   * held memory for longer than this body is patient. Nothing comes of it once the body is complete or released.
   */
  takeInTurn: (bytes: number, onTaken: () => void) => void;
  /** Gives back some of what was taken. */
  giveBack: (bytes: number) => void;
  /** The body is complete: it is not given up any more, and holds what it has until it is released. */
  complete: () => void;
  release: () => void;
};

/**
 * Says that a body was given up because bodies of other exchanges had all the memory, which is no fact about the
 * target.
 */
export class OutOfBodyMemory extends Error {
  constructor() {
    super('There was no memory left for the response body');
  }
}

/** One body: whose it is, for how long others may hold memory that it waits for, and when it began to hold anything. */
type Holder = { account: string; patienceMs: number; bytes: number; sinceMs: number; giveUp: () => void };

/**
 * A budget of bytes for bodies, in which each account has a share while it has several. Where the share or all is used
 * up, bodies that still come in are given up until there is room: those of the account that holds the most, and of
 * these the ones that have been coming in for longest. An answer that drips holds its memory until its deadline, an
 * honest one is through in a moment and must not wait for it. Bodies that take in turn wait for a while, for others may
 * be honest, too: first those of the account that holds the least, and in the order of requests.
 */
export class BodyBudget {
  readonly #mostBytes: number;
  /** Those that are still coming in, in the order in which they began. */
  readonly #coming = new Set<Holder>();
  readonly #waiting = new Map<Holder, { bytes: number; onTaken: () => void }>();
  readonly #heldByAccount = new Map<string, number>();
  #held = 0;
  #recheck: NodeJS.Timeout | null = null;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get heldBytes(): number {
    return this.#held;
  }

  /** `account` is whose body it is; `patienceMs` how long others may hold memory that it waits for. */
  open(account: string, giveUp: () => void, patienceMs = Number.POSITIVE_INFINITY): BodyCharge {
    const holder: Holder = { account, patienceMs, bytes: 0, sinceMs: 0, giveUp };
    this.#coming.add(holder);
    return {
      take: (bytes) => this.#take(holder, bytes),
      takeInTurn: (bytes, onTaken) => {
        this.#waiting.set(holder, { bytes, onTaken });
        this.#serveWaiting();
      },
      giveBack: (bytes) => this.#giveBack(holder, bytes),
      complete: () => this.#end(holder),
      release: () => {
        this.#release(holder);
        this.#serveWaiting();
      },
    };
  }

  #take(holder: Holder, bytes: number): boolean {
    const hasRoom = this.#makeRoom(holder, bytes);
    if (hasRoom) this.#hold(holder, bytes);
    return hasRoom;
  }

  /** Gives up others that have held memory for `heldMs` at the least, where that makes room for so many bytes more. */
  #makeRoom(holder: Holder, bytes: number, heldMs = 0): boolean {
    const untilMs = performance.now() - heldMs;
    const mayGo = (other: Holder): boolean => other !== holder && other.sinceMs <= untilMs;
    const [isInShare, isInAll] = [
      () => this.#isWithinShare(holder, bytes),
      () => this.#held + bytes <= this.#mostBytes,
    ];
    if (isInShare() && isInAll()) return true;
    if (!this.#canMakeRoom(holder, bytes, mayGo)) return false;
    this.#giveUpUntil(isInShare, (other) => mayGo(other) && other.account === holder.account);
    this.#giveUpUntil(isInAll, mayGo);
    return true;
  }

  /** Whether there is room for so many bytes more once all were given up that may be. */
  #canMakeRoom(holder: Holder, bytes: number, mayGo: (other: Holder) => boolean): boolean {
    const going = [...this.#coming].filter(mayGo);
    const sum = (holders: readonly Holder[]): number => holders.reduce((total, other) => total + other.bytes, 0);
    const ownGoing = sum(going.filter(({ account }) => account === holder.account));
    return this.#isWithinShare(holder, bytes, ownGoing) && this.#held - sum(going) + bytes <= this.#mostBytes;
  }

  /** Whether its account may hold so many bytes more, after others of it gave back `goingBytes`. */
  #isWithinShare(holder: Holder, bytes: number, goingBytes = 0): boolean {
    const own = this.#heldBy(holder.account);
    const left = own - goingBytes;
    return left === holder.bytes || left + bytes <= (this.#mostBytes - (this.#held - own)) * PART_OF_AN_ACCOUNT;
  }

  #serveWaiting(): void {
    if (this.#waiting.size === 0) return;
    const beyondShare = new Set<string>();
    const inTurn = [...this.#waiting].toSorted(([a], [b]) => this.#heldBy(a.account) - this.#heldBy(b.account));
    // Where there is no room for one, only those that are less patient are tried: more may be given up for them.
    let triedMs: number | null = null;
    for (const [holder, { bytes, onTaken }] of inTurn) {
      if (beyondShare.has(holder.account) || !this.#waiting.has(holder)) continue;
      if (triedMs !== null && holder.patienceMs >= triedMs) continue;
      if (!this.#makeRoom(holder, bytes, holder.patienceMs)) {
        if (this.#isWithinShare(holder, bytes)) triedMs = holder.patienceMs;
        else beyondShare.add(holder.account);
        continue;
      }
      this.#waiting.delete(holder);
      this.#hold(holder, bytes);
      onTaken();
    }
    if (this.#waiting.size > 0 && this.#recheck === null)
      this.#recheck = setTimeout(() => this.#recheckNow(), RECHECK_MS);
  }

  #recheckNow(): void {
    this.#recheck = null;
    this.#serveWaiting();
  }

  #giveUpUntil(hasRoom: () => boolean, mayGo: (holder: Holder) => boolean): void {
    while (!hasRoom()) {
      let first: Holder | null = null;
      for (const holder of this.#coming) {
        if (holder.bytes === 0 || !mayGo(holder)) continue;
        if (first === null || this.#heldBy(holder.account) > this.#heldBy(first.account)) first = holder;
      }
      if (first === null) return;
      // At once, and not when its reader comes to it: else more would be given up than is asked for.
      this.#release(first);
      first.giveUp();
    }
  }

  #giveBack(holder: Holder, bytes: number): void {
    // Of a body that was given up nothing is left.
    const left = Math.min(bytes, holder.bytes);
    if (left === 0) return;
    this.#hold(holder, -left);
    this.#serveWaiting();
  }

  #release(holder: Holder): void {
    this.#end(holder);
    this.#hold(holder, -holder.bytes);
  }

  #end(holder: Holder): void {
    this.#coming.delete(holder);
    this.#waiting.delete(holder);
  }

  #hold(holder: Holder, bytes: number): void {
    if (holder.bytes === 0) holder.sinceMs = performance.now();
    holder.bytes += bytes;
    this.#held += bytes;
    const left = this.#heldBy(holder.account) + bytes;
    if (left === 0) this.#heldByAccount.delete(holder.account);
    else this.#heldByAccount.set(holder.account, left);
  }

  #heldBy(account: string): number {
    return this.#heldByAccount.get(account) ?? 0;
  }
}

/** The one of this process. */
export const bodyBudget = new BodyBudget(SHARED_BODY_BYTES);

/** Work that looks at bodies: whose it is, and what they hold until it ends. */
export type BodyScope = { account: string; charges: BodyCharge[] };

const scopes = new AsyncLocalStorage<BodyScope>();

/**
 * Runs work of an account that looks at whole bodies after they came. They count as the account's, and what its
 * exchanges keep stays counted until it ends.
 */
export async function holdingBodies<Result>(account: string, work: () => Promise<Result>): Promise<Result> {
  const scope: BodyScope = { account, charges: [] };
  try {
    return await scopes.run(scope, work);
  } finally {
    for (const charge of scope.charges) charge.release();
  }
}

/** Whose work is under way here; undefined where it is no single account's. */
export function currentAccount(): string | undefined {
  return scopes.getStore()?.account;
}

/** The scope of the work that is under way here; undefined where there is none. */
export function bodyScope(): BodyScope | undefined {
  return scopes.getStore();
}
