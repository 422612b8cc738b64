import test from 'ava';
import { TickQueue, type Tick } from '../../../workers/checks/tick-queue.ts';

/** A queue of checks that is full until it is set otherwise; letting one in fills it again. */
function fullQueue() {
  let open = Promise.withResolvers<void>();
  return {
    limiterQueue: { isFull: () => true, waitForRoom: () => open.promise },
    /** Lets the next one in, and waits until it has been. */
    async letOneIn() {
      const before = open;
      open = Promise.withResolvers();
      before.resolve();
      await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
    },
  };
}

const echo = (tick: Tick): Promise<Tick> => Promise.resolve({ ...tick });

test('where there is room a tick begins at once', async (t) => {
  const tickQueue = new TickQueue({ isFull: () => false, waitForRoom: () => Promise.resolve() });
  t.deepEqual(await tickQueue.run('a', 1, echo), { slotBeginsAtMs: 1, passedOver: 0, hasWaited: false });
});

test('ticks begin in the order in which their slots came, one for each room there is', async (t) => {
  const { limiterQueue, letOneIn } = fullQueue();
  const tickQueue = new TickQueue(limiterQueue);
  const begun: string[] = [];
  const all = ['a', 'b', 'c'].map((slot) =>
    tickQueue.run(slot, 1, (tick) => Promise.resolve([tick, begun.push(slot)])),
  );
  for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
    await letOneIn();
    t.deepEqual(begun, expected);
  }
  await Promise.all(all);
});

test('a newer tick takes the place of the one that waits, whose caller does its work', async (t) => {
  const { limiterQueue, letOneIn } = fullQueue();
  const tickQueue = new TickQueue(limiterQueue);
  const [a, b] = [tickQueue.run('a', 1, echo), tickQueue.run('b', 2, echo)];
  t.is(await tickQueue.run('a', 60, echo), null);
  t.is(await tickQueue.run('a', 120, echo), null);
  await letOneIn();
  t.deepEqual(await a, { slotBeginsAtMs: 120, passedOver: 2, hasWaited: true });
  const again = tickQueue.run('a', 180, echo);
  await letOneIn();
  t.deepEqual(await b, { slotBeginsAtMs: 2, passedOver: 0, hasWaited: true });
  await letOneIn();
  t.deepEqual(await again, { slotBeginsAtMs: 180, passedOver: 0, hasWaited: true });
});

test('a tick that cannot begin rejects for its caller, and holds no other tick up', async (t) => {
  const { limiterQueue, letOneIn } = fullQueue();
  const tickQueue = new TickQueue(limiterQueue);
  const broken = tickQueue.run('a', 1, () => Promise.reject(new Error('the database is away')));
  const next = tickQueue.run('b', 2, echo);
  const refusal = t.throwsAsync(broken, { message: 'the database is away' });
  await letOneIn();
  await letOneIn();
  await refusal;
  t.like(await next, { slotBeginsAtMs: 2 });
});
