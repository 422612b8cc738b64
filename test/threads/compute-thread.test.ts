import test from 'ava';
import { ComputeThread, FairQueue } from '../../threads/compute-thread.ts';

type Order = 'echo' | 'exit' | 'throw';

/** Thread that executes the order it is sent. */
const ENTRY = new URL(
  `data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ order, text }) => {
    if (order === 'exit') process.exit(1);
    if (order === 'throw') return parentPort.postMessage({ outcome: 'threw', message: 'Thrown', spentMs: 1 });
    parentPort.postMessage({ outcome: 'done', result: text + ' ' + Object.keys(process.env).length, spentMs: 1 });
  });
`)}`,
);

function openThread(t: { teardown: (end: () => Promise<void>) => void }) {
  const thread = new ComputeThread<{ order: Order; text: string }, string>(ENTRY);
  t.teardown(() => thread.close());
  return async (order: Order, text = '') =>
    (await thread.run({ order, text }, { account: 'a', bytes: text.length, takesLong: false }))?.result ?? null;
}

test('tasks run in order in a thread without environment variables', async (t) => {
  const run = openThread(t);
  t.deepEqual(await Promise.all(['one', 'two', 'three'].map((text) => run('echo', text))), [
    'one 0',
    'two 0',
    'three 0',
  ]);
});

test('a lost thread fails its task, and queued tasks go to a new one', async (t) => {
  const run = openThread(t);
  const [lost, next] = await Promise.allSettled([run('exit'), run('echo', 'next')]);
  t.is(lost.status, 'rejected');
  t.deepEqual(next, { status: 'fulfilled', value: 'next 0' });
  t.is(await run('echo', 'again'), 'again 0');
});

test('an error thrown by a task reaches only its caller', async (t) => {
  const run = openThread(t);
  const echo = run('echo', 'before');
  await t.throwsAsync(run('throw'), { message: 'Thrown' });
  t.is(await echo, 'before 0');
  t.is(await run('echo', 'after'), 'after 0');
});

test('tasks beyond 128 MiB in the queue are refused at once', async (t) => {
  const run = openThread(t);
  const text = 'x'.repeat(1024 * 1024);
  const outcomes = await Promise.all(Array.from({ length: 200 }, () => run('echo', text)));
  // The thread has four of them, and 128 MiB wait.
  t.is(outcomes.filter((outcome) => outcome === null).length, 68);
});

test('a closed thread abandons its current, queued and later tasks', async (t) => {
  const thread = new ComputeThread<{ order: Order; text: string }, string>(ENTRY);
  const run = (text: string) => thread.run({ order: 'echo', text }, { account: 'a', bytes: 1, takesLong: false });
  await run('one');
  const under = ['two', 'three', 'four', 'five', 'six', 'seven'].map(run);
  await thread.close();
  t.deepEqual(
    await Promise.all([...under, run('later')]),
    Array.from({ length: 7 }, () => null),
  );
});

function lineAt(limits: { mostJobs?: number; mostBytes?: number } = {}) {
  const clock = { ms: 0 };
  return {
    clock,
    queue: new FairQueue<string>({ mostJobs: 10, mostBytes: 1000, ...limits, now: () => clock.ms }),
  };
}

test('the account with the least usage comes first, and jobs of one account in order', (t) => {
  const { queue } = lineAt();
  queue.charge('heavy', 50);
  for (const job of ['h1', 'h2', 'l1', 'l2'])
    queue.add(job, { account: job.startsWith('h') ? 'heavy' : 'light', bytes: 1, takesLong: false });
  t.is(queue.take(), 'l1');
  queue.charge('light', 5);
  t.is(queue.take(), 'l2');
  queue.charge('light', 100);
  t.deepEqual([queue.take(), queue.take(), queue.take()], ['h1', 'h2', null]);
});

test('usage from 10 s ago counts half', (t) => {
  const { clock, queue } = lineAt();
  queue.charge('before', 50);
  clock.ms = 10_000;
  queue.charge('now', 30);
  queue.add('n', { account: 'now', bytes: 1, takesLong: false });
  queue.add('b', { account: 'before', bytes: 1, takesLong: false });
  t.is(queue.take(), 'b');
});

test('when the queue is full by jobs or bytes, the newest job of the heaviest account is dropped', (t) => {
  const { queue } = lineAt({ mostJobs: 3 });
  queue.charge('heavy', 50);
  t.deepEqual(
    ['h1', 'h2', 'l1'].flatMap((job) =>
      queue.add(job, { account: job.startsWith('h') ? 'heavy' : 'light', bytes: 1, takesLong: false }),
    ),
    [],
  );
  t.deepEqual(queue.add('l2', { account: 'light', bytes: 1, takesLong: false }), ['h2']);
  t.deepEqual(queue.add('h3', { account: 'heavy', bytes: 1, takesLong: false }), ['h3']);
  const { queue: narrow } = lineAt({ mostBytes: 100 });
  narrow.charge('heavy', 50);
  narrow.add('h1', { account: 'heavy', bytes: 60, takesLong: false });
  narrow.add('h2', { account: 'heavy', bytes: 40, takesLong: false });
  t.deepEqual(narrow.add('l1', { account: 'light', bytes: 80, takesLong: false }), ['h2', 'h1']);
  t.is(narrow.take(), 'l1');
  t.deepEqual(narrow.add('l2', { account: 'light', bytes: 100, takesLong: false }), []);
});

test('a long job becomes overdue once others have computed long enough, regardless of elapsed time', (t) => {
  const { clock, queue } = lineAt({ mostBytes: 1100 });
  queue.add('short', { account: 'a', bytes: 100, takesLong: false });
  queue.add('first', { account: 'a', bytes: 100, takesLong: true });
  clock.ms = 3_600_000;
  t.deepEqual(queue.takeOverdue(1000), []);
  queue.charge('b', 600);
  queue.add('second', { account: 'a', bytes: 100, takesLong: true });
  queue.charge('b', 400);
  t.deepEqual(queue.takeOverdue(1000), ['first']);
  t.deepEqual(queue.add('third', { account: 'c', bytes: 900, takesLong: false }), []);
  t.deepEqual([queue.take(), queue.take(), queue.take()], ['short', 'third', 'second']);
});

test('long jobs of an account come last, and are dropped first when the queue is full', (t) => {
  const { queue } = lineAt({ mostJobs: 2 });
  queue.add('long', { account: 'a', bytes: 1, takesLong: true });
  queue.add('short', { account: 'a', bytes: 1, takesLong: false });
  t.deepEqual(queue.add('another', { account: 'a', bytes: 1, takesLong: false }), ['long']);
  t.deepEqual(queue.add('longer', { account: 'a', bytes: 1, takesLong: true }), ['longer']);
  t.is(queue.take(), 'short');
});

test('of a great many accounts those with negligible usage are forgotten', (t) => {
  const { clock, queue } = lineAt();
  queue.charge('old', 50);
  for (let account = 0; account < 5000; account += 1) queue.charge(`a${account}`, 0.01);
  queue.add('o', { account: 'old', bytes: 1, takesLong: false });
  queue.add('n', { account: 'a0', bytes: 1, takesLong: false });
  t.is(queue.take(), 'n');
  clock.ms = 1;
  t.is(queue.take(), 'o');
});
