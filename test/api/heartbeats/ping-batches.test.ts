import test from 'ava';
import { createBatches } from '../../../api/heartbeats/ping-storage.ts';
import type { PingOutcome, TokenPing } from '../../../models/heartbeats/heartbeats.ts';
import { SUCCESS } from '../../helpers/heartbeats.ts';
import { until } from '../../helpers/until.ts';

const pingOf = (token: string | number): TokenPing => ({ token: String(token), ping: SUCCESS });

/** A database that takes a batch when the test says so. */
function heldDatabase() {
  const batches: { tokens: string[]; finish: (outcomes: PingOutcome[]) => void; fail: (error: Error) => void }[] = [];
  const take = (pings: readonly TokenPing[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<PingOutcome[]>();
    batches.push({ tokens: pings.map(({ token }) => token), finish: resolve, fail: reject });
    return promise;
  };
  return { batches, take };
}

test(
  'pings that come together go together, those that come meanwhile follow in their order, and each gets its own ' +
    'outcome',
  async (t) => {
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
  },
);

test('a batch that fails tells its pings so and holds up none of the next', async (t) => {
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

test('while the database does not answer 5,000 pings are gathered: the others are asked to come back', async (t) => {
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
