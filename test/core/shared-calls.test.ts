import test from 'ava';
import { SharedCalls } from '../../core/shared-calls.ts';

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
