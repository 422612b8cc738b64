import type { LimiterQueue } from './tick-queue.ts';

/**
 * Bounds how many pieces of work run at a time. Of the accounts whose work waits, the one with the fewest running is
 * next, so that an account whose targets answer slowly delays its own checks alone. `waitForRoom` resolves when the
 * queue is not full.
 */
export type ConcurrencyLimiter = LimiterQueue & {
  pass: <Result>(account: string, work: () => Promise<Result>) => Promise<Result>;
};

/**
 * `concurrency` is how many run at a time, `perTurn` how many begin in one turn of the event loop: when more is due
 * than can be done, turns would otherwise take seconds, and everything that needs several of them, as fetching the next
 * job does, would come to a standstill.
 */
export type LimiterSize = { concurrency: number; perTurn: number };

/**
 * An account counts towards a full queue with at most this share of the concurrency: several must be behind before the
 * checks of all are put off.
 */
const ACCOUNT_SHARE = 1 / 16;

/**
 * The queue is full with this many waiting, whoever they belong to, or with twice the concurrency where that is more:
 * what waits takes memory.
 */
const MOST_WAITING = 4000;

/** The running and waiting work of one account. */
type Account = { active: number; waiting: (() => void)[] };

/** Makes a concurrency limiter. The work of one account begins in the order in which it came. */
export function createConcurrencyLimiter({ concurrency, perTurn }: LimiterSize): ConcurrencyLimiter {
  const share = Math.max(1, Math.floor(concurrency * ACCOUNT_SHARE));
  const most = Math.max(2 * concurrency, MOST_WAITING);
  const accounts = new Map<string, Account>();
  /** In the order of their last turn. */
  const queued = new Map<string, Account>();
  let active = 0;
  let begun = 0;
  let waiting = 0;
  /** Those that wait, of each account its share at most. */
  let counted = 0;
  const onRoom: (() => void)[] = [];

  const isFull = () => counted >= concurrency || waiting >= most;
  const hasRoom = () => active < concurrency && begun < perTurn;
  const accountOf = (name: string): Account => {
    const known = accounts.get(name) ?? { active: 0, waiting: [] };
    accounts.set(name, known);
    return known;
  };
  const begin = (account: Account) => {
    account.active += 1;
    active += 1;
    begun += 1;
    if (begun === 1) setImmediate(beginTurn);
  };
  const queueUp = (name: string, pass: () => void) => {
    const account = accountOf(name);
    account.waiting.push(pass);
    queued.set(name, account);
    waiting += 1;
    if (account.waiting.length <= share) counted += 1;
  };
  const findNext = () => {
    let next: [string, Account] | undefined;
    for (const entry of queued) if (next === undefined || entry[1].active < next[1].active) next = entry;
    return next;
  };
  const take = ([name, account]: [string, Account]) => {
    if (account.waiting.length <= share) counted -= 1;
    waiting -= 1;
    const pass = account.waiting.shift();
    queued.delete(name);
    if (account.waiting.length > 0) queued.set(name, account);
    begin(account);
    pass?.();
  };
  const startWaiting = () => {
    while (hasRoom()) {
      const next = findNext();
      if (next === undefined) break;
      take(next);
    }
    if (isFull()) return;
    for (const notify of onRoom.splice(0)) notify();
  };
  const beginTurn = () => {
    begun = 0;
    startWaiting();
  };

  return {
    isFull,
    waitForRoom: () => (isFull() ? new Promise((resolve) => onRoom.push(resolve)) : Promise.resolve()),
    async pass(name, work) {
      if (waiting === 0 && hasRoom()) begin(accountOf(name));
      else await new Promise<void>((resolve) => queueUp(name, resolve));
      try {
        return await work();
      } finally {
        const account = accountOf(name);
        account.active -= 1;
        active -= 1;
        if (account.active === 0 && account.waiting.length === 0) accounts.delete(name);
        startWaiting();
      }
    },
  };
}
