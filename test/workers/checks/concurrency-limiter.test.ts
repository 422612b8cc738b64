import test from 'ava';
import {
  ConcurrencyLimiter,
  TickQueue,
  type LimiterQueue,
  type Tick,
} from '../../../workers/checks/concurrency-limiter.ts';

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Runs work once the limiter admits it, and leaves in any case. */
async function pass<Result>(
  limiter: ConcurrencyLimiter,
  account: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await limiter.enter(account);
  return await work().finally(() => limiter.leave(account));
}

test('at most `concurrency` jobs run, and waiting ones start in order even after a failure', async (t) => {
  const limiter = new ConcurrencyLimiter({ concurrency: 2, perTurn: 10 });
  const entered: number[] = [];
  const works = Array.from({ length: 6 }, () => Promise.withResolvers<number>());
  const all = works.map(({ promise }, number) =>
    pass(limiter, 'one', () => {
      entered.push(number);
      return promise;
    }),
  );
  const leave = async (number: number) => {
    if (number === 1) works[number]?.reject(new Error('It failed'));
    else works[number]?.resolve(number);
    await all[number]?.catch(() => undefined);
    await nextTurn();
  };
  await nextTurn();
  t.deepEqual(entered, [0, 1]);
  await leave(1);
  t.deepEqual(entered, [0, 1, 2]);
  await leave(2);
  await leave(0);
  t.deepEqual(entered, [0, 1, 2, 3, 4]);
  for (const number of [3, 4, 5]) await leave(number);
  t.deepEqual(entered, [0, 1, 2, 3, 4, 5]);
  await t.throwsAsync(async () => await all[1], { message: 'It failed' });
  t.is(await pass(limiter, 'one', () => Promise.resolve('after all of them')), 'after all of them');
});

test('at most `perTurn` jobs start in one turn of the event loop', async (t) => {
  const limiter = new ConcurrencyLimiter({ concurrency: 10, perTurn: 2 });
  let turn = 0;
  const begunIn: number[] = [];
  const all = Array.from({ length: 5 }, () => pass(limiter, 'one', () => Promise.resolve(begunIn.push(turn))));
  // Work that starts at once has started when this turn's promises have settled.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  for (turn = 1; turn <= 4; turn += 1) await nextTurn();
  await Promise.all(all);
  t.deepEqual(
    begunIn.map((began) => begunIn.filter((other) => other === began).length),
    [2, 2, 2, 2, 1],
  );
});

test('the queue is full when as many accounts wait as can run, and announces when it has room', async (t) => {
  const limiter = new ConcurrencyLimiter({ concurrency: 2, perTurn: 10 });
  const works = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const all = works.map(({ promise }, number) => pass(limiter, `account ${number}`, () => promise));
  t.true(limiter.isFull());
  let hasRoom = false;
  const waitForRoom = limiter.waitForRoom().then(() => (hasRoom = true));
  await nextTurn();
  t.false(hasRoom);
  works[0]?.resolve();
  await waitForRoom;
  t.false(limiter.isFull());
  await limiter.waitForRoom();
  for (const { resolve } of works) resolve();
  await Promise.all(all);
});

test('the account with the fewest running jobs is next, and one account alone does not fill the queue', async (t) => {
  const limiter = new ConcurrencyLimiter({ concurrency: 2, perTurn: 100 });
  const entered: string[] = [];
  const begin = (account: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = pass(limiter, account, () => {
      entered.push(account);
      return promise;
    });
    return async () => {
      resolve();
      await done;
      await nextTurn();
    };
  };
  const slow = Array.from({ length: 40 }, () => begin('slow'));
  t.false(limiter.isFull());
  const quick = [begin('quick'), begin('quick')];
  await nextTurn();
  t.deepEqual(entered, ['slow', 'slow']);
  await slow[0]?.();
  t.deepEqual(entered.slice(2), ['quick']);
  await quick[0]?.();
  t.deepEqual(entered.slice(2), ['quick', 'quick'], 'a slot freed by a quick account goes to the next quick job');
  await quick[1]?.();
  t.deepEqual(entered.slice(4), ['slow']);
  for (const end of slow) await end();
  t.is(entered.filter((account) => account === 'slow').length, 40);
});

test('a single account fills the queue with 4,000 waiting jobs, or with one at a concurrency of 1', async (t) => {
  const limiter = new ConcurrencyLimiter({ concurrency: 1, perTurn: 1 });
  const { promise, resolve } = Promise.withResolvers<void>();
  const wide = new ConcurrencyLimiter({ concurrency: 32, perTurn: 10_000 });
  const all = Array.from({ length: 32 + 4000 }, () => pass(wide, 'one', () => promise));
  t.true(wide.isFull());
  const first = pass(limiter, 'one', () => promise);
  const second = pass(limiter, 'one', () => promise);
  t.true(limiter.isFull(), 'with a concurrency of 1 one waiting job is enough');
  resolve();
  await Promise.all([...all, first, second]);
  t.false(wide.isFull());
});

/** Returns a queue of checks that is full until the test makes room; starting a check fills it again. */
function fullQueue() {
  let open = Promise.withResolvers<void>();
  return {
    limiterQueue: { isFull: () => true, waitForRoom: () => open.promise },
    /** Lets the next check start, and waits until it has. */
    async beginOne() {
      const before = open;
      open = Promise.withResolvers();
      before.resolve();
      await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
    },
  };
}

function openQueue(limiterQueue: LimiterQueue): TickQueue['readInTurn'] {
  const ticks = new TickQueue(limiterQueue);
  return (...tick) => ticks.readInTurn(...tick);
}

const echo = (tick: Tick): Promise<Tick> => Promise.resolve({ ...tick });

test('a tick starts at once when there is room', async (t) => {
  const runTick = openQueue({ isFull: () => false, waitForRoom: () => Promise.resolve() });
  t.deepEqual(await runTick('a', 1, echo), { slotBeginsAtMs: 1, passedOver: 0, hasWaited: false });
});

test('ticks start in the order in which their slots arrived, one whenever there is room', async (t) => {
  const { limiterQueue, beginOne } = fullQueue();
  const runTick = openQueue(limiterQueue);
  const begun: string[] = [];
  const all = ['a', 'b', 'c'].map((slot) => runTick(slot, 1, (tick) => Promise.resolve([tick, begun.push(slot)])));
  for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
    await beginOne();
    t.deepEqual(begun, expected);
  }
  await Promise.all(all);
});

test('newer ticks of a slot replace its waiting one, and only the first caller runs', async (t) => {
  const { limiterQueue, beginOne } = fullQueue();
  const runTick = openQueue(limiterQueue);
  const [a, b] = [runTick('a', 1, echo), runTick('b', 2, echo)];
  t.is(await runTick('a', 60, echo), null);
  t.is(await runTick('a', 120, echo), null);
  await beginOne();
  t.deepEqual(await a, { slotBeginsAtMs: 120, passedOver: 2, hasWaited: true });
  const again = runTick('a', 180, echo);
  await beginOne();
  t.deepEqual(await b, { slotBeginsAtMs: 2, passedOver: 0, hasWaited: true });
  await beginOne();
  t.deepEqual(await again, { slotBeginsAtMs: 180, passedOver: 0, hasWaited: true });
});

test('a failing tick rejects for its caller and blocks no other tick', async (t) => {
  const { limiterQueue, beginOne } = fullQueue();
  const runTick = openQueue(limiterQueue);
  const broken = runTick('a', 1, () => Promise.reject(new Error('the database is away')));
  const next = runTick('b', 2, echo);
  const refusal = t.throwsAsync(broken, { message: 'the database is away' });
  await beginOne();
  await beginOne();
  await refusal;
  t.like(await next, { slotBeginsAtMs: 2 });
});
