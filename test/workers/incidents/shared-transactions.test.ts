import test from 'ava';
import { SharedTransactions } from '../../../workers/incidents/shared-transactions.ts';

type Job = { name: string; results: readonly number[] };

const jobOf = (name: string, results = 1): Job => ({ name, results: Array.from({ length: results }, () => 0) });

/** Returns transactions that the test ends; `groups` lists the names of the jobs in each. */
function prepare() {
  const groups: string[] = [];
  const ends: PromiseWithResolvers<string>[] = [];
  const transactions = new SharedTransactions<Job, string>((jobs) => {
    groups.push(jobs.map(({ name }) => name).join(''));
    const end = Promise.withResolvers<string>();
    ends.push(end);
    return end.promise;
  });
  return { transactions, groups, ends };
}

test('a job runs at once, and jobs added while two transactions are under way share the next one', async (t) => {
  const { transactions, groups, ends } = prepare();
  const jobs = ['a', 'b', 'c', 'd', 'e'].map((name) => transactions.add(jobOf(name)));
  t.deepEqual(groups, ['a', 'b']);
  ends[1]?.resolve('second');
  t.is(await jobs[1], 'second');
  await new Promise((resolve) => setImmediate(resolve));
  t.deepEqual(groups, ['a', 'b', 'cde']);
  ends[2]?.resolve('third');
  t.deepEqual(await Promise.all(jobs.slice(2)), ['third', 'third', 'third']);
  ends[0]?.resolve('first');
  t.is(await jobs[0], 'first');
});

test('a transaction holds at most a thousand results, or one larger job', async (t) => {
  const { transactions, groups, ends } = prepare();
  const sizes = { a: 1, b: 1, c: 400, d: 600, e: 1, f: 1500, g: 1 };
  const jobs = Object.entries(sizes).map(([name, results]) => transactions.add(jobOf(name, results)));
  for (let ended = 0; ended < jobs.length; ended += 1) {
    ends[ended]?.resolve('');
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(jobs);
  t.deepEqual(groups, ['a', 'b', 'cd', 'e', 'f', 'g']);
});

test('if a shared transaction fails, only the job that caused it fails', async (t) => {
  const transactions = new SharedTransactions<Job, number>((jobs) =>
    jobs.some(({ name }) => name === 'wrong') ? Promise.reject(new Error('refused')) : Promise.resolve(jobs.length),
  );
  const jobs = ['a', 'b', 'c', 'wrong', 'd'].map((name) => transactions.add(jobOf(name)));
  await t.throwsAsync(jobs[3] ?? Promise.resolve(), { message: 'refused' });
  t.deepEqual(await Promise.all(jobs.filter((_, index) => index !== 3)), [1, 1, 1, 1]);
});

test('once the database is unreachable, the remaining jobs of a failed group are not tried', async (t) => {
  let isAway = false;
  const tried: number[] = [];
  const transactions = new SharedTransactions<Job, number>((jobs) => {
    tried.push(jobs.length);
    const error = isAway ? Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) : new Error('wrong');
    if (jobs.length > 1) isAway = true;
    return Promise.reject(error);
  });
  const jobs = ['a', 'b', 'c', 'd', 'e'].map((name) => transactions.add(jobOf(name)));
  const messages = await Promise.all(jobs.map((job) => t.throwsAsync(job)));
  t.deepEqual(
    messages.map((error) => error?.message),
    ['wrong', 'wrong', 'refused', 'refused', 'refused'],
  );
  t.deepEqual(tried, [1, 1, 3, 1]);
});

test('while the database is unreachable no job of a group is tried separately', async (t) => {
  let transactionCount = 0;
  const transactions = new SharedTransactions<Job, number>(() => {
    transactionCount += 1;
    return Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
  });
  const jobs = ['a', 'b', 'c', 'd'].map((name) => transactions.add(jobOf(name)));
  for (const job of jobs) await t.throwsAsync(job, { message: 'refused' });
  t.is(transactionCount, 3);
});
