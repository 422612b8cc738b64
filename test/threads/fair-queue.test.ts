import test from 'ava';
import { FairQueue } from '../../threads/fair-queue.ts';

function lineAt(limits: { mostJobs?: number; mostBytes?: number } = {}) {
  const clock = { ms: 0 };
  return {
    clock,
    queue: new FairQueue<string>({ mostJobs: 10, mostBytes: 1000, ...limits, now: () => clock.ms }),
  };
}

test('the account that has used the least comes first, and jobs of one account in their order', (t) => {
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

test('what was used counts half after ten seconds', (t) => {
  const { clock, queue } = lineAt();
  queue.charge('before', 50);
  clock.ms = 10_000;
  queue.charge('now', 30);
  queue.add('n', { account: 'now', bytes: 1, takesLong: false });
  queue.add('b', { account: 'before', bytes: 1, takesLong: false });
  t.is(queue.take(), 'b');
});

test('where too many wait, or too much, the newest job of who has used the most goes', (t) => {
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

test(
  'who is known to take long and has waited while others computed for long enough is overdue, however much time ' +
    'has passed',
  (t) => {
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
  },
);

test('of one account what is known to take long comes last, and goes first where too many wait', (t) => {
  const { queue } = lineAt({ mostJobs: 2 });
  queue.add('long', { account: 'a', bytes: 1, takesLong: true });
  queue.add('short', { account: 'a', bytes: 1, takesLong: false });
  t.deepEqual(queue.add('another', { account: 'a', bytes: 1, takesLong: false }), ['long']);
  t.deepEqual(queue.add('longer', { account: 'a', bytes: 1, takesLong: true }), ['longer']);
  t.is(queue.take(), 'short');
});

test('of a great many accounts those that have used next to nothing are forgotten', (t) => {
  const { clock, queue } = lineAt();
  queue.charge('old', 50);
  for (let account = 0; account < 5000; account += 1) queue.charge(`a${account}`, 0.01);
  queue.add('o', { account: 'old', bytes: 1, takesLong: false });
  queue.add('n', { account: 'a0', bytes: 1, takesLong: false });
  t.is(queue.take(), 'n');
  clock.ms = 1;
  t.is(queue.take(), 'o');
});
