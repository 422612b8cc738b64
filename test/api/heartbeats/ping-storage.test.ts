import test from 'ava';
import { createBatches, UnstoredPings } from '../../../api/heartbeats/ping-storage.ts';
import type { PingOutcome, TokenPing } from '../../../models/heartbeats/heartbeats.ts';
import { SUCCESS } from '../../helpers/heartbeats.ts';
import { until } from '../../helpers/until.ts';

const pingOf = (token: string | number): TokenPing => ({ token: String(token), ping: SUCCESS });

/** Returns a database that finishes a batch when the test lets it. */
function heldDatabase() {
  const batches: { tokens: string[]; finish: (outcomes: PingOutcome[]) => void; fail: (error: Error) => void }[] = [];
  const take = (pings: readonly TokenPing[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<PingOutcome[]>();
    batches.push({ tokens: pings.map(({ token }) => token), finish: resolve, fail: reject });
    return promise;
  };
  return { batches, take };
}

test('simultaneous pings share a batch, later ones follow in order, and each gets its own outcome', async (t) => {
  const { batches, take } = heldDatabase();
  const ping = createBatches(take);
  const first = ['a', 'b', 'c'].map((token) => ping(pingOf(token)));
  await until(() => batches.length === 1);
  const second = ['d', 'e'].map((token) => ping(pingOf(token)));
  t.is(batches.length, 1);
  batches[0]?.finish(['taken', 'unknown', 'refused']);
  t.deepEqual(await Promise.all(first), ['taken', 'unknown', 'refused']);
  await until(() => batches.length === 2);
  batches[1]?.finish(['taken', 'taken']);
  await Promise.all(second);
  t.deepEqual(
    batches.map(({ tokens }) => tokens),
    [
      ['a', 'b', 'c'],
      ['d', 'e'],
    ],
  );
});

test('a failed batch rejects its pings and does not block the next one', async (t) => {
  const { batches, take } = heldDatabase();
  const ping = createBatches(take);
  const failing = ping(pingOf('a'));
  await until(() => batches.length === 1);
  const next = ping(pingOf('b'));
  batches[0]?.fail(new Error('the database is away'));
  await t.throwsAsync(failing, { message: 'the database is away' });
  await until(() => batches.length === 2);
  batches[1]?.finish(['taken']);
  t.is(await next, 'taken');
});

test('while the database does not respond 5,000 pings are buffered, and further ones are refused', async (t) => {
  const { batches, take } = heldDatabase();
  const ping = createBatches(take);
  const held = ping(pingOf('held'));
  await until(() => batches.length === 1);
  const waiting = Array.from({ length: 5000 }, (_, index) => ping(pingOf(index)));
  await t.throwsAsync(ping(pingOf('one too many')), {
    message: 'too many pings are waiting for the database: try again in a few seconds',
  });
  batches[0]?.finish(['taken']);
  for (let batch = 1; batch <= 10; batch += 1) {
    await until(() => batches.length === batch + 1);
    batches[batch]?.finish(Array.from({ length: 500 }, () => 'taken'));
  }
  t.deepEqual(new Set(await Promise.all([held, ...waiting])), new Set(['taken']));
});

function stage() {
  const clock = { nowMs: 1000 };
  return { clock, pings: new UnstoredPings(() => clock.nowMs) };
}

test('the oldest ping that is not stored yet is tracked until it is stored', async (t) => {
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

test('failed pings are reported as lost once, for the time from the first arrival to the last failure', async (t) => {
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

test('a ping that is stored late is not lost, and one that fails late is lost from its arrival on', async (t) => {
  const { clock, pings } = stage();
  const [stored, lost] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const following = [pings.follow(stored.promise), pings.follow(lost.promise)];
  clock.nowMs = 30_000;
  t.is(pings.oldestAtMs(), 1000);
  t.is(pings.takeLost(), null);
  stored.resolve('taken');
  await following[0];
  t.is(pings.takeLost(), null);
  lost.reject(new Error('no room'));
  await t.throwsAsync(following[1] ?? Promise.resolve());
  t.deepEqual(pings.takeLost(), { fromMs: 1000, toMs: 30_000 });
});
