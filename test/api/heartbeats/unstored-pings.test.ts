import test from 'ava';
import { UnstoredPings } from '../../../api/heartbeats/ping-storage.ts';

function stage() {
  const clock = { nowMs: 1000 };
  return { clock, pings: new UnstoredPings(() => clock.nowMs) };
}

test('the oldest ping that is not stored yet is known until it is', async (t) => {
  const { clock, pings } = stage();
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const following = [pings.follow(first.promise)];
  clock.nowMs = 1500;
  following.push(pings.follow(second.promise));
  t.is(pings.oldestAtMs(), 1000);
  first.resolve('taken');
  t.is(await following[0], 'taken');
  t.is(pings.oldestAtMs(), 1500);
  second.resolve('unknown');
  await following[1];
  t.is(pings.oldestAtMs(), null);
  t.is(pings.takeLost(), null);
});

test('pings that could not be stored are lost from when they came to when that was known, and told once', async (t) => {
  const { clock, pings } = stage();
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const following = [pings.follow(first.promise), pings.follow(second.promise)];
  clock.nowMs = 1400;
  first.reject(new Error('no room'));
  await t.throwsAsync(following[0] ?? Promise.resolve(), { message: 'no room' });
  clock.nowMs = 1600;
  second.reject(new Error('no room'));
  await t.throwsAsync(following[1] ?? Promise.resolve());
  const lost = pings.takeLost();
  t.deepEqual(lost, { fromMs: 1000, toMs: 1600 });
  t.is(pings.takeLost(), null);
  pings.recordLost({ fromMs: 1000, toMs: 1600 });
  t.deepEqual(pings.takeLost(), lost);
});

test('a ping that waits for longer than a second counts as lost for as long as it waits', async (t) => {
  const { clock, pings } = stage();
  const ping = Promise.withResolvers<string>();
  const following = pings.follow(ping.promise);
  clock.nowMs = 2000;
  t.is(pings.takeLost(), null);
  clock.nowMs = 2001;
  t.deepEqual(pings.takeLost(), { fromMs: 1000, toMs: 2001 });
  clock.nowMs = 3000;
  t.deepEqual(pings.takeLost(), { fromMs: 1000, toMs: 3000 });
  ping.resolve('taken');
  await following;
  t.is(pings.takeLost(), null);
});
