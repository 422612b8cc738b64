import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import { openQueueBackend } from '../../queues/connection.ts';
import { slotOf } from '../../queues/cluster-node.ts';
import type { RedisCluster } from '../../tools/redis-cluster.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { startOwnCluster } from '../helpers/redis-cluster.ts';
import { until } from '../helpers/until.ts';

// Clusters of their own, but where the run has no Redis there is none to be had; the runner says so.
const isRedisInstalled = listQueueBackends().some(({ redisUrl }) => redisUrl !== null);

/** Every queue is at work again within this, in milliseconds. */
const AT_WORK_MS = 30_000;

/** Enough for each of three masters to hold some. */
const NAMES = ['evaluate', 'deliver', 'maintain', 'look-up', 'check-hanoi', 'check-lima', 'check-oslo', 'check-service'];

const PREFIX = 'spotcheck';
const keyOf = (name: string) => `{${PREFIX}:${name}}`;

/** Queues and workers on a Cluster, as one process has them. */
function openAll(t: ExecutionContext, cluster: RedisCluster) {
  const done = new Map<string, Set<string>>(NAMES.map((name) => [name, new Set()]));
  const reopened: string[] = [];
  const backend = openQueueBackend({ databaseUrl: '', redisUrl: cluster.urls.join(','), prefix: PREFIX, onError: () => undefined, onWorkerReopened: (queue) => reopened.push(queue) });
  const queues = NAMES.map((name) => backend.createQueue<{ mark: string }>(name));
  const workers = NAMES.map((name) => backend.createWorker<{ mark: string }>(name, async ({ data }) => done.get(name)?.add(data.mark), { concurrency: 5, lockDurationMs: 15_000, onFailed: () => undefined }));
  t.teardown(async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    await Promise.all(queues.map((queue) => queue.close()));
    await backend.close();
  });
  /** Has every queue given jobs, until one of these was taken and done; the names of those where none was. */
  const findIdle = async (withinMs: number): Promise<string[]> => {
    const mark = randomUUID();
    const deadline = performance.now() + withinMs;
    const work = queues.map(async (queue) => {
      const isDone = async () => {
        await queue.add('job', { mark }, { removeOnComplete: true }).catch(() => undefined);
        return done.get(queue.name)?.has(mark) ?? false;
      };
      const wasDone = await until(isDone, { timeoutMs: deadline - performance.now(), intervalMs: 250 }).catch(() => false);
      return wasDone ? [] : [queue.name];
    });
    return (await Promise.all(work)).flat();
  };
  return { backend, findIdle, reopened };
}

if (isRedisInstalled) {
  test.serial('a key is looked for in the slot that the Cluster has it in', async (t) => {
    const cluster = await startOwnCluster(t, { replicas: 0 });
    const client = new Redis(cluster.urls[0] ?? '');
    t.teardown(() => client.disconnect());
    for (const key of [...NAMES.map(keyOf), 'plain', '{}empty', 'a{b}c{d}', '{tag', 'ünïcode {ß}']) t.is(slotOf(key), await client.cluster('KEYSLOT', key), key);
  });

  const FAULTS: Readonly<Record<string, (cluster: RedisCluster, place: number, t: ExecutionContext) => Promise<unknown>>> = {
    'a node is killed and stays away': (cluster, place) => cluster.kill(place),
    'a node hangs': async (cluster, place, t) => {
      cluster.signal(place, 'SIGSTOP');
      t.teardown(() => cluster.signal(place, 'SIGCONT'));
    },
    'a replica is promoted': (cluster, place) => cluster.promoteReplicaOf(place),
    'a slot moves to another node': (cluster) => cluster.migrateSlotOf(keyOf('evaluate')),
    'all nodes are emptied': (cluster) => cluster.flush(),
  };
  for (const [what, befall] of Object.entries(FAULTS)) {
    test.serial(`every queue of a Cluster is at work again within 30 s after ${what}`, async (t) => {
      const cluster = await startOwnCluster(t);
      const { backend, findIdle } = openAll(t, cluster);
      t.deepEqual(await findIdle(AT_WORK_MS), []);
      await befall(cluster, await cluster.findMasterOf(keyOf('evaluate')), t);
      t.deepEqual(await findIdle(AT_WORK_MS), []);
      t.deepEqual(await backend.findAway(), []);
    });
  }

  test.serial('a node without a replica takes its queues away, which are named, and is taken up again once it is back', async (t) => {
    const cluster = await startOwnCluster(t, { replicas: 0 });
    const { backend, findIdle } = openAll(t, cluster);
    t.deepEqual(await findIdle(AT_WORK_MS), []);
    const place = await cluster.findMasterOf(keyOf('evaluate'));
    const held: string[] = [];
    for (const name of NAMES) if ((await cluster.findMasterOf(keyOf(name))) === place) held.push(name);
    t.true(held.length < NAMES.length);
    await cluster.kill(place);
    t.deepEqual((await backend.findAway()).toSorted(), held.toSorted());
    // Then the others close as well: a Cluster that has lost slots takes nothing.
    await until(async () => (await backend.findAway()).length === NAMES.length);
    await cluster.start(place);
    t.deepEqual(await findIdle(AT_WORK_MS), []);
    t.deepEqual(await backend.findAway(), []);
  });
}
