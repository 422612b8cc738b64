import test from 'ava';
import { toUnixSeconds, within } from '../../core/time.ts';

test('a moment is in the second that it has reached, before 1970 as well', (t) => {
  t.deepEqual([0, 999, 1000, 1999, -1].map(toUnixSeconds), [0, 0, 1, 1, -1]);
});

test('work that is done in time has its result, and a failure in time is its own', async (t) => {
  t.is(await within(60_000, Promise.resolve('done'), 'late'), 'done');
  await t.throwsAsync(within(60_000, Promise.reject(new Error('broken')), 'late'), { message: 'broken' });
});

test('work that takes longer is waited for no more, and its later failure is nobody’s', async (t) => {
  const { promise, reject } = Promise.withResolvers<string>();
  t.is(await within(0, promise, 'late'), 'late');
  t.is(await within(-1, promise, 'late'), 'late');
  // An unhandled rejection would fail this file.
  reject(new Error('too late'));
  await t.throwsAsync(promise);
});
