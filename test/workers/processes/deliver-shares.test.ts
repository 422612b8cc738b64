import test from 'ava';
import { AccountShares } from '../../../workers/processes/deliver.ts';

test("retries beyond an account's share are postponed by the number waiting; first attempts are not", (t) => {
  const shares = new AccountShares({ most: 2, attemptMs: 8000 });
  for (const channelId of ['a1', 'a2', 'a3', 'a4', 'a5']) shares.learn(channelId, 'ten_a');
  shares.learn('b1', 'ten_b');
  const retry = (channelId: string) => shares.enter({ channelIds: [channelId], isRetry: true });
  const [first, second] = [retry('a1'), retry('a2')];
  t.true('leave' in first && 'leave' in second);
  t.deepEqual(
    ['a3', 'a4', 'a5', 'a3'].map((channelId) => retry(channelId)),
    [8000, 8000, 16_000, 16_000].map((waitMs) => ({ waitMs })),
  );
  for (const other of ['b1', 'unknown']) t.true('leave' in retry(other), other);
  t.true('leave' in shares.enter({ channelIds: ['a3'] }), 'a first attempt');
  if ('leave' in first) first.leave();
  t.true('leave' in retry('a3'));
  t.deepEqual(retry('a4'), { waitMs: 8000 });
});
