import { randomUUID } from 'node:crypto';
import { openQueueBackend } from '../../queues/connection.ts';
import type { Harness } from './harness.ts';
import { until } from './until.ts';

/** Time limit until every queue works again after any failure of its server, in milliseconds. */
export const AT_WORK_MS = 120_000;

/** Enough names for each of a Cluster's three masters to hold some. */
export const NAMES = [
  'evaluate',
  'deliver',
  'maintain',
  'lookup',
  'check-hanoi',
  'check-lima',
  'check-oslo',
  'check-service',
];

const PREFIX = 'spotcheck';

/** Returns the common prefix of a queue's keys. */
export const keyOf = (name: string) => `{${PREFIX}:${name}}`;

/** Opens queues and their workers on a Redis, like a single process, until the test ends. */
export function openQueuesAtWork(t: Harness, redisUrl: string) {
  const done = new Map<string, Set<string>>(NAMES.map((name) => [name, new Set()]));
  const errors: string[] = [];
  const backend = openQueueBackend({
    databaseUrl: '',
    redisUrl,
    prefix: PREFIX,
    onError: ({ message }) => errors.push(message),
  });
  const queues = NAMES.map((name) => backend.createQueue<{ mark: string }>(name));
  const workers = NAMES.map((name) =>
    backend.createWorker<{ mark: string }>(name, async ({ data }) => done.get(name)?.add(data.mark), {
      concurrency: 5,
      lockDurationMs: 15_000,
      onFailed: () => undefined,
    }),
  );
  t.teardown(async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    await Promise.all(queues.map((queue) => queue.close()));
    await backend.close();
  });
  /** Adds jobs to every queue until one of them is done; returns the queues that completed none in time. */
  const findIdle = async (withinMs = AT_WORK_MS): Promise<string[]> => {
    const mark = randomUUID();
    const deadline = performance.now() + withinMs;
    const work = queues.map(async (queue) => {
      const isDone = async () => {
        await queue.add('job', { mark }, { removeOnComplete: true }).catch(() => undefined);
        return done.get(queue.name)?.has(mark) ?? false;
      };
      const wasDone = await until(isDone, { timeoutMs: deadline - performance.now(), intervalMs: 250 }).catch(
        () => false,
      );
      return wasDone ? [] : [queue.name];
    });
    return (await Promise.all(work)).flat();
  };
  return { backend, findIdle, errors };
}
