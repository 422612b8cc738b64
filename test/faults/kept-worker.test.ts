import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Queue } from 'bullmq';
import { Registry } from 'prom-client';
import { openQueueBackend } from '../../queues/connection.ts';
import { createWorkerMetrics } from '../../workers/system/metrics.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { startOwnRedis } from '../helpers/redis.ts';
import { until } from '../helpers/until.ts';

/**
 * Starts a proxy whose connections can fall silent without closing, as if a firewall had dropped their state. New
 * connections still work.
 */
async function layForgetfulWay(t: ExecutionContext, serverUrl: string) {
  const { port: serverPort } = new URL(serverUrl);
  const ways: { inner: Socket; outer: Socket }[] = [];
  const server = createServer((inner) => {
    const outer = connect(Number(serverPort), '127.0.0.1');
    for (const [socket, other] of [
      [inner, outer],
      [outer, inner],
    ] as const)
      socket.on('error', () => undefined).once('close', () => other.destroy());
    inner.pipe(outer).pipe(inner);
    ways.push({ inner, outer });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const { inner } of ways) inner.destroy();
  });
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: () => ways.length,
    /** Silences all connections except the first. */
    forget: () =>
      ways.slice(1).forEach(({ inner, outer }) => [inner, outer].forEach((socket) => socket.unpipe().pause())),
  };
}

if (listQueueBackends().some(({ redisUrl }) => redisUrl !== null)) {
  test('a worker that takes no job while one waits is reported and reopened, and takes it', async (t) => {
    const redis = await startOwnRedis(t);
    if (redis === null) throw new Error('no Redis');
    const way = await layForgetfulWay(t, redis.url);
    const registry = new Registry();
    const metrics = createWorkerMetrics(registry, () => Promise.resolve(null));
    const reopened: string[] = [];
    const onWorkerReopened = (queue: string) => {
      reopened.push(queue);
      metrics.workerReopened(queue);
    };
    const backend = openQueueBackend({
      databaseUrl: '',
      redisUrl: way.url,
      onError: () => undefined,
      onWorkerReopened,
    });
    const done: number[] = [];
    // The producer's connection is the first one, and stays open.
    const queue = backend.createQueue<{ number: number }>('forgotten');
    await queue.add('job', { number: 1 });
    const worker = backend.createWorker<{ number: number }>('forgotten', async ({ data }) => done.push(data.number), {
      concurrency: 1,
      lockDurationMs: 15_000,
      onFailed: () => undefined,
    });
    t.teardown(async () => {
      await worker.close();
      await queue.close();
      await backend.close();
    });
    await until(() => done.includes(1) && way.count() >= 3);
    // Completing a job could fetch the next one over a connection that is about to be silenced.
    await until(async () => (await queue.getActiveCount()) === 0);

    way.forget();
    await queue.add('job', { number: 2 });
    await until(() => done.includes(2), { timeoutMs: 120_000 });
    t.deepEqual(reopened, ['forgotten']);
    t.regex(await registry.metrics(), /^spotcheck_queue_workers_reopened_total\{queue="forgotten"\} 1$/m);
  });

  const LIMITS: Record<string, (queue: Queue) => Promise<unknown>> = {
    paused: (queue) => queue.pause(),
    'limited in its number of jobs at once': (queue) => queue.setGlobalConcurrency(1),
    'limited in its rate': (queue) => queue.setGlobalRateLimit(1, 300_000),
  };

  for (const [index, [what, limit]] of Object.entries(LIMITS).entries()) {
    test(`a worker is not reopened while its queue is ${what} at the board`, async (t) => {
      const redis = await startOwnRedis(t);
      if (redis === null) throw new Error('no Redis');
      const reopened: string[] = [];
      const backend = openQueueBackend({
        databaseUrl: '',
        redisUrl: redis.url,
        onError: () => undefined,
        onWorkerReopened: (queue) => reopened.push(queue),
      });
      const queue = backend.createQueue<object>(`limited-${index}`);
      await limit(queue);
      for (let job = 0; job < 3; job += 1) await queue.add('job', {});
      const held = Promise.withResolvers<void>();
      const worker = backend.createWorker(`limited-${index}`, () => held.promise, {
        concurrency: 3,
        lockDurationMs: 15_000,
        onFailed: () => undefined,
      });
      t.teardown(async () => {
        held.resolve();
        await worker.close();
        await queue.close();
        await backend.close();
      });
      await delay(35_000);
      t.deepEqual(reopened, []);
    });
  }
}
