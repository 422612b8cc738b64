import test from 'ava';
import { KeptCalls, SharedCalls, createBatched, type Batched } from '../../core/shared-calls.ts';
import { until } from '../helpers/until.ts';

test('calls made while one is in flight share its outcome, and the next call starts a new one', async (t) => {
  const made: PromiseWithResolvers<string>[] = [];
  const calls = new SharedCalls(() => {
    const settled = Promise.withResolvers<string>();
    made.push(settled);
    return settled.promise;
  });
  const first = [calls.run(), calls.run()];
  t.is(made.length, 1);
  made[0]?.resolve('one');
  t.deepEqual(await Promise.all(first), ['one', 'one']);
  const second = [calls.run(), calls.run()];
  t.is(made.length, 2);
  const failures = second.map((call) => t.throwsAsync(call, { message: 'away' }));
  made[1]?.reject(new Error('away'));
  await Promise.all(failures);
  const third = calls.run();
  made[2]?.resolve('three');
  t.is(await third, 'three');
});

test('calls with different keys do not wait for each other, and settled() waits for all in flight', async (t) => {
  const begun: string[] = [];
  const ends = { a: Promise.withResolvers<void>(), b: Promise.withResolvers<void>() };
  const calls = new SharedCalls(
    async (key: 'a' | 'b', by: number) => {
      begun.push(`${key} by ${by}`);
      await ends[key].promise;
      return key;
    },
    (key) => key,
  );
  const [one, other, joined] = [calls.run('a', 1), calls.run('b', 2), calls.run('a', 3)];
  t.deepEqual(begun, ['a by 1', 'b by 2']);
  let hasSettled = false;
  const settled = calls.settled().then(() => (hasSettled = true));
  ends.b.resolve();
  t.is(await other, 'b');
  t.false(hasSettled);
  const failure = t.throwsAsync(one, { message: 'away' });
  ends.a.reject(new Error('away'));
  await failure;
  await t.throwsAsync(joined, { message: 'away' });
  await settled;
});

test('results expire after their lifetime or if the clock is set back, and the oldest key is evicted', async (t) => {
  let nowMs = 0;
  const calls: string[] = [];
  const kept = new KeptCalls(
    async (key) => {
      calls.push(key);
      return { result: `${key} at ${nowMs}`, keptMs: 1000 };
    },
    { now: () => nowMs, most: 2 },
  );
  t.deepEqual(await Promise.all([kept.get('a'), kept.get('a')]), ['a at 0', 'a at 0']);
  nowMs = 999;
  t.is(await kept.get('a'), 'a at 0');
  t.is(await kept.get('b'), 'b at 999');
  nowMs = 1000;
  t.is(await kept.get('a'), 'a at 1000');
  t.deepEqual(calls, ['a', 'b', 'a']);
  await kept.get('c');
  await kept.get('a');
  await kept.get('b');
  t.deepEqual(calls, ['a', 'b', 'a', 'c', 'b'], 'b was the oldest of three');
  nowMs = 500;
  t.is(await kept.get('b'), 'b at 500', 'the clock was set back');
});

test('a single call is sent at the end of its turn of the event loop and gets its own result', async (t) => {
  const batches: number[][] = [];
  const double = createBatched<number, number>((items) => {
    batches.push(items);
    return Promise.resolve(items.map((item) => 2 * item));
  });
  const first = double(1);
  await new Promise((resolve) => setImmediate(resolve));
  t.deepEqual(batches, [[1]]);
  t.is(await first, 2);
  t.is(await double(2), 4);
  t.deepEqual(batches, [[1], [2]]);
});

test('calls made in one turn of the event loop are sent together, in order', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = [1, 2, 3].map((item) => batched(item));
  await until(() => batches.length === 1, { intervalMs: 1 });
  t.deepEqual(batches, [[1, 2, 3]]);
  answers[0]?.resolve([10, 20, 30]);
  t.deepEqual(await Promise.all(calls), [10, 20, 30]);
});

test('calls made while a statement is in flight are sent together, in order, once it returns', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = await callAfterFirst(batched, [1, 2, 3]);
  t.deepEqual(batches, [[1]]);
  answers[0]?.resolve([10]);
  t.is(await calls[0], 10);
  await until(() => batches.length === 2, { intervalMs: 1 });
  t.deepEqual(batches, [[1], [2, 3]]);
  answers[1]?.resolve([20, 30]);
  t.deepEqual(await Promise.all(calls), [10, 20, 30]);
});

test('a statement that hangs delays other calls only briefly', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = await callAfterFirst(batched, [1, 2]);
  await until(() => batches.length === 2);
  answers[1]?.resolve([20]);
  t.is(await calls[1], 20);
  const third = batched(3);
  await until(() => answers.length === 3);
  answers[2]?.resolve([30]);
  answers[0]?.resolve([10]);
  t.deepEqual(await Promise.all([calls[0], third]), [10, 30]);
  t.deepEqual(batches, [[1], [2], [3]]);
});

test('one statement carries at most 200 calls', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = Array.from({ length: 301 }, (_, item) => batched(item));
  for (let sent = 0; sent < 2; sent += 1) {
    const items = await until(() => batches[sent], { intervalMs: 1 });
    answers[sent]?.resolve(items);
  }
  t.deepEqual(
    await Promise.all(calls),
    Array.from({ length: 301 }, (_, item) => item),
  );
  t.deepEqual(
    batches.map(({ length }) => length),
    [200, 101],
  );
});

test('a failed statement rejects only its own calls, and the next ones are sent', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = await callAfterFirst(batched, [1, 2, 3]);
  answers[0]?.reject(new Error('connection lost'));
  await t.throwsAsync(calls[0] ?? Promise.resolve(), { message: 'connection lost' });
  await until(() => batches.length === 2, { intervalMs: 1 });
  answers[1]?.resolve([20, 30]);
  t.deepEqual(await Promise.all(calls.slice(1)), [20, 30]);
});

/** Makes the first call, and the others once its statement is in flight. */
async function callAfterFirst(batched: Batched<number, number>, items: number[]): Promise<Promise<number>[]> {
  const [first = 0, ...others] = items;
  const call = batched(first);
  await new Promise((resolve) => setImmediate(resolve));
  return [call, ...others.map((item) => batched(item))];
}

/** Returns a batcher whose batches the test answers. */
function prepare() {
  const batches: number[][] = [];
  const answers: PromiseWithResolvers<number[]>[] = [];
  const batched = createBatched<number, number>((items) => {
    batches.push(items);
    const answer = Promise.withResolvers<number[]>();
    answers.push(answer);
    return answer.promise;
  });
  return { batched, batches, answers };
}
