import test from 'ava';
import { until } from '../helpers/until.ts';

test('until returns the first truthy value', async (t) => {
  const answers = [null, 0, '', 'yes', 'too late'];
  t.is(await until(() => Promise.resolve(answers.shift())), 'yes');
});

test('until throws at its deadline and reports the last value', async (t) => {
  await t.throwsAsync(
    until(() => null, { timeoutMs: 20, intervalMs: 5 }),
    { message: /not true within 20 ms, last answer null/ },
  );
});
