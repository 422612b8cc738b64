import test, { type ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import { slotOf } from '../../queues/cluster-node.ts';
import type { RedisCluster } from '../../tools/redis-cluster.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { keyOf, NAMES, openQueuesAtWork } from '../helpers/queues-at-work.ts';
import { NODE_TIMEOUT_MS, startOwnCluster } from '../helpers/redis-cluster.ts';
import { until } from '../helpers/until.ts';

// The tests start their own Clusters if Redis is installed; otherwise the runner reports its absence.
const isRedisInstalled = listQueueBackends().some(({ redisUrl }) => redisUrl !== null);

if (isRedisInstalled) {
  test.serial("a key's slot is computed as the Cluster does", async (t) => {
    const cluster = await startOwnCluster(t, { replicas: 0 });
    const client = new Redis(cluster.urls[0] ?? '');
    t.teardown(() => client.disconnect());
    for (const key of [...NAMES.map(keyOf), 'plain', '{}empty', 'a{b}c{d}', '{tag', 'ünïcode {ß}'])
      t.is(slotOf(key), await client.cluster('KEYSLOT', key), key);
  });

  const FAULTS: Readonly<
    Record<string, (cluster: RedisCluster, index: number, t: ExecutionContext) => Promise<unknown>>
  > = {
    'a node is killed and stays down': (cluster, index) => cluster.kill(index),
    'a node hangs': async (cluster, index, t) => {
      cluster.signal(index, 'SIGSTOP');
      t.teardown(() => cluster.signal(index, 'SIGCONT'));
    },
    'a replica is promoted': (cluster, index) => cluster.promoteReplicaOf(index),
    'a slot moves to another node': (cluster) => cluster.migrateSlotOf(keyOf('evaluate')),
    'all nodes are emptied': (cluster) => cluster.flush(),
  };
  for (const [what, befall] of Object.entries(FAULTS)) {
    test.serial(`every queue of a Cluster works again after ${what}`, async (t) => {
      const cluster = await startOwnCluster(t);
      const { backend, findIdle } = openQueuesAtWork(t, cluster.urls.join(','));
      t.deepEqual(await findIdle(), []);
      await befall(cluster, await cluster.findMasterOf(keyOf('evaluate')), t);
      t.deepEqual(await findIdle(), []);
      await until(async () => (await backend.findAway()).length === 0);
    });
  }

  test.serial(
    'the queues of a killed node without a replica are reported as away, and work once it is back',
    async (t) => {
      // Until the test has seen it, the others do not notice the kill.
      const cluster = await startOwnCluster(t, { replicas: 0, nodeTimeoutMs: 60_000 });
      const { backend, findIdle } = openQueuesAtWork(t, cluster.urls.join(','));
      t.deepEqual(await findIdle(), []);
      const index = await cluster.findMasterOf(keyOf('evaluate'));
      const held: string[] = [];
      for (const name of NAMES) if ((await cluster.findMasterOf(keyOf(name))) === index) held.push(name);
      t.true(held.length < NAMES.length);
      await cluster.kill(index);
      await until(async () => String((await backend.findAway()).toSorted()) === String(held.toSorted()));
      await cluster.setNodeTimeout(NODE_TIMEOUT_MS);
      // Then the other queues fail, too: a Cluster that has lost slots accepts nothing.
      await until(async () => (await backend.findAway()).length === NAMES.length);
      await cluster.start(index);
      t.deepEqual(await findIdle(), []);
      await until(async () => (await backend.findAway()).length === 0);
    },
  );

  test.serial(
    'if only one Cluster node is configured, the queues of other nodes are away and an error says why',
    async (t) => {
      const cluster = await startOwnCluster(t, { replicas: 0 });
      const { backend, errors } = openQueuesAtWork(t, cluster.urls[0] ?? '');
      await until(() =>
        errors.includes('REDIS_URL names one node of a Redis Cluster: name several of them, with commas between'),
      );
      const isPartlyAway = async () => {
        const away = await backend.findAway();
        return away.length > 0 && away.length < NAMES.length;
      };
      t.true(await until(isPartlyAway));
    },
  );
}
