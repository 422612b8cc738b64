import test from 'ava';
import { startWatchedRedis, type WatchedRedis } from '../../tools/redis-sentinel.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { openQueuesAtWork } from '../helpers/queues-at-work.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { until } from '../helpers/until.ts';

// The tests start their own servers if Redis is installed; otherwise the runner reports its absence.
const isRedisInstalled = listQueueBackends().some(({ redisUrl }) => redisUrl !== null);

const FAULTS: Readonly<Record<string, (redis: WatchedRedis) => Promise<void>>> = {
  'the master is killed': (redis) => redis.killMaster(),
  'a manual failover to the replica': (redis) => redis.failOver(),
};

if (isRedisInstalled) {
  for (const [what, befall] of Object.entries(FAULTS)) {
    test.serial(`every queue on a Redis with sentinels works again after ${what}`, async (t) => {
      const redis = await startWatchedRedis(await temporaryFolder(t), {
        password: 'of: the/servers',
        sentinelPassword: 'of the@sentinels',
      });
      if (redis === null) throw new Error('no Redis');
      t.teardown(redis.stop);
      const { backend, findIdle } = openQueuesAtWork(t, redis.url);
      t.deepEqual(await findIdle(), []);
      const before = await redis.findMaster();
      await befall(redis);
      await until(async () => (await redis.findMaster()) !== before);
      t.deepEqual(await findIdle(), []);
      await until(async () => (await backend.findAway()).length === 0);
    });
  }
}
