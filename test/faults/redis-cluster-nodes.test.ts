import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { listOf } from '../helpers/api-client.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { NODE_TIMEOUT_MS, startOwnCluster } from '../helpers/redis-cluster.ts';
import { startService, type Service } from '../helpers/running-service.ts';
import { nextEvent, watchTarget } from '../helpers/story.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhook-receiver.ts';

// The tests start their own Clusters if Redis is installed; otherwise the runner reports its absence.
const isRedisInstalled = listQueueBackends().some(({ redisUrl }) => redisUrl !== null);

const REGIONS = ['hanoi', 'lima', 'oslo'];

/** Time limit until all regions are at work again, in milliseconds. */
const AT_WORK_MS = 120_000;

/** Runs `npm start` with three regions on the test's Cluster. */
async function startOnCluster(
  t: ExecutionContext,
  urls: readonly string[],
  own: Record<string, string> = {},
): Promise<Service> {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const env = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: urls.join(','),
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_TOKEN: token,
    ALLOW_PRIVATE_NETWORK: 'true',
    AGENT_REGIONS: REGIONS.join(','),
    ...own,
  };
  return await startService(t, env, token);
}

const readiness = async (url: string) => {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, body: (await response.json()) as { database?: boolean; queues_away?: string[] } };
};

if (isRedisInstalled) {
  test.serial(
    'after an outage of a node without a replica every region checks again, even without readiness requests',
    async (t) => {
      const cluster = await startOwnCluster(t, { replicas: 0 });
      const target = await startTarget(t);
      const { program, url, call } = await startOnCluster(t, cluster.urls);
      const agents = listOf(await call('GET', '/agents'));
      for (const region of REGIONS) {
        const agentId = agents.find((agent) => agent['region'] === region)?.['id'];
        t.is(
          (
            await call('POST', '/monitors', {
              name: region,
              target: target.url(`/${region}`),
              interval_seconds: 5,
              agent_sources: [agentId],
              down_min_sources: 1,
            })
          ).status,
          201,
        );
      }
      const nextOfAll = () => Promise.all(REGIONS.map((region) => target.nextHit(`/${region}`, AT_WORK_MS)));
      await nextOfAll();

      const index = await cluster.findMasterOf('{spotcheck:evaluate}');
      await cluster.kill(index);
      // The other nodes have declared it failed, and thereby the Cluster, so the workers' requests fail.
      await until(async () => (await cluster.listMasters()).length < 3);
      await until(() => program.output().includes('chore.not_queued'));
      await cluster.start(index);
      await nextOfAll();
      target.health.status = 503;
      await until(async () => (await call('GET', '/overview')).json['down'] === REGIONS.length, {
        timeoutMs: AT_WORK_MS,
      });
      await until(async () => (await readiness(url)).status === 200);
      t.is(await program.stop(), 0, program.output());
    },
  );

  test.serial(
    "a killed node is reported at /readyz and in metrics, its replica takes over, and its queue's alert arrives",
    async (t) => {
      // Until the test has seen it, no replica takes over.
      const cluster = await startOwnCluster(t, { nodeTimeoutMs: 60_000 });
      const target = await startTarget(t);
      const receiver = await startReceiver(t);
      const { program, url, call } = await startOnCluster(t, cluster.urls, { NODE_EXTRA_CA_CERTS: receiver.caFile });
      const up = nextEvent(receiver, 'monitor.up');
      const id = await watchTarget(call, { receiver, target: target.url() });
      await up;
      const down = nextEvent(receiver, 'monitor.down', AT_WORK_MS);

      await cluster.kill(await cluster.findMasterOf('{spotcheck:deliver}'));
      target.health.status = 503;
      const { status, body } = await until(async () => {
        const answer = await readiness(url);
        return answer.body.database === true && answer.body.queues_away?.includes('deliver') && answer;
      });
      const metrics = await (await fetch(`${url}/metrics`)).text();
      await cluster.setNodeTimeout(NODE_TIMEOUT_MS);
      t.is(status, 503);
      t.like(body, { status: 'not ready', database: true, queue: false });
      t.regex(metrics, /^spotcheck_queue_available\{queue="deliver"\} 0$/m);
      t.like((await down).json, { state: 'down', monitor: { id } });
      await until(async () => (await readiness(url)).status === 200);
      t.regex(await (await fetch(`${url}/metrics`)).text(), /^spotcheck_queue_available\{queue="deliver"\} 1$/m);
      t.is(await program.stop(), 0, program.output());
    },
  );
}
