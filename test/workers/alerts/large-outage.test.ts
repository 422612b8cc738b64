import test from 'ava';
import type { Verdict } from '../../../core/checks/verdict.ts';
import { prepareGroups } from './prepare-groups.ts';

test('2,800 of 3,230 monitors failing within 30 s cause one message per chat, and one on recovery', async (t) => {
  const chatIds = Array.from({ length: 10 }, (_, index) => -100 - index);
  const { monitors, change, deliver, titlesIn, telegram, calls, posted } = await prepareGroups(t, 3230, { chatIds });
  const failing = monitors.slice(0, 2800);
  const own = monitors.slice(3000, 3001);
  const inSteps = async (verdict: Verdict, from: number) => {
    for (let step = 0; step < 30; step += 1) {
      const of = failing.filter((_, index) => index % 30 === step);
      await change(verdict, from + step, { of });
      if (verdict === 'down' && step === 12) await change('down', from + step, { of: own, cause: 'status_500' });
      if (step <= 12 || step % 4 === 0) await deliver(from + step);
      if (verdict === 'down' && step === 9)
        for (const chatId of chatIds) {
          t.is(titlesIn(chatId).length, 1);
          t.regex(titlesIn(chatId)[0] ?? '', /^🔴 <b>\d{3} monitors: \d{3} down<\/b>$/);
          t.true(telegram.shownIn(chatId)[0]?.includes('Timed out'));
        }
      if (verdict === 'down' && step === 12) t.true(titlesIn(-100).includes('🔴 <b>Down: Shop 3000</b>'));
    }
    for (let second = 30; second < 50; second += 5) await deliver(from + second);
  };
  await inSteps('down', 0);
  for (const chatId of chatIds)
    t.deepEqual(titlesIn(chatId), ['🔴 <b>2800 monitors: 2800 down</b>', '🔴 <b>Down: Shop 3000</b>']);
  await inSteps('up', 600);
  for (const chatId of chatIds)
    t.deepEqual(titlesIn(chatId), [
      '🔴 <b>2800 monitors: 2800 down</b>',
      '🔴 <b>Down: Shop 3000</b>',
      '🟢 <b>2800 monitors: 2800 recovered</b>',
    ]);
  t.is(calls('sendMessage'), 30);
  t.is(posted.length, 2800 * 2 + 1);
});
