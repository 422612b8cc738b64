/**
 * `concurrency` is how many run at a time, `perTurn` how many start in one turn of the event loop. Under overload,
 * turns would otherwise take seconds, and work that needs several of them, such as fetching the next job, would stall.
 */
type LimiterSize = { concurrency: number; perTurn: number };

/**
 * Maximum share of the concurrency with which an account counts towards a full queue. Several must be behind before all
 * accounts' checks are postponed.
 */
const ACCOUNT_SHARE = 1 / 16;

/**
 * Number of waiting jobs with which the queue is full, whatever their accounts, or twice the concurrency if that is
 * more: waiting jobs take memory.
 */
const MAX_WAITING = 4000;

/** Running and waiting work of one account. */
type Account = { active: number; waiting: (() => void)[] };

/**
 * Limits how many jobs run at a time. Of the accounts with waiting jobs, the one with the fewest running is next, so an
 * account whose targets respond slowly delays only its own checks. Jobs of one account start in the order of their
 * arrival.
 */
export class ConcurrencyLimiter implements LimiterQueue {
  readonly #size: LimiterSize;
  readonly #accountShare: number;
  readonly #mostWaiting: number;
  readonly #accounts = new Map<string, Account>();
  /** In the order of their last turn. */
  readonly #queued = new Map<string, Account>();
  #active = 0;
  #begunInTurn = 0;
  #waiting = 0;
  /** Number of waiting jobs, each account's limited to its share. */
  #countedWaiting = 0;
  readonly #onRoom: (() => void)[] = [];

  constructor(size: LimiterSize) {
    this.#size = size;
    this.#accountShare = Math.max(1, Math.floor(size.concurrency * ACCOUNT_SHARE));
    this.#mostWaiting = Math.max(2 * size.concurrency, MAX_WAITING);
  }

  /** Waits for the turn of an account's job, which must call `leave` when it ends, even if it fails. */
  async enter(name: string): Promise<void> {
    if (this.#waiting === 0 && this.#canBegin()) this.#begin(this.#accountOf(name));
    else await new Promise<void>((begin) => this.#queueUp(name, begin));
  }

  /** Ends a job, and gives its slot to a waiting one. */
  leave(name: string): void {
    const account = this.#accountOf(name);
    account.active -= 1;
    this.#active -= 1;
    if (account.active === 0 && account.waiting.length === 0) this.#accounts.delete(name);
    this.#startWaiting();
  }

  /** Reports whether so many jobs wait that callers should keep theirs for later. */
  isFull(): boolean {
    return this.#countedWaiting >= this.#size.concurrency || this.#waiting >= this.#mostWaiting;
  }

  /** Resolves when the queue is not full. */
  waitForRoom(): Promise<void> {
    return this.isFull() ? new Promise((resolve) => this.#onRoom.push(resolve)) : Promise.resolve();
  }

  #canBegin(): boolean {
    return this.#active < this.#size.concurrency && this.#begunInTurn < this.#size.perTurn;
  }

  #accountOf(name: string): Account {
    const known = this.#accounts.get(name) ?? { active: 0, waiting: [] };
    this.#accounts.set(name, known);
    return known;
  }

  #begin(account: Account): void {
    account.active += 1;
    this.#active += 1;
    this.#begunInTurn += 1;
    if (this.#begunInTurn === 1) setImmediate(() => this.#beginTurn());
  }

  #beginTurn(): void {
    this.#begunInTurn = 0;
    this.#startWaiting();
  }

  #queueUp(name: string, begin: () => void): void {
    const account = this.#accountOf(name);
    account.waiting.push(begin);
    this.#queued.set(name, account);
    this.#waiting += 1;
    if (account.waiting.length <= this.#accountShare) this.#countedWaiting += 1;
  }

  #startWaiting(): void {
    while (this.#canBegin()) {
      const next = this.#findNext();
      if (next === undefined) break;
      this.#take(next);
    }
    if (this.isFull()) return;
    for (const notify of this.#onRoom.splice(0)) notify();
  }

  #findNext(): [string, Account] | undefined {
    let next: [string, Account] | undefined;
    for (const entry of this.#queued) if (next === undefined || entry[1].active < next[1].active) next = entry;
    return next;
  }

  #take([name, account]: [string, Account]): void {
    if (account.waiting.length <= this.#accountShare) this.#countedWaiting -= 1;
    this.#waiting -= 1;
    const begin = account.waiting.shift();
    this.#queued.delete(name);
    if (account.waiting.length > 0) this.#queued.set(name, account);
    this.#begin(account);
    begin?.();
  }
}

/** A tick of a slot when its turn comes: the newest one so far, and how many older ones it replaces. */
export type Tick = { slotBeginsAtMs: number; passedOver: number; hasWaited: boolean };

/** Queue of checks that have been read and wait to start. */
export type LimiterQueue = { isFull: () => boolean; waitForRoom: () => Promise<void> };

type WaitingTick = { tick: Tick; begin: () => void; read: Promise<void> };

/**
 * Queues ticks that arrive while more checks wait than can start soon. A waiting tick has read nothing yet, so the
 * queue costs no memory; each slot has one entry, so that under overload all monitors are checked equally often.
 */
export class TickQueue {
  readonly #limiterQueue: LimiterQueue;
  readonly #waiting = new Map<string, WaitingTick>();
  #isDraining = false;

  constructor(limiterQueue: LimiterQueue) {
    this.#limiterQueue = limiterQueue;
  }

  /**
   * Waits for the turn of a slot's tick, and reads its checks. The next tick has its turn once they are read, or could
   * not be. Null if an earlier tick of the slot still waits, which then takes over the newer time.
   */
  async readInTurn<Checks>(
    slot: string,
    slotBeginsAtMs: number,
    read: (tick: Tick) => Promise<Checks>,
  ): Promise<Checks | null> {
    const before = this.#waiting.get(slot);
    if (before !== undefined) {
      // The last to arrive counts, not the latest time: clocks are set back.
      before.tick.slotBeginsAtMs = slotBeginsAtMs;
      before.tick.passedOver += 1;
      return null;
    }
    if (!this.#isDraining && !this.#limiterQueue.isFull())
      return await read({ slotBeginsAtMs, passedOver: 0, hasWaited: false });
    const [turn, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const tick = { slotBeginsAtMs, passedOver: 0, hasWaited: true };
    this.#waiting.set(slot, { tick, begin: turn.resolve, read: end.promise });
    if (!this.#isDraining) void this.#drain();
    await turn.promise;
    try {
      return await read(tick);
    } finally {
      end.resolve();
    }
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    for (;;) {
      await this.#limiterQueue.waitForRoom();
      const [next] = this.#waiting;
      if (next === undefined) break;
      const [slot, { begin, read }] = next;
      this.#waiting.delete(slot);
      begin();
      await read;
      // The checks are in the limiter's queue by the next turn of the event loop; only then is it clear whether there
      // is room for more.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    this.#isDraining = false;
  }
}
