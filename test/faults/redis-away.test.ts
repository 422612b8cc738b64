import test from 'ava';
import { Redis } from 'ioredis';
import { openQueueBackend } from '../../queues/connection.ts';
import { redisServers } from '../../queues/redis.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { startOwnRedis } from '../helpers/redis.ts';
import { until } from '../helpers/until.ts';

// The tests start their own Redis if one is installed; otherwise the runner reports its absence.
const isRedisInstalled = listQueueBackends().some(({ redisUrl }) => redisUrl !== null);

for (const [what, take] of [
  ['does not respond', 'freeze'],
  ['is stopped', 'stop'],
] as const) {
  if (isRedisInstalled)
    test(`a process started while Redis ${what} rejects jobs in time, and accepts them afterwards`, async (t) => {
      const redis = await startOwnRedis(t);
      if (redis === null) throw new Error('no Redis');
      await redis[take]();
      const backend = openQueueBackend({ databaseUrl: '', redisUrl: redis.url, onError: () => undefined });
      t.teardown(() => backend.close());
      const queue = backend.createQueue<{ number: number }>('away');
      t.teardown(() => queue.close());
      const startedAt = performance.now();
      await t.throwsAsync(queue.add('job', { number: 1 }));
      t.true(performance.now() - startedAt < 60_000);
      // A single version request would have succeeded within this time.
      await t.throwsAsync(until(async () => (await backend.findAway()).length === 0, { timeoutMs: 6000 }));
      await (take === 'freeze' ? redis.thaw() : redis.start());
      await until(async () => (await backend.findAway()).length === 0);
      const job = await queue.add('job', { number: 2 });
      t.like(await queue.getJob(job.id ?? ''), { data: { number: 2 } });
      t.is(await job.getState(), 'waiting');
    });
}

if (isRedisInstalled)
  test('a Redis that is out of memory counts as away until it has room', async (t) => {
    const redis = await startOwnRedis(t);
    if (redis === null) throw new Error('no Redis');
    const operator = new Redis(redis.url);
    t.teardown(() => operator.quit());
    const backend = openQueueBackend({ databaseUrl: '', redisUrl: redis.url, onError: () => undefined });
    t.teardown(() => backend.close());
    const queue = backend.createQueue('room');
    t.teardown(() => queue.close());
    await until(async () => (await backend.findAway()).length === 0);
    await operator.config('SET', 'maxmemory', '1');
    t.deepEqual(await backend.findAway(), ['room']);
    await operator.config('SET', 'maxmemory', '0');
    await until(async () => (await backend.findAway()).length === 0);
  });

if (isRedisInstalled)
  test('a second error on a Redis socket, as after a TLS alert, does not end the process', async (t) => {
    const redis = await startOwnRedis(t);
    if (redis === null) throw new Error('no Redis');
    const errors: string[] = [];
    const client = redisServers(redis.url)
      .connect('producer', '{spotcheck}')
      .on('error', ({ message }: Error) => errors.push(message));
    t.teardown(() => client.disconnect());
    await client.ping();
    const { stream } = client;
    for (const message of ['the first', 'the second']) t.notThrows(() => stream.emit('error', new Error(message)));
    t.deepEqual(errors, ['the first']);
  });
