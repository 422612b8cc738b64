import { AsyncLocalStorage } from 'node:async_hooks';

/** Free bytes of a body: every exchange may hold that many at any time, and most responses are shorter. */
export const FREE_BODY_BYTES = 64 * 1024;

/** Maximum bytes beyond the free ones that all bodies of a process hold together (D-322). */
const SHARED_BODY_BYTES = 128 * 1024 * 1024;

/**
 * Share of the memory left by other accounts that an account with several bodies may hold (D-395); the rest is for the
 * next account.
 */
const PART_OF_AN_ACCOUNT = 1 / 4;

/** Interval at which waiting bodies check again for others that have held memory for long, in milliseconds. */
const RECHECK_MS = 100;

/** Memory held by one body. */
export type BodyCharge = {
  /** Takes more bytes; returns false if none are left, even after other bodies were given up. */
  take: (bytes: number) => boolean;
  /**
   * Takes bytes once there is room, in turn, and then calls back, possibly at once. Others are given up only if they
   * have held memory for longer than this body's patience. The request ends when the body is complete or released.
   */
  takeInTurn: (bytes: number, onTaken: () => void) => void;
  /** Returns some of the bytes to the budget. */
  giveBack: (bytes: number) => void;
  /** Marks the body complete: it is no longer given up, and holds its bytes until it is released. */
  complete: () => void;
  release: () => void;
};

/**
 * Error for a body that was given up because bodies of other exchanges held all the memory, which proves nothing about
 * the target.
 */
export class OutOfBodyMemory extends Error {
  constructor() {
    super('There was no memory left for the response body');
  }
}

/** One body: its account, how long others may hold memory that it waits for, and when it began to hold bytes. */
type Holder = { account: string; patienceMs: number; bytes: number; sinceMs: number; giveUp: () => void };

/**
 * A budget of bytes for bodies, of which each account with several bodies has a share. If the share or the budget is
 * used up, incoming bodies are given up until there is room: those of the account that holds the most, the oldest
 * first. A response that drips holds its memory until its deadline; an honest one arrives in a moment and must not wait
 * for it. Bodies that take in turn wait for a while, because others may be honest, too: first those of the account that
 * holds the least, in the order of requests.
 */
export class BodyBudget {
  readonly #mostBytes: number;
  /** Incoming bodies, in the order in which they began. */
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

  /** `account` owns the body; `patienceMs` is how long others may hold memory that it waits for. */
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

  /** Gives up other bodies that have held memory for at least `heldMs`, if that makes room for `bytes` more. */
  #makeRoom(holder: Holder, bytes: number, heldMs = 0): boolean {
    const untilMs = performance.now() - heldMs;
    const mayGo = (other: Holder): boolean => other !== holder && other.sinceMs <= untilMs;
    const isInShare = (): boolean => this.#isWithinShare(holder, bytes);
    const isInAll = (): boolean => this.#held + bytes <= this.#mostBytes;
    if (isInShare() && isInAll()) return true;
    if (!this.#canMakeRoom(holder, bytes, mayGo)) return false;
    this.#giveUpUntil(isInShare, (other) => mayGo(other) && other.account === holder.account);
    this.#giveUpUntil(isInAll, mayGo);
    return true;
  }

  /** Reports whether giving up all bodies that may be given up would make room for `bytes` more. */
  #canMakeRoom(holder: Holder, bytes: number, mayGo: (other: Holder) => boolean): boolean {
    const going = [...this.#coming].filter(mayGo);
    const sum = (holders: readonly Holder[]): number => holders.reduce((total, other) => total + other.bytes, 0);
    const ownGoing = sum(going.filter(({ account }) => account === holder.account));
    return this.#isWithinShare(holder, bytes, ownGoing) && this.#held - sum(going) + bytes <= this.#mostBytes;
  }

  /** Reports whether the account may hold `bytes` more, after its other bodies returned `goingBytes`. */
  #isWithinShare(holder: Holder, bytes: number, goingBytes = 0): boolean {
    const own = this.#heldBy(holder.account);
    const left = own - goingBytes;
    return left === holder.bytes || left + bytes <= (this.#mostBytes - (this.#held - own)) * PART_OF_AN_ACCOUNT;
  }

  #serveWaiting(): void {
    if (this.#waiting.size === 0) return;
    const beyondShare = new Map<string, number>();
    const inTurn = [...this.#waiting].toSorted(([a], [b]) => this.#heldBy(a.account) - this.#heldBy(b.account));
    // If there is no room for one body, only less patient ones are tried: more may be given up for them.
    let triedMs: number | null = null;
    for (const [holder, { bytes, onTaken }] of inTurn) {
      if (!this.#waiting.has(holder)) continue;
      const tried = [triedMs, beyondShare.get(holder.account) ?? null];
      if (tried.some((ms) => ms !== null && holder.patienceMs >= ms)) continue;
      if (!this.#makeRoom(holder, bytes, holder.patienceMs)) {
        if (this.#isWithinShare(holder, bytes)) triedMs = holder.patienceMs;
        else beyondShare.set(holder.account, holder.patienceMs);
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
      // Released at once, not when its reader reacts: otherwise more bodies would be given up than necessary.
      this.#release(first);
      first.giveUp();
    }
  }

  #giveBack(holder: Holder, bytes: number): void {
    // A body that was given up has nothing left to return.
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

/** The budget of this process. */
export const bodyBudget = new BodyBudget(SHARED_BODY_BYTES);

/** Work that reads whole bodies: its account, and the memory that they hold until it ends. */
export type BodyScope = { account: string; charges: BodyCharge[] };

const scopes = new AsyncLocalStorage<BodyScope>();

/**
 * Runs an account's work on whole bodies after they arrived. They count as the account's, and the bodies that its
 * exchanges keep stay charged until it ends.
 */
export async function holdingBodies<Result>(account: string, work: () => Promise<Result>): Promise<Result> {
  const scope: BodyScope = { account, charges: [] };
  try {
    return await scopes.run(scope, work);
  } finally {
    for (const charge of scope.charges) charge.release();
  }
}

/** Returns the account of the current work; undefined if it serves no single account. */
export function currentAccount(): string | undefined {
  return scopes.getStore()?.account;
}

/** Returns the scope of the current work; undefined if there is none. */
export function bodyScope(): BodyScope | undefined {
  return scopes.getStore();
}
