import test from 'ava';
import { ComputeThread } from '../../threads/compute-thread.ts';

type Order = 'echo' | 'exit' | 'throw';

/** A thread that does what it is told to. */
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

test('tasks are done one after the other, by a thread that sees nothing of the environment', async (t) => {
  const run = openThread(t);
  t.deepEqual(await Promise.all(['one', 'two', 'three'].map((text) => run('echo', text))), [
    'one 0',
    'two 0',
    'three 0',
  ]);
});

test('a thread that is lost costs its task, and those behind it go to another', async (t) => {
  const run = openThread(t);
  const [lost, next] = await Promise.allSettled([run('exit'), run('echo', 'next')]);
  t.is(lost.status, 'rejected');
  t.deepEqual(next, { status: 'fulfilled', value: 'next 0' });
  t.is(await run('echo', 'again'), 'again 0');
});

test('what a task throws reaches who asked for it, and no one else', async (t) => {
  const run = openThread(t);
  const echo = run('echo', 'before');
  await t.throwsAsync(run('throw'), { message: 'Thrown' });
  t.is(await echo, 'before 0');
  t.is(await run('echo', 'after'), 'after 0');
});

test('more than may wait is turned away at once', async (t) => {
  const run = openThread(t);
  const text = 'x'.repeat(1024 * 1024);
  const outcomes = await Promise.all(Array.from({ length: 200 }, () => run('echo', text)));
  // Four are with the thread, and 128 MiB wait.
  t.is(outcomes.filter((outcome) => outcome === null).length, 68);
});

test('a closed thread starts no other: what it was at, what waits and what comes later has no turn', async (t) => {
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
