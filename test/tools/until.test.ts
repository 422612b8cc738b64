import test from 'ava';
import { until } from '../helpers/until.ts';

test('until returns the first answer that is truthy', async (t) => {
  const answers = [null, 0, '', 'yes', 'too late'];
  t.is(await until(() => Promise.resolve(answers.shift())), 'yes');
});

test('until gives up at its deadline and says what it last got', async (t) => {
  await t.throwsAsync(
    until(() => null, { timeoutMs: 20, intervalMs: 5 }),
    { message: /not true within 20 ms, last answer null/ },
  );
});
