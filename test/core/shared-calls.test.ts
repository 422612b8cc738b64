import test from 'ava';
import { KeptCalls, SharedCalls } from '../../core/shared-calls.ts';

test('calls that come while one is under way settle as it does, and the next one after it calls anew', async (t) => {
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

test('calls for different keys do not wait for one another, and all under way can be waited for', async (t) => {
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

test('a kept result is given again for as long as its call said, and of too many keys the oldest goes', async (t) => {
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
