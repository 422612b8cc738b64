import type { LimiterQueue } from './tick-queue.ts';

/**
 * Lets a number of works run at a time. Of accounts with works that wait, the one with the fewest under way is next, so
 * that an account whose targets answer slowly holds up its own checks alone. Before it is a hall: `room` resolves when
 * it is not full.
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
 * An account counts towards a full hall with at most this share of the width: several must be behind before work for
 * all is put off.
 */
const ACCOUNT_SHARE = 1 / 16;

/** The hall is full with so many in any case, and never with fewer than twice the width: what waits takes memory. */
const MOST_WAITING = 4000;

/** An account that has works inside or waiting. */
type Account = { active: number; waiting: (() => void)[] };

/** Makes a gate. Works of one account begin in the order in which they came. */
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
