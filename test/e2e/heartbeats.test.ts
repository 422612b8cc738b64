import { randomBytes } from 'node:crypto';
import { setInterval as ticks } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { pingTokenOf, type ApiClient } from '../helpers/api-client.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startFleet } from '../helpers/fleet.ts';
import { startOwnRedis } from '../helpers/redis.ts';
import { startService } from '../helpers/running-service.ts';
import { eventsAt, nextEvent } from '../helpers/story.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhook-receiver.ts';
import { withClient } from '../helpers/with-client.ts';

/**
 * Time limits for a decision on a busy machine, in milliseconds. The service promises 2 s for a miss and 1 s for a
 * ping.
 */
const MISS_NOTIFIED_MS = 30_000;
const PING_NOTIFIED_MS = 30_000;

/** Time after which a miss would have been reported, in milliseconds. */
const LONG_OVERDUE_MS = 5000;

type Heartbeat = {
  id: string;
  ping: (base: string, part?: string, body?: string) => Promise<number>;
  status: () => Promise<unknown>;
};

async function ownDatabase(t: ExecutionContext): Promise<string> {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  return databaseUrl;
}

function serviceEnv(databaseUrl: string, token: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
    BOOTSTRAP_TOKEN: token,
    ALLOW_PRIVATE_NETWORK: 'true',
    PLAN_COUNT_LIMITS: 'false',
  };
}

async function createHeartbeat(call: ApiClient, settings: object): Promise<Heartbeat> {
  const created = await call('POST', '/monitors', { name: 'Backup', type: 'heartbeat', ...settings });
  if (created.status !== 201) throw new Error(JSON.stringify(created.json));
  const id = created.json['id'];
  const token = pingTokenOf(await call('GET', `/monitors/${id}`));
  return {
    id,
    async ping(base, part = '', body) {
      return (await fetch(`${base}/ping/${token}${part}`, body === undefined ? {} : { method: 'POST', body })).status;
    },
    status: async () => (await call('GET', `/monitors/${id}`)).json['status'],
  };
}

/** Returns the transitions of a database, oldest first: the new state, the cause, and the delay of the decision. */
async function transitionsOf(
  databaseUrl: string,
): Promise<{ to_state: string; cause: string | null; late_ms: number }[]> {
  return await withClient(
    databaseUrl,
    async (client) =>
      (
        await client.query(
          'SELECT to_state, cause, (detected_at - at)::int AS late_ms FROM transitions ORDER BY detected_at, sequence',
        )
      ).rows,
  );
}

/** Returns how long no process has recorded ping availability, in milliseconds. */
async function pingsUnavailableMs(databaseUrl: string): Promise<number> {
  return await withClient(
    databaseUrl,
    async (client) =>
      Date.now() - Number((await client.query(`SELECT at FROM service_marks WHERE name = 'pings'`)).rows[0].at),
  );
}

/** Returns how long the only heartbeat has been overdue, in milliseconds; negative before its deadline. */
async function overdueMs(databaseUrl: string): Promise<number> {
  return await withClient(
    databaseUrl,
    async (client) =>
      Date.now() - Number((await client.query('SELECT deadline_at FROM heartbeats')).rows[0].deadline_at),
  );
}

test.serial('a missed, failed or overrunning job and each recovery are reported to the webhook in time', async (t) => {
  const databaseUrl = await ownDatabase(t);
  const receiver = await startReceiver(t);
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const { program, url, call } = await startService(
    t,
    { ...serviceEnv(databaseUrl, token), NODE_EXTRA_CA_CERTS: receiver.caFile },
    token,
  );
  t.is((await call('POST', '/channels', { type: 'webhook', url: receiver.url })).status, 201);
  // A busy machine may take long for any step, so the next ping is due in an hour, except for the miss.
  const heartbeat = await createHeartbeat(call, {
    interval_seconds: 3600,
    grace_seconds: 1,
    check_spec: { heartbeat: { maxDurationSeconds: 1 } },
  });
  const awaitEvent = async (event: string, act: () => Promise<number>) => {
    const next = nextEvent(receiver, event);
    t.is(await act(), 200);
    return (await next).json;
  };

  t.like(await awaitEvent('monitor.up', () => heartbeat.ping(url)), {
    state: 'up',
    monitor: { id: heartbeat.id, type: 'heartbeat', target: '' },
  });
  const expectEvery = async (seconds: number) =>
    (await call('PATCH', `/monitors/${heartbeat.id}`, { interval_seconds: seconds })).status;
  t.like(await awaitEvent('monitor.down', () => expectEvery(2)), {
    reason: 'No ping came in time: expected every 2 s, grace period 1 s',
    detail: { cause: 'heartbeat_missed', previous_state: 'up' },
  });
  t.is(await expectEvery(3600), 200);
  t.like(await awaitEvent('monitor.up', () => heartbeat.ping(url, '/0')), { detail: { previous_state: 'down' } });
  t.like(await awaitEvent('monitor.down', () => heartbeat.ping(url, '/fail', 'disk full')), {
    reason: 'The job reported a failure: "disk full"',
    detail: { cause: 'heartbeat_failed' },
  });
  await awaitEvent('monitor.up', () => heartbeat.ping(url));
  t.like(await awaitEvent('monitor.down', () => heartbeat.ping(url, '/start')), {
    reason: 'The job did not finish within 1 s',
    detail: { cause: 'heartbeat_overrun' },
  });
  t.is(
    typeof ((await awaitEvent('monitor.up', () => heartbeat.ping(url)))['detail'] as { latency_ms?: number })
      .latency_ms,
    'number',
  );
  t.is((await call('POST', `/monitors/${heartbeat.id}/pause`)).status, 200);

  const transitions = await transitionsOf(databaseUrl);
  t.deepEqual(
    transitions.map(({ to_state, cause }) => cause ?? to_state),
    ['up', 'heartbeat_missed', 'up', 'heartbeat_failed', 'up', 'heartbeat_overrun', 'up', 'paused'],
  );
  for (const { to_state: to, late_ms: lateMs } of transitions)
    t.true(lateMs < (to === 'down' ? MISS_NOTIFIED_MS : PING_NOTIFIED_MS), `${to} after ${lateMs} ms`);
  t.is(await program.stop(), 0, program.output());
});

test.serial(
  'while Redis is down pings and misses are processed, and their alerts follow once it is back',
  async (t) => {
    const redis = await startOwnRedis(t);
    if (redis === null) return t.pass();
    const receiver = await startReceiver(t);
    const token = `spk_${randomBytes(24).toString('base64url')}`;
    const { url, call } = await startService(
      t,
      { ...serviceEnv(await ownDatabase(t), token), REDIS_URL: redis.url, NODE_EXTRA_CA_CERTS: receiver.caFile },
      token,
    );
    t.is((await call('POST', '/channels', { type: 'webhook', url: receiver.url })).status, 201);
    await redis.stop();
    const heartbeat = await createHeartbeat(call, { interval_seconds: 3600, grace_seconds: 1 });
    t.is(await heartbeat.ping(url), 200);
    await until(async () => (await heartbeat.status()) === 'up', { timeoutMs: PING_NOTIFIED_MS });
    t.is((await call('PATCH', `/monitors/${heartbeat.id}`, { interval_seconds: 2 })).status, 200);
    await until(async () => (await heartbeat.status()) === 'down', { timeoutMs: MISS_NOTIFIED_MS });
    const events = [nextEvent(receiver, 'monitor.up'), nextEvent(receiver, 'monitor.down')];
    await redis.start();
    t.deepEqual(
      (await Promise.all(events)).map(({ json }) => json['state']),
      ['up', 'down'],
    );
  },
);

test.serial(
  'after a kill and a restart jobs that kept pinging stay up, and a job that stopped is reported',
  async (t) => {
    const databaseUrl = await ownDatabase(t);
    const token = `spk_${randomBytes(24).toString('base64url')}`;
    const env = serviceEnv(databaseUrl, token);
    const before = await startService(t, env, token);
    const create = () => createHeartbeat(before.call, { interval_seconds: 60, grace_seconds: 60 });
    // One after the other: a busy machine may not open many connections to the database in time.
    const jobs: Heartbeat[] = [];
    for (let made = 0; made < 20; made += 1) jobs.push(await create());
    const stopped = await create();
    const running = { url: before.url, isOver: false };
    const jobsRun = (async () => {
      for await (const _tick of ticks(500)) {
        if (running.isOver) return;
        // While the service is down, the connections of these jobs are refused.
        await Promise.all(jobs.map((job) => job.ping(running.url).catch(() => 0)));
      }
    })();
    t.is(await stopped.ping(before.url), 200);
    await until(async () => (await before.call('GET', '/overview')).json['up'] === 21);

    await before.program.stop('SIGKILL');
    await until(async () => (await pingsUnavailableMs(databaseUrl)) > 5000);
    // Moves the service's last activity back by five minutes, and the times of the next pings by two, so that all are
    // overdue without a wait. The job that stopped was one of every five seconds.
    await withClient(databaseUrl, async (client) => {
      await client.query('UPDATE service_marks SET at = at - 300000, resumed_at = resumed_at - 300000');
      await client.query('UPDATE heartbeats SET due_at = due_at - 120000');
      await client.query(
        `UPDATE heartbeats SET interval_seconds = 5, grace_seconds = 5
         WHERE monitor_no = (SELECT no FROM monitors WHERE id = $1)`,
        [stopped.id],
      );
    });
    const after = await startService(t, env, token);
    running.url = after.url;
    const overview = async () => (await after.call('GET', '/overview')).json;
    await until(async () => (await overview())['down'] === 1);
    running.isOver = true;
    await jobsRun;
    t.deepEqual(
      (await transitionsOf(databaseUrl)).map(({ to_state }) => to_state),
      [...jobs.map(() => 'up'), 'up', 'down'],
    );
    const { gaps } = (await after.call('GET', '/service/gaps')).json;
    t.deepEqual(
      gaps.map(({ kind, duration_seconds: seconds }) => [kind, seconds > 300 && seconds < 400]),
      [['clock', true]],
    );
  },
);

test.serial('a miss is not reported while web is down, and only once after two maintain processes start', async (t) => {
  const receiver = await startReceiver(t);
  const databaseUrl = await ownDatabase(t);
  const fleet = await startFleet(t, { DATABASE_URL: databaseUrl, NODE_EXTRA_CA_CERTS: receiver.caFile });
  t.is((await fleet.call('POST', '/channels', { type: 'webhook', url: receiver.url })).status, 201);
  const heartbeat = await createHeartbeat(fleet.call, { interval_seconds: 3600, grace_seconds: 10 });
  const up = nextEvent(receiver, 'monitor.up');
  t.is(await heartbeat.ping(fleet.url), 200);
  await up;

  await fleet.kill('web');
  // From now on a ping is due every three seconds, and the next one at once.
  await withClient(databaseUrl, (client) =>
    client.query('UPDATE heartbeats SET interval_seconds = 3, due_at = $1', [Date.now()]),
  );
  await until(async () => (await overdueMs(databaseUrl)) > LONG_OVERDUE_MS);
  t.deepEqual(
    (await transitionsOf(databaseUrl)).map(({ to_state }) => to_state),
    ['up'],
  );
  await fleet.kill('maintain');
  await fleet.start('web');
  t.is(await heartbeat.ping(fleet.url), 200);
  await until(async () => (await overdueMs(databaseUrl)) > 500);
  t.is(await heartbeat.status(), 'up');
  const down = nextEvent(receiver, 'monitor.down');
  await Promise.all([fleet.start('maintain'), fleet.start('maintain')]);
  t.like((await down).json, { detail: { cause: 'heartbeat_missed' } });
  t.is(eventsAt(receiver).length, 2);
});
