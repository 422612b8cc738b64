import test from 'ava';
import { createBatched } from '../../models/sql.ts';
import { until } from '../helpers/until.ts';

test('a call that comes alone goes out at once, and its answer is its own', async (t) => {
  const batches: number[][] = [];
  const double = createBatched<number, number>((items) => {
    batches.push(items);
    return Promise.resolve(items.map((item) => 2 * item));
  });
  const first = double(1);
  t.deepEqual(batches, [[1]]);
  t.is(await first, 2);
  t.is(await double(2), 4);
  t.deepEqual(batches, [[1], [2]]);
});

test('what comes while a statement is under way goes out together as soon as it is back, in order', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = [1, 2, 3].map((item) => batched(item));
  t.deepEqual(batches, [[1]]);
  answers[0]?.resolve([10]);
  t.is(await calls[0], 10);
  await until(() => batches.length === 2, { intervalMs: 1 });
  t.deepEqual(batches, [[1], [2, 3]]);
  answers[1]?.resolve([20, 30]);
  t.deepEqual(await Promise.all(calls), [10, 20, 30]);
});

test('no caller waits for long for a statement that hangs', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = [1, 2].map((item) => batched(item));
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

test('a statement takes two hundred calls at most', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = Array.from({ length: 301 }, (_, item) => batched(item));
  for (let sent = 0; sent < 3; sent += 1) {
    const items = await until(() => batches[sent], { intervalMs: 1 });
    answers[sent]?.resolve(items);
  }
  t.deepEqual(
    await Promise.all(calls),
    Array.from({ length: 301 }, (_, item) => item),
  );
  t.deepEqual(
    batches.map(({ length }) => length),
    [1, 200, 100],
  );
});

test('a statement that fails fails its own calls, and the next ones go out', async (t) => {
  const { batched, batches, answers } = prepare();
  const calls = [1, 2, 3].map((item) => batched(item));
  answers[0]?.reject(new Error('connection lost'));
  await t.throwsAsync(calls[0] ?? Promise.resolve(), { message: 'connection lost' });
  await until(() => batches.length === 2, { intervalMs: 1 });
  answers[1]?.resolve([20, 30]);
  t.deepEqual(await Promise.all(calls.slice(1)), [20, 30]);
});

/** Batches that are answered by hand. */
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
