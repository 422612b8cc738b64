import test from 'ava';
import { FairLine } from '../../../probes/judging/fair-line.ts';

function lineAt(limits: { mostJobs?: number; mostCharacters?: number } = {}) {
  const clock = { ms: 0 };
  return { clock, line: new FairLine<string>({ mostJobs: 10, mostCharacters: 1000, ...limits, now: () => clock.ms }) };
}

test('the account that has used the least comes first, and jobs of one account in their order', (t) => {
  const { line } = lineAt();
  line.charge('heavy', 50);
  for (const job of ['h1', 'h2', 'l1', 'l2']) line.add(job, { account: job.startsWith('h') ? 'heavy' : 'light', size: 1, takesLong: false });
  t.is(line.take(), 'l1');
  line.charge('light', 5);
  t.is(line.take(), 'l2');
  line.charge('light', 100);
  t.deepEqual([line.take(), line.take(), line.take()], ['h1', 'h2', null]);
  t.true(line.isEmpty);
});

test('what was used counts half after ten seconds', (t) => {
  const { clock, line } = lineAt();
  line.charge('before', 50);
  clock.ms = 10_000;
  line.charge('now', 30);
  line.add('n', { account: 'now', size: 1, takesLong: false });
  line.add('b', { account: 'before', size: 1, takesLong: false });
  t.is(line.take(), 'b');
});

test('where too many wait, or too much, the newest job of who has used the most goes', (t) => {
  const { line } = lineAt({ mostJobs: 3 });
  line.charge('heavy', 50);
  t.deepEqual(['h1', 'h2', 'l1'].flatMap((job) => line.add(job, { account: job.startsWith('h') ? 'heavy' : 'light', size: 1, takesLong: false })), []);
  t.deepEqual(line.add('l2', { account: 'light', size: 1, takesLong: false }), ['h2']);
  t.deepEqual(line.add('h3', { account: 'heavy', size: 1, takesLong: false }), ['h3']);
  const { line: narrow } = lineAt({ mostCharacters: 100 });
  narrow.charge('heavy', 50);
  narrow.add('h1', { account: 'heavy', size: 60, takesLong: false });
  narrow.add('h2', { account: 'heavy', size: 40, takesLong: false });
  t.deepEqual(narrow.add('l1', { account: 'light', size: 80, takesLong: false }), ['h2', 'h1']);
  t.is(narrow.take(), 'l1');
  t.deepEqual(narrow.add('l2', { account: 'light', size: 100, takesLong: false }), []);
});

test('who is known to take long and has waited while others computed for long enough is overdue, however much time has passed', (t) => {
  const { clock, line } = lineAt({ mostCharacters: 1100 });
  line.add('short', { account: 'a', size: 100, takesLong: false });
  line.add('first', { account: 'a', size: 100, takesLong: true });
  clock.ms = 3_600_000;
  t.deepEqual(line.takeOverdue(1000), []);
  line.charge('b', 600);
  line.add('second', { account: 'a', size: 100, takesLong: true });
  line.charge('b', 400);
  t.deepEqual(line.takeOverdue(1000), ['first']);
  t.deepEqual(line.add('third', { account: 'c', size: 900, takesLong: false }), []);
  t.deepEqual([line.take(), line.take(), line.take()], ['short', 'third', 'second']);
});

test('of one account what is known to take long comes last, and goes first where too many wait', (t) => {
  const { line } = lineAt({ mostJobs: 2 });
  line.add('long', { account: 'a', size: 1, takesLong: true });
  line.add('short', { account: 'a', size: 1, takesLong: false });
  t.deepEqual(line.add('another', { account: 'a', size: 1, takesLong: false }), ['long']);
  t.deepEqual(line.add('longer', { account: 'a', size: 1, takesLong: true }), ['longer']);
  t.is(line.take(), 'short');
});

test('of a great many accounts those that have used next to nothing are forgotten', (t) => {
  const { clock, line } = lineAt();
  line.charge('old', 50);
  for (let account = 0; account < 5000; account += 1) line.charge(`a${account}`, 0.01);
  line.add('o', { account: 'old', size: 1, takesLong: false });
  line.add('n', { account: 'a0', size: 1, takesLong: false });
  t.is(line.take(), 'n');
  clock.ms = 1;
  t.is(line.take(), 'o');
});
