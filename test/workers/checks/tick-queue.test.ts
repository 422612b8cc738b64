import test from 'ava';
import { TickQueue, type LimiterQueue, type Tick } from '../../../workers/checks/concurrency-limiter.ts';

/** A queue of checks that is full until it is set otherwise; beginning one fills it again. */
function fullQueue() {
  let open = Promise.withResolvers<void>();
  return {
    limiterQueue: { isFull: () => true, waitForRoom: () => open.promise },
    /** Lets the next one begin, and waits until it has. */
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

test('where there is room a tick begins at once', async (t) => {
  const runTick = openQueue({ isFull: () => false, waitForRoom: () => Promise.resolve() });
  t.deepEqual(await runTick('a', 1, echo), { slotBeginsAtMs: 1, passedOver: 0, hasWaited: false });
});

test('ticks begin in the order in which their slots came, one for each room there is', async (t) => {
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

test('the newest tick takes the place of the one that waits, whose caller does its work', async (t) => {
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

test('a tick that cannot begin rejects for its caller, and holds no other tick up', async (t) => {
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
