import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { createTestDatabase } from '../helpers/database.ts';
import { startFleet } from '../helpers/fleet.ts';
import { startOwnRedis, type OwnRedis } from '../helpers/redis.ts';
import { startService, type Service } from '../helpers/running-service.ts';
import { nextEvent, watchTarget } from '../helpers/story.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhook-receiver.ts';

/** Time limit for a request while the queue is unavailable, in milliseconds. */
const WORST_MS = 30_000;

/** Time limit for restoring the schedules, in milliseconds. */
const MENDED_MS = 60_000;

async function ownDatabase(t: ExecutionContext): Promise<string> {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  return databaseUrl;
}

/** Runs `npm start` on a separate Redis. */
async function startOnRedis(t: ExecutionContext, redis: OwnRedis): Promise<Service> {
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const env = {
    DATABASE_URL: await ownDatabase(t),
    REDIS_URL: redis.url,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_TOKEN: token,
    ALLOW_PRIVATE_NETWORK: 'true',
  };
  return await startService(t, env, token);
}

/** Wraps a test that needs a separate Redis; if none is installed it passes, and the runner reports that. */
function withRedis(
  run: (t: ExecutionContext, redis: OwnRedis) => Promise<void>,
): (t: ExecutionContext) => Promise<void> {
  return async (t) => {
    const redis = await startOwnRedis(t);
    if (redis === null) t.pass();
    else await run(t, redis);
  };
}

async function readiness(url: string): Promise<[number, number]> {
  return [(await fetch(`${url}/readyz`)).status, (await fetch(`${url}/healthz`)).status];
}

test.serial(
  'while Redis is down the API reads and writes, and new monitors are checked once an empty Redis is back',
  withRedis(async (t, redis) => {
    const target = await startTarget(t);
    const { program, url, call } = await startOnRedis(t, redis);
    await call('POST', '/monitors', {
      name: 'Before',
      target: target.url('/before'),
      interval_seconds: 1,
      timeout_ms: 999,
    });
    await target.nextHit('/before');

    await redis.stop();
    await until(async () => (await fetch(`${url}/readyz`)).status === 503);
    const created = await call('POST', '/monitors', {
      name: 'Meanwhile',
      target: target.url('/meanwhile'),
      interval_seconds: 1,
      timeout_ms: 999,
    });
    const path = `/monitors/${created.json['id']}`;
    const answers = [
      created,
      await call('GET', path),
      await call('PATCH', path, { name: 'Meanwhile, renamed', down_after_failures: 1 }),
      await call('POST', `${path}/pause`),
      await call('POST', `${path}/resume`),
      await call('GET', '/overview'),
    ];
    t.deepEqual(
      answers.map(({ status }) => status),
      [201, 200, 200, 200, 200, 200],
    );
    t.true(
      answers.every(({ ms }) => ms < WORST_MS),
      answers.map(({ ms }) => Math.round(ms)).join(', '),
    );
    t.deepEqual(await readiness(url), [503, 200]);

    await redis.start();
    await Promise.all(['/before', '/meanwhile'].map((each) => target.nextHit(each, MENDED_MS)));
    await until(async () => (await call('GET', path)).json['status'] === 'up');
    await until(async () => String(await readiness(url)) === '200,200');
    t.is(await program.stop(), 0, program.output());
  }),
);

test.serial(
  'a frozen Redis delays no request for long, checks resume after it, and a stop without Redis is clean',
  withRedis(async (t, redis) => {
    const target = await startTarget(t);
    const { program, url, call } = await startOnRedis(t, redis);
    await call('POST', '/monitors', {
      name: 'Before',
      target: target.url('/before'),
      interval_seconds: 1,
      timeout_ms: 999,
    });
    await target.nextHit('/before');

    redis.freeze();
    const answers = await Promise.all([
      call('GET', '/monitors'),
      call('POST', '/monitors', {
        name: 'Meanwhile',
        target: target.url('/meanwhile'),
        interval_seconds: 1,
        timeout_ms: 999,
      }),
    ]);
    t.deepEqual(
      answers.map(({ status }) => status),
      [200, 201],
    );
    t.true(
      answers.every(({ ms }) => ms < WORST_MS),
      answers.map(({ ms }) => Math.round(ms)).join(', '),
    );
    t.deepEqual(await readiness(url), [503, 200]);

    redis.thaw();
    await Promise.all(['/before', '/meanwhile'].map((each) => target.nextHit(each, MENDED_MS)));

    await redis.stop();
    const startedAt = performance.now();
    t.is(await program.stop(), 0, program.output());
    t.true(performance.now() - startedAt < 60_000);
  }),
);

test.serial(
  'a fleet whose Redis is flushed goes on checking, and the alert whose job was lost arrives',
  withRedis(async (t, redis) => {
    const target = await startTarget(t);
    const receiver = await startReceiver(t);
    const fleet = await startFleet(t, {
      DATABASE_URL: await ownDatabase(t),
      REDIS_URL: redis.url,
      NODE_EXTRA_CA_CERTS: receiver.caFile,
    });
    const up = nextEvent(receiver, 'monitor.up');
    const id = await watchTarget(fleet.call, { receiver, target: target.url() });
    await up;

    await fleet.kill('deliver');
    target.health.status = 503;
    await until(async () => (await fleet.call('GET', `/monitors/${id}`)).json['status'] === 'down');
    const [lost, next] = [nextEvent(receiver, 'monitor.down', MENDED_MS), nextEvent(receiver, 'monitor.up', MENDED_MS)];
    await redis.flush();
    await fleet.start('deliver');
    target.health.status = 200;
    t.like((await lost).json, { state: 'down', monitor: { id } });
    t.like((await next).json, { state: 'up', detail: { previous_state: 'down' } });
  }),
);
