import test, { type ExecutionContext } from 'ava';
import type { ProcessName } from '../../config/processes.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startFleet, type Fleet } from '../helpers/fleet.ts';
import { isWholeHistory, pendingDeliveries } from '../helpers/history.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { nextEvent, watchTarget } from '../helpers/story.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhook-receiver.ts';
import { withClient } from '../helpers/with-client.ts';

const MONITORS = 20;

/** Number of monitors that makes a bulk change a job and keeps it running for a while. */
const CHANGED = 250;

/**
 * Longest delay of an alert by a kill, in milliseconds. It covers a lock or a claim, the poll for expired ones and the
 * repeat, and the same again for a busy machine.
 */
const DELAY_MS = 60_000;

/** Processes that are killed while a probe's result passes through the fleet, by round. */
const ROUNDS: readonly (readonly ProcessName[])[] = [
  ['evaluate'],
  ['check', 'maintain'],
  ['evaluate', 'deliver'],
  ['check', 'evaluate', 'clock'],
  ['deliver', 'web'],
];

for (const backend of listQueueBackends()) {
  // Bulk changes are in a separate table, regardless of the queues, so one backend is enough.
  const hasBulk = backend.name === 'postgres';
  const changes = hasBulk ? ' and no bulk change' : '';
  test(`kill -9 with queues in ${backend.name} loses no transition, no delivery${changes}`, async (t) => {
    const { databaseUrl, drop } = await createTestDatabase();
    t.teardown(drop);
    const receiver = await startReceiver(t);
    const target = await startTarget(t);
    const env = { DATABASE_URL: databaseUrl, NODE_EXTRA_CA_CERTS: receiver.caFile, PLAN_COUNT_LIMITS: 'false' };
    const fleet = await startFleet(t, backend.redisUrl === null ? env : { ...env, REDIS_URL: `${backend.redisUrl}/3` });
    const up = nextEvent(receiver, 'monitor.up');
    await watchTarget(fleet.call, { receiver, target: target.url() });
    await up;
    for (let made = 1; made < MONITORS; made += 1)
      await fleet.call('POST', '/monitors', {
        name: `Shop ${made}`,
        target: target.url(`/${made}`),
        interval_seconds: 1,
        timeout_ms: 999,
      });

    receiver.answer.isHeld = true;
    target.health.status = 503;
    const held = await nextEvent(receiver, 'monitor.down');
    await fleet.kill('deliver');
    receiver.answer.isHeld = false;
    const repeated = until(
      () =>
        receiver.received.some(
          (message) => message !== held && message.json['delivery_id'] === held.json['delivery_id'],
        ),
      { timeoutMs: DELAY_MS },
    );
    await fleet.start('deliver');

    for (const [round, victims] of ROUNDS.entries()) {
      // Another kill of its process would delay the repeat twice as long.
      if (victims.includes('deliver')) await repeated;
      const isUp = round % 2 === 0;
      const notified = nextEvent(receiver, isUp ? 'monitor.up' : 'monitor.down', DELAY_MS);
      target.health.status = isUp ? 200 : 503;
      await target.nextHit('/', DELAY_MS);
      await Promise.all(victims.map(fleet.kill));
      await Promise.all(victims.map(fleet.start));
      await notified;
      // Waiting for all monitors ensures that each round adds a transition of each, however long a killed worker
      // delayed its results.
      await until(async () => (await fleet.call('GET', '/overview')).json['up'] === (isUp ? MONITORS : 0), {
        timeoutMs: DELAY_MS,
        intervalMs: 200,
      });
    }
    await until(async () => (await pendingDeliveries(databaseUrl)) === 0, { timeoutMs: DELAY_MS, intervalMs: 200 });
    t.true((await isWholeHistory(t, databaseUrl, receiver)) >= MONITORS * ROUNDS.length);
    if (hasBulk) await changeThroughKill(t, fleet, databaseUrl);
  });
}

/** Kills web during a bulk change, and asserts that the change continues and applies once per monitor. */
async function changeThroughKill(t: ExecutionContext, fleet: Fleet, databaseUrl: string): Promise<void> {
  const total = MONITORS + CHANGED;
  for (let made = 0; made < CHANGED; made += 1)
    await fleet.call('POST', '/monitors', { name: `Shop ${made}`, type: 'heartbeat' });
  const body = { select: { all: true }, action: 'patch', patch: { interval_seconds: 600 } };
  const { status, json } = await fleet.call('POST', '/monitors/bulk', body);
  t.is(status, 202, JSON.stringify(json));
  await fleet.kill('web');
  await fleet.start('web');
  const job = async () => (await fleet.call('GET', `/monitors/bulk/${json['id']}`)).json;
  t.true(await until(async () => (await job())['status'] === 'done', { timeoutMs: DELAY_MS, intervalMs: 200 }));
  t.like(await job(), { total, succeeded: total, failed: 0 });
  const { rows } = await withClient(databaseUrl, (client) =>
    client.query(
      `SELECT count(*)::int AS entries, count(DISTINCT object_id)::int AS monitors FROM audit_log
       WHERE action = 'monitor.changed'`,
    ),
  );
  t.deepEqual(rows, [{ entries: total, monitors: total }]);
}
